// Package devices owns the phones and browsers that notifications are pushed to (specification, section "Account";
// resources, section 11): rows of the table devices, and the key pair that browsers subscribe with.
//
// What holds:
//
//   - A token is a secret: who has it may bother the device. It is sealed, and no answer and no log has it.
//   - A device that changes hands goes with its token: who registers it last gets its messages, the one before none,
//     not even those that were on their way.
//   - A device goes with the application that has registered it: when that may not act for the account any more, it gets
//     no messages.
//   - A push service that says that a device is gone has it forgotten. One that is not seen for retention is forgotten
//     too.
//   - Devices that hang hold up those of their own account, and of nobody else.
//   - A notification is pushed at least once while it is new and unread. One that arrives twice has the same id, and a
//     device shows it once.
package devices
