// Package notifications owns what people are told of: rows of the table notifications, shown in
// their own language, and mails for what cannot wait (specification, section "Account"; resources,
// section 11).
//
// A notification is made of an event of the outbox, in the transaction that marks the event as told:
// the same event makes it once. What it says is kept as a kind and the words that its text needs;
// the text is that of the reader's language. Notifications are kept for ninety days. What staff announce is a notification, too
// (Tell): its words are the texts themselves, in every language.
//
// Only warnings and worse are mailed, and news where staff say so, to owners whose account is open. Each kind belongs to a topic, and owners choose by topic
// whether they are mailed and pushed; what is essential always is. Other mails end by one click, too (RFC 8058).
//
// Not promised: a mail for each.
package notifications
