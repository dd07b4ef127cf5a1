// Package monitors watches what customers name, and each service by itself (specification, "Monitors" and "Embeds";
// resources, section 8).
//
// A check is due at fixed times: the phase of a monitor within its interval follows from its id. The monitors are divided
// into shards, which the replicas lease (scheduler.go, lease.go); whoever holds the lease makes the checks (package
// probe), and writes their results many at a time (record.go): raw rows, what the hour and the day come to, the states,
// and what a change of state brings, in one commit. State machine (state.go), windows (windows.go) and roll-ups
// (rollup.go) are pure.
//
// Nodes check too, each as the region of its place (region.go, exchange.go): they fetch their list, schedule by themselves
// (internal/node/agent) and bring results. A quorum of regions decides (state.go).
//
// What holds:
//
//   - A node is not believed: it has one vote at most, for monitors that it checks, of checks that were made just now; and
//     none alone. It is given no secret unless the monitor's owner chose its region.
//   - A region that is silent, or that alone finds much failing, has no vote.
//   - A result counts once: raw rows are unique by monitor, region and due time, and only rows that are new count.
//   - Results of a lease that is over are dropped.
//   - A replica that dies loses no check for longer than an interval and 20 seconds: its leases end after 15, and others
//     look for such leases every second.
//   - Status, outage, event and alerts of a change are one commit.
//   - Uptime is time, not a count of checks: seconds between two results count as the state before, seconds from the first
//     failure of an outage on as down, seconds in which nobody looked as unknown, and those of windows as maintenance.
//   - The targets are customers'. What they may be is checked when they are given, and every address when it is dialled.
//   - Raw checks are kept for 7 days, hours for 35 days, days for ever. No list or statement grows with what is kept.
//
// Not promised: that a check is made at the second. It begins within a second of its time unless the process is stopped.
package monitors
