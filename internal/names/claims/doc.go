// Package claims owns which account may use which domain, in the tables claims_domains and claims_holders. All ways in
// which a name comes in ask it: orders, domains of services, restores, provisioning by resellers, registrations and
// transfers. docs/domains.md tells it to customers and operators.
//
// Names are judged by the domain that can be registered (domainname.Owned): whoever holds example.co.uk holds all names
// below it. The rule is the function decide, with its table of cases in claim_test.go:
//
//   - One account holds a domain. claims_holders has one row for a domain, so of two orders at once one is refused.
//   - A registration here decides at once, and displaces whoever else holds the domain.
//   - Else who has proven control wins over who has not. The holder is notified first, and has Config.Notice to prove control
//     too, or ten minutes where no visitors come here. Nothing is taken but by what the DNS says at that moment, of both. A delegation to names with the token is stronger
//     than a TXT record, which proves nothing where our own name servers may answer it: the holder edits that zone.
//   - Who comes first without a proof holds the domain provisionally. It is cleared when control is proven or the DNS
//     leads here. Until then the site answers to Host and its preview address, and other sections serve no zone of it on
//     the public name server, order no certificate and offer no mail (Cleared).
//   - Popular and reserved domains (protected.txt, and the operator's) need a proof from everybody.
//   - A domain is held for its last owner while a service of it can be restored.
//
// What is displaced is not lost: the services of the account go on under a name that nobody can reach, by their preview
// address, and get their names back should the account prove control later.
//
// Sandboxes hold nothing here: their names are nobody's.
//
// Not promised: that a proof is noticed at once. The DNS is asked by a job, with growing pauses, and when the account
// asks for it.
package claims
