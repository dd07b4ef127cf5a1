package main

import (
	"io"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/money"
)

// ordersCmd has the commands for orders.
type ordersCmd struct {
	List   orderList   `cmd:"" help:"List all customers' orders, the newest first."`
	Show   orderShow   `cmd:"" help:"Show an order."`
	Refund orderRefund `cmd:"" help:"Give money of a completed order back to its buyer's wallet, with a credit note."`
}

type orderList struct {
	paging
	Status  string `help:"Only those in this state, such as processing."`
	Account string `help:"Only those of the account with this id or mail address."`
}

// Run lists orders.
func (c *orderList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ListOrders(e.ctx, c.Status, c.Account, c.params())
		if err != nil {
			return err
		}
		return e.show(list, func(w io.Writer) {
			row(w, "NUMBER", "ACCOUNT", "WHAT", "STATUS", "TOTAL", "CREATED")
			for _, o := range list.Data {
				row(w, o.Number, o.Email, o.Kind, o.Status, o.Total, o.CreatedAt.Format("2006-01-02 15:04"))
			}
		})
	})
}

type orderShow struct {
	Order string `arg:"" help:"Id or number of the order, such as ORD-2026-000017."`
}

// Run shows an order.
func (c *orderShow) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		o, err := a.Order(e.ctx, c.Order)
		if err != nil {
			return err
		}
		return e.show(o, func(w io.Writer) {
			row(w, "number", o.Number)
			row(w, "id", o.ID)
			row(w, "account", o.Email)
			row(w, "what", o.Kind)
			row(w, "status", o.Status)
			row(w, "total", o.Total)
			row(w, "refunded", o.Refunded)
			if o.FailureKey != nil {
				row(w, "failed by", *o.FailureKey)
			}
			row(w, "created", o.CreatedAt.Format("2006-01-02 15:04 MST"))
		})
	})
}

type orderRefund struct {
	Order  string `arg:"" help:"Id or number of the order, such as ORD-2026-000017."`
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
		o, err := a.Order(e.ctx, c.Order)
		if err != nil {
			return err
		}
		done, err := a.RefundOrder(e.ctx, o.ID, amount, c.Reason)
		if err != nil {
			return err
		}
		return e.show(done, func(w io.Writer) {
			row(w, "given back", done.Amount)
			row(w, "credit note", done.CreditNoteID)
		})
	})
}
