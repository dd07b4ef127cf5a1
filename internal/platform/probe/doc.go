// Package probe makes one check of something that is monitored, and reports what it found (resources, section 8). The
// control plane and the hosting nodes use it; it knows no database and keeps no state.
//
// The targets are customers'. What holds:
//
//   - Every address is judged when it is dialled, after its name was resolved: those that are not on the public Internet
//     are refused (blocked_target). Redirects and the answers of DNS checks are judged, too.
//   - Headers and a body that the customer gave are sent to the origin of the URL only, never to another origin of a
//     redirect.
//   - Time, bytes that are read and redirects are bounded. Each check opens a connection of its own.
//   - JSONPaths take about linear time, and a panic in a check ends nothing but that check.
//
// A check that this machine could not make (no permission, no resources) is Unknown: it is no failure of the target.
package probe
