// Package orders owns what customers asked to buy: the tables orders and
// orders_items (specification, "Orders and wallet"; resources, section 2).
//
// An order copies the prices of the moment it is made, stays payable for seven
// days and is paid from the wallet. Paying is one commit: the order is paid and
// in processing, the money is set aside in the wallet, the service is in
// provisioning with its job queued, and order.paid is told. When the service
// stands, the order completes and the money is taken; when it cannot be made,
// the order fails and the money goes back to what the customer can spend.
//
// What holds:
//
//   - status moves only along the table in status.go, and each move is written
//     together with its event.
//   - The statement that marks an order paid is the guard: of two payments at
//     once one finds it pending. The wallet refuses a second charge for the same
//     order on its own.
//   - Locks are taken in the order account (wallet), order, plan, service.
//   - Complete and Fail may be called again; they do nothing the second time.
//   - An account has at most 100 orders that it need not pay: those that wait and
//     those cancelled within a day. Orders made at once may exceed it by a few.
//
// Not promised: numbers without gaps. The invoice's number is the gapless one.
package orders
