// Package logs shows the logs of hosting services: what the web server, PHP, mail and cron wrote about
// them (specification, section "Service management"; resources, section 22). It owns no table: logs are
// on the panels.
//
// What holds:
//
//   - A page is read backwards from the newest line; next_cursor goes on with older ones, through
//     rotation.
//   - A stream (follow=1) is server-sent events (WHATWG HTML, section "Server-sent events"): an event is
//     a line, its id the line's cursor. Who comes again with Last-Event-ID misses no line that is kept. A
//     stream ends with its client, and after streamTime at the latest, so that nobody reads on whose token
//     ended; clients of the standard come again by themselves.
//   - An account has a bounded number of streams open at a time, on each replica and on each panel.
//
// Not promised: that lines of one second are in the order in which things happened.
package logs
