// Package scans looks at web sites for weaknesses that somebody outside could use, and keeps what it finds
// (specification, section "Security & SLA"; resources, section 10).
//
// A scan is a row that is written before the first connection and completed after the last one. fetch.go and dns.go
// gather facts over the network, inspect.go by the panel where the site is hosted here; judge*.go are pure functions from
// facts to findings; score.go makes points and a grade of these.
//
// What holds:
//
//   - A site is scanned only for an account that proves that it controls the name: a domain of one of its services that
//     resolves to that service's addresses now, or a TXT record with the account's token.
//   - No connection goes to an address that is not public, on no port but those of the web, and to no other name than the
//     one that was proved and its twin with or without "www.".
//   - An account has one scan at a time: a partial unique index says so. A running scan has a lease; one whose process was
//     killed ends as failed with scan_interrupted.
//   - Exposed files are judged by their content, never by the status of the answer, and their content is not kept.
//   - The network is never used inside a transaction. What a scan found, its event and what the owner is told are one
//     commit.
//
// Not promised: that a site without findings is safe. Forms, programs and passwords are not tried.
package scans
