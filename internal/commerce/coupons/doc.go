// Package coupons owns the codes that take something off an order (resources, section 2): a part of the price of the
// first period, or an amount.
//
// An order that is made with a code keeps the discount as it keeps its prices (Discount). The coupon is redeemed in the
// transaction that pays the order (Redeem), and given back in that in which the order's money goes back (Release). An
// order that is not paid redeems nothing, so of many orders with the last coupon the first that is paid has it, and the
// others are refused with coupon_exhausted.
//
// What holds:
//
//   - A coupon is never redeemed more often than its bounds say: it is counted in its own row, whose lock is held until
//     the payment commits. The last word has the table's CHECK.
//   - A redemption of an account's first order is one, whatever the coupons; a unique index says so.
//   - Who pays wholesale has no coupons; sandboxes are among those, so no play money redeems a real coupon.
//   - Locks are taken in the order account (wallet), order, coupon, plan, service.
//
// Not promised: that a code is secret. It is as good as the people who pass it on; bounds are what keeps it in check.
package coupons
