// Package ssh opens accounts by SSH: SFTP always, a shell where it is switched on, by keys only.
//
// An OpenSSH server of its own, with its own configuration, host key and port, serves all accounts of the
// machine. It outlives the agent: sessions go on while the agent is killed or upgraded.
//
// sshd reads its configuration once and is never told of an account. What an account may is in two things
// below the facility's directory, which are root's and which sshd looks at for every connection:
//
//	keys/<user>   the account's keys, each with options: "restrict" (nothing is forwarded, no file of the
//	              account's is run) and the command that every session of it runs
//	roots/<user>  a link to the directory that sshd changes its root to
//
// Without a shell the root is the account's jail and the command is sshd's own internal-sftp, so that a
// customer sees nothing but its home and runs nothing at all. With a shell the root is the machine's and the
// command is a program of this project (package session), which takes the limits of the account on itself
// before it becomes the customer's shell, or an SFTP server.
//
// When a shell is switched on or off, the two are changed in the order in which nothing is open in between:
// the program of the shell is not in the jail, so a session that begins then fails.
//
// A suspended account has no keys. Its sessions end with its processes, by the accounts' driver; those of a
// shell that is switched off are ended here.
package ssh
