// Package announcements owns what staff announce to customers: banners in the panel and, where staff choose it, a notification
// to each account that is concerned.
//
// An announcement is a draft until it is published, is shown from its beginning to its end, and can be withdrawn at any time.
// Its audience is all customers, those with a service on a machine or of a plan, or resellers; who belongs to it is asked when
// it is read, so a customer who moves away from a machine does not see what concerns it.
//
// What holds:
//
//   - A change names the version that was read. Once an announcement is published, its audience, its beginning and the ways by
//     which it is told stay what they are; its texts can be corrected.
//   - Notifications are made in batches. How far they have come is in the commit of each batch, and an account has one
//     notification of an announcement (notifications.Service.Tell): a process that dies between any two steps sends nothing twice
//     and forgets nobody.
//   - A dismissed banner stays away on every device of the account.
//   - A reseller's clients see none: the operations need the scope of a profile, which they do not have.
//
// Not promised: that somebody who belongs to the audience only after the notifications were made gets one. They see the banner.
package announcements
