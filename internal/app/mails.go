package app

import (
	"slices"

	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/monitoring/monitors"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/support/tickets"
)

// mailKinds are all kinds of mails that the program sends.
func mailKinds() []mailer.Kind {
	return slices.Concat(account.Mails(), notifications.Mails(), monitors.Mails(), status.Mails(), tickets.Mails())
}
