// Package currencies owns what a US dollar is worth in the currencies that prices are shown in, in the table
// currencies_rates (specification, "Content": currencies, and "Money").
//
// What holds:
//
//   - Nothing is billed by a rate: amounts are US cents everywhere, and a rate is used when one is shown.
//   - A rate has a date and a source. The operator sets rates, or a publisher gives them each day; the operator's stays
//     until it is removed.
//   - A price in a currency without a rate younger than a week is shown in dollars: an old price is worse than a foreign
//     one.
//   - All replicas use a changed rate within a second.
package currencies
