/** The pages of a customer, for the tests that look at each. `$service` is a service of theirs. */
export const routes = [
  "/",
  "/services",
  "/services/$service",
  "/services/$service/databases",
  "/services/$service/plan",
  "/order",
  "/orders",
  "/wallet",
  "/invoices",
  "/billing",
  "/domains",
  "/domains/new",
  "/notifications",
  "/rewards",
];
