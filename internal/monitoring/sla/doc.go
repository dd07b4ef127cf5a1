// Package sla owns what becomes of the uptime that plans promise (specification, "Security & SLA"; resources, section 10).
//
// A service is judged by calendar months of UTC, by the monitor that it has by itself. month.go is the arithmetic, on whole
// seconds and cents. What counts is the time that was paid, without announced maintenance; down is the union of the
// outages that are the server's. A site that answers with an error is no outage here.
//
// A month closes by itself, a day after its end: it becomes a row, which is
//
//	none      nothing is owed
//	proposed  a credit is owed, and is paid two days after the end of the month, unless staff hold it
//	credited  it is in the wallet
//	rejected  staff have decided against it, or the account was closed
//
// What holds:
//
//   - A service has one row for a month. The row, sla.breached and the next month of the service are one commit.
//   - The credit, its state and sla.compensated are one commit, and the ledger takes a row's id once.
//   - What a customer can bring about pays nothing by itself: a program that does not answer in time looks like a server
//     that does not. When a credit depends on such outages, or more than a twentieth of the month is unknown, it is held
//     until staff approve it.
//   - The promise is that of the plan which the service had when the month began, or when it was provisioned. A change
//     of the plan counts from the next month on.
//   - The credit is never more than the plan's cap, nor than what was paid for the month.
//
// Not promised: compensation in sandboxes, for services that nobody can watch, and for add-ons.
package sla
