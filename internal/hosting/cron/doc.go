// Package cron owns the cron jobs of hosting services, in the table cron_jobs (specification, section
// "Service management"; resources, section 20).
//
// A row is what should be: see package site for how a panel follows. What holds:
//
//   - A command runs as the service's own user, on its hosting server, with what the user may and no
//     more; what it is, is the customer's affair.
//   - Expressions and time zones are checked here as the panel checks them: see panel.ParseSchedule.
//   - The plan's number of jobs holds for many requests at once; one that is off counts as well.
//   - How runs went the panel tells when it is asked for the list; a panel that does not answer at once
//     leaves it unknown. When a job runs next is computed here while the panel has not said.
//   - Rows go when the service fails or is terminated.
package cron
