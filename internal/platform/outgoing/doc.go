// Package outgoing calls addresses that customers give, such as the receivers of webhooks.
//
// Whoever gives an address must not reach with it what only this machine reaches: its own services, the
// private network, the metadata service of a cloud. The address that is really connected to is what is
// judged, after the name was resolved and for each connection, so a name that resolves to something else
// the second time gains nothing. Redirects are not followed and no proxy is used, for both would connect
// elsewhere. How long a call takes and how much of its answer is read are bounded.
package outgoing
