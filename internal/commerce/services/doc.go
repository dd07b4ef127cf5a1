// Package services owns what customers have bought: the rows of the table
// services, their states, and the account on a hosting panel that each of them
// stands for (specification, "Service" and "States and transitions";
// resources, section 1).
//
// A service is made by an order (Reserve), begins to be provisioned in the
// transaction that pays for it (Provision) and becomes active by a job that
// makes the account on its panel. When the panel refuses, or did not answer
// for long, the service fails, the order is told so and what was half made is
// removed by another job.
//
// What holds:
//
//   - status moves only along the table in status.go, and each move is written
//     together with its event.
//   - A domain is served by one live service at a time; a unique index says so,
//     and Names knows the further ones. An unpaid order holds no domain. Names below a live domain are its account's;
//     a query says so, which two payments in the same instant can pass.
//   - The account's ref on the panel is the service's id. Whatever runs twice
//     finds what it made before, so a crash between the panel's answer and our
//     commit leaves one account and one service.
//   - A service in provisioning, or terminating, always has a job, or gets one
//     from Reconcile.
//   - An account goes only when all of it is kept (Keeper), or its panel keeps
//     nothing. A terminated service comes back with the account's ref and what was
//     kept, as long as that is there.
//   - Locks are taken in the order account (wallet), order, service.
//
// Not promised: that a failed panel call left nothing behind at once. The
// clean-up job removes it when the panel answers again.
package services
