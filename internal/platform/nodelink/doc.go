// Package nodelink is the protocol by which the control plane and the agents of its hosting machines authenticate each
// other: certificates of the control plane's own authority, the token with which a machine joins, and the machine's
// reports. Both sides use this package, so they cannot disagree.
//
// Every certificate of the authority names one party in a URI (after SPIFFE): stead://control, or stead://node/7. Host
// names and addresses in it do not matter. A party accepts a connection when the other's certificate is signed by the
// authority, valid now, and names the expected party.
package nodelink
