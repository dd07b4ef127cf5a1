// Package access owns the ways into a hosting service: its FTP accounts, its shell, the SSH keys that
// open it, and the terminal in the browser (specification,
// section "Service management"; resources, sections 18 and 22).
//
// What holds:
//
//   - Rows are what should be. A change writes the row and a job in one commit; the job has the panel follow
//     (package site) and notes how far it came. Nothing is asked of the panel in a request that changes
//     something.
//   - An FTP account's password is made by the server and is in no request and no answer: see package
//     credentials. Its user name begins with the account's on the machine, so that names never collide.
//   - A key is kept as the library reads it: options, comments and other lines that were pasted with it are
//     refused. A service has a key once.
//   - A terminal needs a signed-in user who has recently authenticated again, and a ticket that was made for
//     this browser's session and this service. A ticket works once.
//
// Not promised: that used_mb and the times of last use are of this minute. They come with the hourly
// comparison and with every change.
package access
