// Package insights keeps what is to improve about services: faults that an audit of the site found, and what other sections
// hand over, such as the findings of security scans (specification, section "AI agent"; resources, section 15).
//
// An audit visits some pages of the site as a visitor would (crawl.go), reads what the hosting server knows, and judges it
// by fixed rules (judge.go), which are pure. No model is needed. What it finds becomes insights (insight.go).
//
// What holds:
//
//   - There is one row for each service, check and subject, such as a page or a picture: a fault that is found again is the
//     same insight, seen again.
//   - An insight is resolved by itself when its check was made again and found nothing. A check that could not be made
//     resolves nothing. One that comes back is open again; a dismissed one stays dismissed until it is gone.
//   - A page is asked for once, with GET, without cookies, and on the site's own host alone. Connections go to the service's
//     own server, or to public addresses to which the host leads.
//   - Work is bounded: pages, requests, bytes, seconds, subjects of a check and insights of a service.
//   - A service has one audit at a time, by a lease that a killed process leaves to run out.
//   - What was found, its events and the end of the audit are one commit. The network is never used inside a transaction.
//   - Evidence is shortened, and what comes from logs is masked.
//
// States: open → dismissed by the customer; open or dismissed → resolved when it is gone, expired when the service ends or
// nobody has looked for long; resolved or expired → open when it is back.
package insights
