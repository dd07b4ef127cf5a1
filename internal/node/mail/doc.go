// Package mail keeps the mailboxes of a hosting machine, by instances of Postfix, Dovecot, rspamd and
// Redis that are its own: nothing of it is in the machine's /etc.
//
//	the world ──► :25 Postfix ──► rspamd (judges) ──LMTP──► Dovecot ──► <store>/<account>/<domain>/<local part>/Maildir
//	customers ──► :587, :465 Postfix ──► rspamd (signs) ──► the world, or LMTP
//	customers ──► :143, :993, :110, :995 Dovecot
//
// # What survives the agent
//
// The agent writes two SQLite databases and goes; all three daemons run without it. Postfix and Dovecot look
// up what they need when they need it (see database). So a change of a mailbox reloads neither and ends no
// connection; a domain's first or last mailbox has Postfix reloaded. rspamd reads a small file for each login
// whose message it sees.
//
// A change of an account replaces that account's rows, and those of the accounts that forward to it: what it
// costs does not depend on how many others there are.
//
// The limit of what a mailbox sends in an hour is kept by a small program of this package (Policy) that
// Postfix itself starts (spawn(8)). When it does not answer, sending is put off (451), not let through.
// When rspamd does not answer, a message is put off (451): it would go out unchecked and unsigned.
//
// # Who may what
//
//   - The store belongs to root and the group mail, which customers' processes are not in: no program of
//     a customer, not even its own, reaches mail but through Dovecot. Below it everything belongs to
//     the account's Linux user, as whom Dovecot delivers and reads; so an account's mail counts to the
//     account, and a flaw in Dovecot leads to no other's.
//   - A mailbox sends as its own addresses only, and an account's programs as addresses of its domains
//     (Submit, a sendmail for them). Postfix checks the envelope, rspamd the From header (rspamd.lua), and
//     DKIM signs for its domain.
//   - Who is named as the sender of mail from elsewhere is never written to (Config.silent): anybody can be
//     named.
//   - Everything else is refused at the door: mail for addresses that nobody has (550), for full
//     mailboxes (552), for others (554); mail for what is suspended is put off (450).
//
// # Accounts that have left
//
// Mail for an account that is held waits, in the queue or with its sender. When another machine has the account, this
// one asks that one about each recipient while the sender waits (verify(8)), accepts what it takes, and gives it to
// it, with what is in the queue. The senders of what the other machine does not take are told to try again, which then leads
// them there.
//
// # Forwarding and loops
//
// Forwards are resolved when the rows are written, through all mailboxes of the machine. A circle
// ends in the mailboxes that keep copies, or else in the one that was written to; one that leads over
// other servers ends by the number of hops.
package mail
