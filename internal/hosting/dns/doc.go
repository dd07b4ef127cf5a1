// Package dns owns the zones of hosting services and their records (specification,
// section "Service management"; resources, section 21), in the tables dns_zones,
// dns_records, dns_snapshots and dns_catalog. The name server serves them; this
// section feeds it (Feed).
//
// A service has the zone of its primary domain, under that name itself and not
// under the registrable name above it, which may be somebody else's. The zone is
// made when the service is provisioned, and by the first request should it not be
// there; it goes when the service ends or another service has the name. After a
// change of the primary domain the former zone is still served, as long as the
// domain is the service's. Its other domains are found too: below one of its zones
// by addresses there, else by zones of their own (settleSites). The operations are
// about the primary domain's zone unless they name another one.
//
// What holds:
//
//   - A record is a row with an id of its own. No operation replaces a zone; an
//     import only adds.
//   - Before every change the zone is kept in dns_snapshots, the last keepSnapshots
//     of them.
//   - The serial grows with every change of what is served (RFC 1982), in the same
//     commit. It is the time in seconds, or one more than the last one, so that a
//     zone that is deleted and made again is newer than it was.
//   - Every record that is stored can be served: names are checked here, and the
//     rules of the DNS between records are kept (conflict). All changes of a zone
//     hold the lock of its service.
//   - System records are the platform's: those of the name servers cannot be
//     changed; the addresses of the zone and of www follow the service until the
//     customer changes or deletes them, and are disabled while records of the
//     customer's displace them. Other sections have sets of their own (SetSystem),
//     which cannot be changed either and give way to a customer's own records.
//   - An ALIAS is served as the public addresses that its target last had; a target
//     that cannot be looked up keeps them. Without any, its name is answered SERVFAIL.
//
// Not promised: that every name server serves a change at once. Those of this
// program do within a second, secondaries when they have transferred the zone.
package dns
