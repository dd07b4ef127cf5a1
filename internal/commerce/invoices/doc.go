// Package invoices keeps the company's books towards its customers: invoices of
// what was bought, credit notes of what was given back, receipts of money that
// was paid in, and by what tax (resources, section 6). docs/invoices.md tells it
// to operators.
//
// It owns the tables invoices, invoices_series, invoices_profiles and
// invoices_mentions.
//
// What holds:
//
//   - An order that is paid for more than nothing has one invoice, made in the
//     transaction of the payment; a payment that is refused has none.
//   - Numbers of a seller, kind and year are 1, 2, 3, … without a gap. A document
//     is written without one, in the transaction of the payment; the sequencer,
//     of which one replica's works at a time, numbers what is committed, in the
//     order of the ids, and emits invoice.issued in the same commit. That is
//     about a second after the payment at most, unless the database is down.
//   - A document that has a number is never changed: seller, buyer, lines and tax
//     are as they were on its day. What credit notes took back of an invoice is
//     noted beside it.
//   - What was put into the wallet to make good for something (a mention) stands
//     in one invoice, the next one of the account, in a line that is no part of
//     its sums. The sequencer writes it there, so no payment waits for it.
//   - The credit notes of an invoice never sum to more than it.
//   - A sandbox has series of its own, so play money leaves no gap in the books.
//
// Locks: invoices that are credited are locked before the wallet, the newest
// first.
//
// Not promised: invoices of orders that were paid before this section was there.
package invoices
