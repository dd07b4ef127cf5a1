// Package site is what the sections share that manage a hosting service: its domains, databases,
// mailboxes, cron jobs and so on. Each section owns its tables, operations and jobs; here is how a
// service is found and locked, what says that it takes no changes, how limits of the plan refuse,
// how a panel's failures become error keys, and how a panel is made to follow rows (Follow). A section
// whose rows are things on a panel describes them as a Collection and has the rest from it.
package site
