// Package coupons owns the codes that take something off an order (resources, section 2): a part of the price of the
// first period, or an amount.
//
// An order that is made with a code stores the discount as it stores its prices (Discount). The coupon is redeemed in the
// transaction that pays the order (Redeem), and the redemption is undone in the transaction that refunds it (Release). An
// unpaid order redeems nothing: of several orders with the last redemption of a coupon, the first that is paid gets it, and
// the others are refused with coupon_exhausted.
//
// What holds:
//
//   - A coupon is never redeemed more often than its bounds allow: its row counts the redemptions, and the row stays locked
//     until the payment commits. A CHECK of the table holds it, too.
//   - An account redeems one coupon for first orders, whichever it is: a unique index holds it.
//   - Accounts that pay wholesale prices get no coupons. Sandboxes are among them, so play money redeems no real coupon.
//   - Locks are taken in the order account (wallet), order, coupon, plan, service.
//
// Not promised: that a code is secret. People pass codes on; the bounds of a coupon limit the cost.
package coupons
