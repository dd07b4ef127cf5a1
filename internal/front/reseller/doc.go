// Package reseller is the front for companies that sell on (specification, "Reseller API"): their
// keys, and the interface below /api/v1/reseller.
//
// What a reseller does to a service is the function of the public interface, mounted a second time
// with a key in the place of a token (api.Resold): there is no copy of any. Of its own the front has
// the keys, the resellers' terms, what a reseller is told of its services beyond what every owner is (coverage of
// their renewals, history, numbers), and lists that cut across sections.
//
// What holds:
//
//   - A key is shown once, when it is made; its hash is what is kept. A key that is revoked is refused
//     from the next request on: nothing is cached.
//   - A sandbox key works on an account of its own (account.EnsureSandbox), so that nothing of one
//     world is found from the other.
//   - A brand is changed as a whole, in each world by itself. Its pictures are found by the hash of their content alone, and are
//     deleted when the account is closed.
//   - No data of a reseller's clients is kept, but the tag that it gives its services (client_ref).
package reseller
