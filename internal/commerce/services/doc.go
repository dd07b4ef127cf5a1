// Package services owns what customers have bought: the rows of the table
// services, their states and their paid time (specification, "Service" and
// "States and transitions"; resources, section 1). The accounts on hosting
// panels that they stand for are made to follow by package provisioning, which
// is told by jobs and reports back (provisioned.go). What resellers are shown
// of their services stands in front/reseller.
//
// A service is made by an order (Reserve), begins to be provisioned in the
// transaction that pays for it (Provision) and becomes active when its account
// is made (Made). When the panel refuses, or did not answer for long, the service
// fails (Refused), and the order is told so.
//
// State and life are in status.go, record.go, service.go, owner.go (what owners
// order), end.go, life.go, step.go and batch.go; what is sold for a service that is there, in
// renew.go, tariff.go, period.go, taxes.go, addons.go and quote.go.
//
// What holds:
//
//   - status moves only along the table in status.go, and each move is written
//     together with its event.
//   - A domain is served by one live service at a time; a unique index says so,
//     and Names knows the further ones. An unpaid order holds no domain. Names below a live domain are its account's;
//     a query says so, which two payments in the same instant can pass.
//   - A terminated service comes back with the account's ref and what was kept of
//     it (Keeper), as long as that is there.
//   - Each change of a service is made at the time of its account (change, read).
//   - Locks are taken in the order account (wallet), order, service.
//
// Not promised: that the panel is as a service's row says when that commits. It
// follows within seconds, when it answers.
package services
