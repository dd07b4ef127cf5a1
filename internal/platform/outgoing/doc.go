// Package outgoing calls addresses that customers register, such as the receivers of webhooks.
//
// A customer's address must not reach what only this machine reaches: its own services, the private network, the
// metadata service of a cloud. The client checks the address that it really connects to, after the name was resolved
// and for each connection, so a name that resolves to something else the second time gains nothing. It follows no
// redirects and uses no proxy, for both would connect elsewhere. The time of a call and the bytes read of its answer
// are bounded.
package outgoing
