// Package wallet is the customers' prepaid money (specification, "Orders and
// wallet"; resources, sections 3 to 5): a double-entry ledger, and the top-ups
// that bring money in through payment gateways. docs/wallet.md tells it to
// operators.
//
// It owns the tables wallet_*.
//
// A customer has three ledger accounts: customer (what can be spent), held (set
// aside for orders and runs of the agent in progress) and debt (what a charge-back found already
// spent). Money moves between them and the company's accounts:
//
//	top-up        clearing(gateway) → customer, fees
//	charge        customer → held
//	capture       held → revenue
//	release       held → customer          (a transaction of type refund)
//	capture part  held → revenue and held → customer, when less was used than was held
//	credit        adjustments → customer
//	reversal      customer, then debt, fees → clearing(gateway)
//	repayment     customer → debt, whenever money comes to a customer in debt
//
// Invariants, held by a model-based test and looked after by Recompute:
//
//   - the postings of a transaction sum to zero, and so does the ledger;
//   - the balances of customer and held are never negative: the debit is one
//     statement that finds no row when the balance does not cover it, and a
//     CHECK stands behind it;
//   - a balance is the sum of its account's postings, and each posting records
//     the balance after it;
//   - who is in debt has nothing to spend;
//   - transactions and postings are only appended;
//   - a movement is unique by (reference type, reference id, type): a charge, a
//     capture, a release or a top-up repeated is the same one.
//
// Locks: every change first locks the customer's ledger accounts, in the order
// of their ids, and only then looks. The company's accounts are sums of their
// postings and never locked, so customers do not wait for each other. Callers
// lock their order or service before they call.
//
// Not promised: that the money of a top-up that was reversed is still there (it
// becomes a debt), and that a transfer between two customers exists.
package wallet
