/** The pages of a customer, for the tests that look at each. `$service` is a service of theirs. */
export const routes = ["/", "/services", "/services/$service", "/services/$service/databases"];
