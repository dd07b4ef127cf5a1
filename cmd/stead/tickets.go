package main

import (
	"errors"
	"fmt"
	"io"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/support/tickets"
)

type ticketsCmd struct {
	Receive ticketsReceive `cmd:"" help:"Add a mail from standard input to its ticket; a mail server pipes what arrives at support+…@ here."`
}

type ticketsReceive struct{}

// Run takes a mail. What is dropped is no error: the mail server would answer it.
func (ticketsReceive) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		t, err := a.Inbox.Receive(e.ctx, e.stdin)
		if errors.Is(err, tickets.ErrDropped) {
			_, _ = fmt.Fprintln(e.stderr, "stead:", err)
			return nil
		}
		if err != nil {
			return err
		}
		return e.show(map[string]any{"ticket": t.ID}, func(w io.Writer) { row(w, "ticket", t.ID) })
	})
}
