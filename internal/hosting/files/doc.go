// Package files is the section "Files" of the specification: reading and writing the files of one
// hosting service through the panel that hosts it.
//
// The section owns no tables and no state. A call finds where the service is (Targets), asks that
// panel for its Files or Archives capability (Panels) and translates: paths and contents to the
// port, entries and kinds of failure back to the wire. What a path may be is judged by the panel
// alone, next to the file system it protects; nothing here cleans, joins or resolves one.
//
// What holds for every operation:
//
//   - A service of another account is 404, like one that is not there.
//   - A service is served while it is active or past due; otherwise service_suspended or
//     service_not_active.
//   - A content is bounded by MaxContent in both directions; uploads and downloads are streams that
//     pass through in constant memory, whatever their size. How long a client may stand still
//     meanwhile is the server's business (app).
//   - A file is replaced whole or not at all. A request with several files, a copy or an extraction
//     can end after some of them when the client leaves or the disk is full.
package files
