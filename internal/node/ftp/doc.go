// Package ftp lets customers work on files by FTP, over TLS only.
//
// What holds:
//
//   - Nobody signs in, and nothing is transferred, without TLS: USER in the clear is refused (RFC 4217,
//     explicit TLS), and a data connection that does not begin with a TLS handshake carries nothing.
//   - Transfers are passive. The server connects to nobody, so it can be made to attack nobody.
//   - Who signs in is a virtual user, "<account>_<name>". Its password is kept as a bcrypt hash; an unknown
//     name takes as long as a wrong password.
//   - Everything it does is done as the account's user (package identity) and through an os.Root of its home,
//     opened for the operation: no path and no symbolic link leads out of the home.
//   - It pays for its files: the account's disk and inode limits hold while bytes arrive, and so does the
//     quota of the FTP account.
//   - An address that guesses is refused for a while. Connections are bounded, all together, per address and
//     per account, and end when they are idle.
//   - A suspended account refuses sign-ins and loses its sessions.
//
// The server is part of the agent's process. FTP sessions end when the agent does; clients connect again and
// go on where they were. Sites and SSH sessions do not depend on it.
package ftp
