// Package nodes owns the hosting machines that are not in the control plane's own process: how they
// join, how they prove who they are, how they are, and which of them a new service is placed on.
//
// An operator adds a node and gets a token that is good once, for an hour. The machine gives it with
// a request to certify its key, and is a node from then on: it renews its certificate itself and
// reports twice a minute. The control plane calls it at the address that it reports.
//
// States: joining → active ⇄ draining → removed; joining → removed. A node that is active or draining
// and has not reported for nodelink.SilentAfter is shown as offline; that is computed, never stored,
// and ends with its next report.
//
// What holds:
//
//   - A token is stored as its hash and joins one machine. Joining again needs another token
//     (Rejoin), which ends the certificate before it.
//   - A removed node is refused at its next word, whatever its certificate says, and all replicas
//     stop calling it with the news (topic "nodes").
//   - The sums of a node's placements never exceed what it has: taking room is one conditional UPDATE
//     of the node's row, in the transaction that pays for the service.
//   - A node is told with the answer to each report which accounts have left it for others.
//   - Locks are taken in the order service, node.
//
// Not promised: that a node's own figures are true; the sums hold against what it said last.
package nodes
