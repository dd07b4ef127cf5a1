// Package loyalty owns the rewards of customers who buy and who bring others (specification, "Account": loyalty and referral):
// tiers by the amount spent in the last year, codes that refer new customers, and rewards, which are credits in the wallet's
// ledger. docs/loyalty.md describes it for operators.
//
// It owns the tables loyalty_*. It follows orders by their events, order.completed and order.refunded. The effect of an event
// and the mark that it was delivered are one commit.
//
// What holds:
//
//   - An order gives each kind of reward at most once, however often its event is delivered: the reward's row and the
//     wallet's reference are unique.
//   - A refund takes the reward back in proportion, also when its event arrives before that of the completion.
//   - Nobody refers themselves, or an account that existed before the code was used.
//   - Accounts that pay wholesale prices, and sandboxes, neither give nor get rewards.
//
// Not promised: that two accounts belong to two persons. A second account of the referrer cannot be told from anybody's. A
// reward is a part of what was paid, so cheating costs more than it brings.
package loyalty
