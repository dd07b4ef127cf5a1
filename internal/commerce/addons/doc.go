// Package addons owns what services have beside their plan: more disk, an address of their own (specification,
// "Services, add-ons, security"; resources, section 9).
//
// An add-on is bought for the time that its service is paid for, at what the catalogue asks now, and is then renewed
// with the service, in the same order and at the price that it was sold for. One that raises limits does so in the
// commit that pays for it. One that an operator makes is pending until then, with its money set aside, and fails with
// the money back when it cannot be made. What is cancelled stays until its paid time is over and is not renewed.
//
// What holds:
//
//   - The services' rows have the sums of it (Services.Extend): what is renewed, and what limits are raised by. They
//     are written with every change, the service being locked, so that coverage, limits and renewals need no look here.
//   - Money moves by orders of kind addon, in the commit of the change; an order has one add-on.
//   - An add-on ends with its service and comes back with it.
//   - Locks are taken in the order account (wallet), order, service, add-on; one that an operator is to make comes
//     first of all.
//
// Not promised: money back for what is cancelled before its paid time is over.
package addons
