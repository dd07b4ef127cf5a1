package app

import (
	"context"
	"slices"
	"strconv"

	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/monitoring/monitors"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/support/tickets"
)

// staffAddresses adapts the accounts to the company.
type staffAddresses struct{ accounts *account.Service }

// Address implements company.Addresses.
func (s staffAddresses) Address(ctx context.Context, accountID int64) (string, error) {
	p, err := s.accounts.Find(ctx, strconv.FormatInt(accountID, 10))
	return p.Email, err
}

// mailKinds are all kinds of mails that the program sends.
func mailKinds() []mailer.Kind {
	return slices.Concat(account.Mails(), notifications.Mails(), monitors.Mails(), status.Mails(), tickets.Mails())
}
