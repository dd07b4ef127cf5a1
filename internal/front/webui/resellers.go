package webui

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
)

// Resellers tells who resells, and as whom they call the interface.
type Resellers interface {
	// Resells reports whether the account is a reseller's.
	Resells(ctx context.Context, accountID int64) (bool, error)
	// Principal is the reseller who calls the interface from the panel, in the live world or the sandbox; fault.Forbidden
	// when the account is no reseller's.
	Principal(ctx context.Context, accountID int64, sandbox bool) (auth.Principal, error)
}

// resells reports whether the visitor is a reseller. When the answer is unknown it says no.
func (ui *UI) resells(r *http.Request) bool {
	s := ui.session(r)
	if s == nil || ui.Resellers == nil || !ui.Sections.Enabled(api.Reseller) {
		return false
	}
	resells, err := ui.Resellers.Resells(r.Context(), s.Account.ID)
	return resells && err == nil
}
