// Package live streams to the owner of an account, and to applications that may read it, what has just changed: kinds and ids
// of the events in the outbox, and the state in which the thing is now. Whoever shows something reads it again then, instead of
// asking every second.
//
// An event is sent once it is committed, by whichever replica, within a second. It may be sent twice, with the same id; none is
// left out as long as a client comes again with Last-Event-ID. A client that was away for long is told so (reset), and reads
// everything anew.
//
// A reseller's client is told of what belongs to the management of their service, and of nothing else of the account.
package live
