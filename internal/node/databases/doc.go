// Package databases keeps the databases of a machine's accounts: in a MariaDB and a PostgreSQL server
// of its own, or nowhere (Simulated), and in its records what they should be.
//
// A database has one user, who has its name. What holds:
//
//   - A user gets to its own database only, from the machine itself only, with a number of sessions.
//     MariaDB: privileges on the one database and none beside. PostgreSQL: the database is the
//     agent's, nobody else may connect to it, and pg_hba.conf lets a user into the database of its
//     name only.
//   - The records keep verifiers of passwords, never passwords, and servers are told verifiers: no
//     password is in a statement that a server could log.
//   - The agent comes to a server as root by its socket, without a password. It dumps and imports as
//     the database's user, so nothing that a customer wrote runs with more rights than the
//     customer's; and it reads SQL itself, so no client's commands ("\!", "source") are run at all.
//   - A suspended account's users have no password that anybody knows, and their sessions are ended.
//   - A database that is larger than it may be takes nothing more until it is smaller.
//   - A database is recorded before it is made, and stays recorded until it is gone, so an
//     interruption at any point is finished by Apply. A database that was not yet noted as made is
//     made anew, empty: what an earlier account of the name left is nobody's to see.
package databases
