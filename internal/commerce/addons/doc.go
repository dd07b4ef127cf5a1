// Package addons owns what services have beyond their plan, such as more disk or an IP address of their own (specification,
// "Services, add-ons, security"; resources, section 9).
//
// An add-on is bought for the paid time that its service has left, at the catalogue's present price. It is then renewed with
// the service, in the same order and at the price at which it was sold. An add-on that raises limits does so in the commit
// that pays for it. One that an operator has to set up is pending until then, with its money held; when it cannot be set up,
// it fails and the money is released. A cancelled add-on stays until its paid time ends and is not renewed.
//
// What holds:
//
//   - The rows of services hold the sums of their add-ons (Services.Extend): the price of a renewal and the raised limits.
//     Every change writes them while the service is locked, so coverage, limits and renewals read nothing of this section.
//   - Money moves by orders of kind addon, in the commit of the change; an order has one add-on.
//   - An add-on ends with its service and comes back with it.
//   - Locks are taken in the order account (wallet), order, service, add-on. A pending add-on is locked before all of them.
//
// Not promised: a refund for an add-on that is cancelled before its paid time ends.
package addons
