// Package domains owns the registrations of domain names: the tables domains_*, and domains
// (specification, "Domains"; resources, section 7). docs/domains.md tells it to operators.
//
// An order of a domain is one commit: the domain, its operation, the order with the money set aside, and
// the job. The job asks the registrar. When the registry has done it, the order completes, the domain is
// what the registry says and the operation is done, in one commit; when it refuses, the order fails in
// one commit and the money is back.
//
// What holds:
//
//   - The registry decides. An operation that may have been asked (attempted, which is committed before
//     the registrar is called) is never repeated before Info has said that it was not done; so a killed
//     process and a lost answer register, renew and pay once.
//   - A name has one live registration here, a domain one open operation; unique indexes say so.
//   - An operation that is not done after a day, and of which the registry says so, fails. As long as the
//     registry cannot be asked, the money stays set aside.
//   - Contacts and authorisation codes are sealed on their way to the registrar and wiped when the
//     operation ends. Only handles stay.
//   - Locks are taken in the order account (wallet), order, domain.
//
// Not promised: that a name is free because a check said so.
package domains
