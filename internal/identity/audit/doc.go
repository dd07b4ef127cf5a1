// Package audit owns the audit log: who of the staff did what to whom, and the state before and after.
//
// A use case of staff names its change (Service.Change, Service.Record) and makes it as always. The row is written in the
// transaction of the change, so there is no change without its row and no row of a change that was undone. It says who
// acted by the actor of the context (auth.WithActor), which the edge and the commands put there.
//
// Rows are only added: the section has no other statement, and the database refuses to change or remove them. Subjects and
// states name accounts by their ids, never by address or name, so nothing has to be removed when an account is closed.
//
// A use case of several transactions writes a row with the first, and with each later one that changes the state again.
package audit
