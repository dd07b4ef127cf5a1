// Package billing sells renewals, other plans and add-ons for existing services (specification, "Service management";
// resources, section 1). It records what was really paid for which time of a service (period), and computes what all of it
// costs an account, with its taxes and a reseller's discount.
//
// The rows of services belong to package services: billing locks and writes them by its functions, and reads them. Its own
// table is services_periods. Nothing in services depends on this package: it calls it by its interface Billing, for the
// renewals that are due and for the first period of a service.
//
// A renewal is in renew.go, another plan in tariff.go, what was paid in period.go, add-ons in addons.go, prices for baskets
// and forecasts in quote.go, taxes in taxes.go.
//
// What holds:
//
//   - Money first: the wallet's row is locked by the sale (Orders.Sell), and then the service's. What the price was made of
//     must not have changed between the two (services.LockUnchanged); otherwise all of it is undone.
//   - Time that is left is settled by what was really paid for it, so moving back and forth between plans earns nothing.
//   - A plan that waits for the renewal comes at the price at which its owner chose it, and once time is paid for it, it
//     comes, or the difference is given back.
package billing
