// Package sitedomains owns the domains that a hosting service answers to, in
// the table hosting_domains, and measures what the service uses of its plan (specification, section "Service management"; resources,
// sections 1 and 22).
//
// A row of hosting_domains is what should be. Every change writes the row and a
// job in one commit; the job makes the panel as the rows are and writes into
// them how far it came:
//
//	pending   the panel has not followed yet
//	active    it has
//	failed    it refused for good; failure_key says why. Any change tries again
//	removing  the name is to go; the row goes when the panel no longer has it
//
// What holds:
//
//   - A name lives on one service of the platform: the unique index on the name
//     says so, for primary domains as well, which services claim here in the
//     transaction that begins to provision them (Claim). Nobody adds a name
//     below one of another account.
//   - A service that is provisioned has one primary domain; it is the service's
//     domain, changed in the same commit.
//   - Jobs are level-triggered: they read the rows, compare them with what the
//     panel has, and do the difference. They may run twice, at once and after
//     each other, and look again after they have acted. Reconcile has every
//     service compared once in an hour, so what somebody changed on the panel by
//     hand comes back to what should be.
//   - Nothing is asked of the panel or of the DNS within a request, except what
//     it counts of its own (Usage).
//   - Names are freed when their service fails or is terminated.
//
// Not promised: that the panel has followed when the request is answered.
package sitedomains
