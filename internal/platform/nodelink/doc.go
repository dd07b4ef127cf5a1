// Package nodelink is what the control plane and the agents of its hosting machines say to each other
// about who they are: certificates of the control plane's own authority, the token with which a
// machine joins, and the machine's reports. Both sides use this package, so they cannot disagree.
//
// Every certificate of the authority names one party in a URI (after SPIFFE): stead://control, or
// stead://node/7. Nothing else in it matters: neither host names nor addresses. A party accepts a
// connection when the other's certificate is of the authority, is valid now and names whom it expects.
package nodelink
