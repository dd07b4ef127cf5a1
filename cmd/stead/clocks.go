package main

import (
	"errors"
	"io"
	"time"

	"stead.dev/stead/internal/front/admin"
)

// clocksCmd administer the test clocks of sandboxes.
type clocksCmd struct {
	Show    clocksShow    `cmd:"" help:"Show the clock of an account's sandbox."`
	Advance clocksAdvance `cmd:"" help:"Move the clock of an account's sandbox on; its services live through all of the time between."`
	Reset   clocksReset   `cmd:"" help:"Give an account's sandbox the real time again."`
}

func (e *environment) showClock(c admin.Clock, err error) error {
	if err != nil {
		return err
	}
	return e.show(c, func(w io.Writer) {
		row(w, "sandbox", c.SandboxID)
		row(w, "now", c.Now.Format(time.RFC3339))
		row(w, "status", c.Status)
		if c.Target != nil {
			row(w, "target", c.Target.Format(time.RFC3339))
		}
	})
}

type clocksShow struct{ accountArg }

// Run shows the test clock.
func (c *clocksShow) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showClock(a.SandboxClock(e.ctx, c.Account)) })
}

type clocksAdvance struct {
	accountArg
	To   time.Time `help:"The time to move it to, such as 2027-01-31T12:00:00Z." format:"2006-01-02T15:04:05Z07:00" xor:"to"`
	Days int       `help:"How many days to move it by." xor:"to"`
}

// Run advances the clock.
func (c *clocksAdvance) Run(e *environment) error {
	if c.To.IsZero() && c.Days <= 0 {
		return usageError{errors.New("give --to or --days")}
	}
	return e.administer(func(a *admin.Admin) error { return e.showClock(a.AdvanceClock(e.ctx, c.Account, c.To, c.Days)) })
}

type clocksReset struct{ accountArg }

// Run resets the clock.
func (c *clocksReset) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showClock(a.ResetClock(e.ctx, c.Account)) })
}
