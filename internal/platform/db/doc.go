// Package db is one SQL for two engines: SQLite (embedded, one process) and
// PostgreSQL (any number of replicas).
//
// The SQL of the sections is written once, in the subset both engines share,
// with $1 placeholders. Where the engines differ, the difference has a name
// here (Tx.ForUpdate, DB.InTxLocked, the type words of migrations) and never
// an if in a section.
//
// Writes need a transaction by type: DB itself only reads, on connections that
// the engine itself keeps read-only, and DB.InTx hands out a *Tx. A function
// that writes takes *Tx; one that reads takes a Querier, which both satisfy.
//
// Values: time.Time travels as a BIGINT of microseconds since 1970 in UTC, in
// arguments and in Scan destinations (*time.Time, **time.Time), because text
// and engine timestamps compare differently on the two engines. A nil
// *time.Time is NULL. JSON is opaque text.
package db
