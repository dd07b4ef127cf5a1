// Package logs keeps, rotates, reads and follows the logs of accounts.
//
// # Where logs are
//
//	<Dir>/logs/                      root, 0711
//	<Dir>/logs/<account>/            root:<account's group>, 0751
//	<Dir>/logs/<account>/<type>.log  0640, the account's group; owned by who writes it
//	<Dir>/logs/<account>/<type>.log.<n>, <type>.log.<n>.gz   rotated, the largest n is the newest
//
// The types are those of panel.LogTypes. The directory belongs to root, so that a customer cannot plant
// a link in the place of a log that a daemon opens as root; the account reads its logs by its group.
// The directory may be passed, not listed, by others: the web server's workers, which are not root, open
// their logs anew there after a rotation. The files are closed to others.
//
// # Who writes
//
//	access, error   nginx; owned by its workers' user; see ParseAccess and ParseError
//	php             PHP, as the account's user, who owns the file; see ParsePHP
//	mail, cron      the agent itself, through Store.Append: a panel.LogLine in JSON each
//
// Another facility that has something to tell an account calls Append; nobody else opens these files.
//
// # Rotation
//
// A log is rotated when it is large or old (Policy). The new file is made first, with the owner and mode
// of the old, and takes its place in one step (renameat2 with RENAME_EXCHANGE), so a writer who opens by
// name always finds a file that it may write; then daemons that hold the file are told to open it anew
// (Config.Reopen). What they write in between goes to the rotated file, which is compressed only one
// rotation later. Nothing is lost.
//
// # Cursors
//
// A cursor is the number of the file, counted over all rotations, and the offset of the line in it, so
// rotation and compression move no line. Lines are read backwards from the end in blocks; a compressed
// file is unpacked into memory, which is why files are rotated by size.
package logs
