package admin

import (
	"context"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/page"
)

// RenewalHealth is the state of all renewals.
type RenewalHealth struct {
	services.Health
	Data []services.Unwell `json:"data"`
}

// RenewalHealth reads a page of the services that are due without an attempt for longer than by, and of those whose
// renewal fails or whose end takes longer.
func (a *Admin) RenewalHealth(ctx context.Context, by time.Duration, p page.Params) (h RenewalHealth, err error) {
	if h.Health, err = a.Services.Health(ctx, by); err != nil {
		return h, err
	}
	h.Data, err = a.Services.Unwell(ctx, by, p)
	return h, err
}
