package main

import (
	"io"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/money"
)

// ordersCmd has the commands for orders.
type ordersCmd struct {
	Refund orderRefund `cmd:"" help:"Give money of a completed order back to its buyer's wallet, with a credit note."`
}

type orderRefund struct {
	Order  int64  `arg:"" help:"Id of the order."`
	USD    string `arg:"" name:"usd" optional:"" help:"US dollars with tax, such as 25 or 25.00; all that is left of it when they are left out."`
	Reason string `help:"Why; the buyer sees it on the credit note." required:""`
}

// Run refunds an order.
func (c *orderRefund) Run(e *environment) error {
	var amount *money.USDCents
	if c.USD != "" {
		given, err := readAs(admin.ParseUSD, c.USD)
		if err != nil {
			return err
		}
		amount = &given
	}
	return e.administer(func(a *admin.Admin) error {
		done, err := a.RefundOrder(e.ctx, c.Order, amount, c.Reason)
		if err != nil {
			return err
		}
		return e.show(done, func(w io.Writer) {
			row(w, "given back", done.Amount)
			row(w, "credit note", done.CreditNoteID)
		})
	})
}
