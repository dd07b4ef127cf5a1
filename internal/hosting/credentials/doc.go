// Package credentials keeps the passwords that the server makes for what a hosting service has: database
// users, FTP accounts and, later, servers (specification, "Server, FTP and database passwords have no
// API representation"): its operations are for a browser in which the owner is signed in, and no token opens them.
//
// What holds:
//
//   - Nobody chooses such a password: it is made here, of 24 random letters and digits.
//   - It is kept sealed, bound to its row, because the panel is told it again when a machine is replaced.
//     The jobs of the section that asked for it read it (Secret); it is in no answer, event or log.
//   - Its owner sees it once, in the browser, after proving again who it is; so does a reseller's client, during the visit
//     that a link has opened. After that there is only a new one (Reset).
//   - Its version is another with each password, and never one that was before: sections compare it with
//     what the panel was told.
//   - It goes with what it is for, in the same commit (Delete). The end of a service is heard by the sections
//     alone: they look whether it has come back.
package credentials
