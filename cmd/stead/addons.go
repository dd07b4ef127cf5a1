package main

import (
	"io"

	"stead.dev/stead/internal/front/admin"
)

// addonsCmd has the commands for add-ons that operators set up.
type addonsCmd struct {
	Waiting addonsWaiting `cmd:"" help:"List the add-ons that were paid for and that an operator is to make, the oldest first."`
	Made    addonsMade    `cmd:"" help:"Say that an add-on is made: its money is taken, and it is renewed with its service."`
	Refuse  addonsRefuse  `cmd:"" help:"Say that an add-on cannot be made: its money goes back."`
}

type addonsWaiting struct{}

// Run lists the waiting add-ons.
func (addonsWaiting) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.WaitingAddons(e.ctx)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": list}, func(w io.Writer) {
			row(w, "ID", "ADD-ON", "QUANTITY", "SERVICE", "ACCOUNT", "SINCE")
			for _, x := range list {
				row(w, x.ID, x.Key, x.Quantity, x.ServiceID, x.AccountID, x.CreatedAt.Format("2006-01-02 15:04"))
			}
		})
	})
}

type addonsMade struct {
	Addon int64  `arg:"" help:"Its id."`
	Value string `help:"What the customer is shown of it, such as the address."`
}

// Run records that an add-on is set up.
func (c *addonsMade) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		if err := a.MakeAddon(e.ctx, c.Addon, c.Value); err != nil {
			return err
		}
		return e.show(map[string]any{"id": c.Addon, "made": true}, func(w io.Writer) { row(w, "made", c.Addon) })
	})
}

type addonsRefuse struct {
	Addon int64 `arg:"" help:"Its id."`
}

// Run refuses an add-on and refunds its money.
func (c *addonsRefuse) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		if err := a.RefuseAddon(e.ctx, c.Addon); err != nil {
			return err
		}
		return e.show(map[string]any{"id": c.Addon, "refused": true}, func(w io.Writer) { row(w, "refused", c.Addon) })
	})
}
