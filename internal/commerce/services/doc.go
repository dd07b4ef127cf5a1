// Package services owns what customers have bought: the rows of the table
// services, their states and their life (specification, "Service" and
// "States and transitions"; resources, section 1). Two packages in its folder have the rest, and it reads without either:
// the accounts on hosting panels that services stand for are made to follow by package provisioning, which
// is told by jobs and reports back (provisioned.go); what is sold for a service that is there (renewals, other plans,
// add-ons) and what was paid for its time is package billing's (billing.go). What resellers are shown
// of their services stands in front/reseller.
//
// A service is made by an order (Reserve), begins to be provisioned in the
// transaction that pays for it (Provision) and becomes active when its account
// is made (Made). When the panel refuses, or did not answer for long, the service
// fails (Refused), and the order is told so.
//
// A service is a Row (record.go, limits.go, store.go); its states are in status.go, what orders and operators do with it in
// service.go and end.go, what its owner does in owner.go. Its life is decided in life.go and done in step.go and batch.go, at
// the time of clock.go; each event of it is kept by history.go.
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
//   - Each change of a service is made at the time of its account (Change, read).
//   - Locks are taken in the order account (wallet), order, service.
//
// Not promised: that the panel is as a service's row says when that commits. It
// follows within seconds, when it answers.
package services
