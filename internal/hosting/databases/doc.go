// Package databases owns the databases of hosting services, in the table databases (specification,
// section "Service management"; resources, section 17).
//
// A row is what should be: see package site for how a panel follows. What holds:
//
//   - A database has one user, who has its name, and a password that the section has made and kept
//     elsewhere (Secrets). It has no representation in the interface.
//   - The name is unique within the service, over all engines, and is that on the panel: the user name
//     of the service's account, an underscore, and what the customer chose.
//   - The plan's number of databases holds for many requests at once.
//   - A database may become as large as the plan's disk.
//   - What a database occupies and who its users are the panel tells when it is asked for the list; a
//     panel that does not answer at once leaves them unknown.
//   - Rows and passwords go when the service fails or is terminated.
package databases
