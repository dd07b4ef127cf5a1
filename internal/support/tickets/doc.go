// Package tickets owns support tickets: what customers ask staff, by the panel or by mail, and what staff answer.
//
// A ticket is open while staff must answer, waiting while the customer must, answered when staff have answered, and closed. What
// the customer writes opens it again, also when it was closed. A ticket may be about a service of its customer.
//
// What holds:
//   - a customer sees the messages of its own tickets that are no internal notes; the WHERE clause checks both;
//   - an answer by mail needs the address with the ticket's token, and must come from the address of the customer; staff answer in
//     the panel, because a customer could forge their address. Mails of machines (Auto-Submitted, Precedence) are dropped, and a mail that is delivered twice adds one message;
//   - what a customer leaves is bounded: the open tickets, the messages and the text of each, which is read as a whole, the messages
//     and files of a day. A customer whose mail has no room is told so by mail; staff may always write;
//   - files are bounded, and served for downloading only;
//   - staff are mailed that a customer wrote, at most once in ten minutes of a ticket, without the customer's words.
package tickets
