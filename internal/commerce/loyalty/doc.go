// Package loyalty is what customers get for buying and for bringing others
// (specification, "Account": loyalty and referral): tiers by what was spent in
// the last year, codes that refer new customers, and rewards, which are credits
// in the wallet's ledger. docs/loyalty.md tells it to operators.
//
// It owns the tables loyalty_*. It learns of orders by their events, order.completed
// and order.refunded, and what follows from an event is one commit with the mark
// that it was told.
//
// What holds:
//
//   - an order gives each kind of reward at most once, whatever is repeated: the
//     reward's row and the wallet's reference are unique;
//   - of what is refunded of an order, the reward is taken back in proportion; a
//     refund that is heard of before the completion counts all the same;
//   - nobody refers themselves, nor an account that was there before the code was
//     used;
//   - who buys wholesale, and every sandbox, neither gives nor gets rewards.
//
// Not promised: that two accounts belong to two persons. An account that the
// referrer opened under another address looks like anybody's; a reward is a part
// of what was paid, so that this costs more than it brings.
package loyalty
