package admin

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/page"
)

// RenewalHealth is the state of all renewals.
type RenewalHealth struct {
	// NoAttempt counts services that are due without an attempt, Failing those whose renewal was refused, Ending those
	// whose end takes long.
	NoAttempt int             `json:"no_attempt"`
	Failing   int             `json:"failing"`
	Ending    int             `json:"ending"`
	Data      []UnwellService `json:"data"`
}

// UnwellService is a service that is due without an attempt, whose renewal fails, or whose end takes long.
type UnwellService struct {
	ServiceID     int64      `json:"service_id"`
	AccountID     int64      `json:"account_id"`
	Domain        *string    `json:"domain"`
	Status        string     `json:"status"`
	Problem       string     `json:"problem"`
	Since         time.Time  `json:"since"`
	FailureKey    *string    `json:"failure_key"`
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	ExpiresAt     *time.Time `json:"expires_at"`
}

// RenewalHealth reads a page of the services that are due without an attempt for longer than by, and of those whose
// renewal fails or whose end takes longer.
func (a *Admin) RenewalHealth(ctx context.Context, by time.Duration, p page.Params) (h RenewalHealth, err error) {
	counted, err := a.Services.Health(ctx, by)
	if err != nil {
		return h, err
	}
	found, err := a.Services.Unwell(ctx, by, p)
	h = RenewalHealth{NoAttempt: counted.NoAttempt, Failing: counted.Failing, Ending: counted.Ending, Data: make([]UnwellService, len(found))}
	for i, u := range found {
		h.Data[i] = UnwellService{
			ServiceID: u.ServiceID, AccountID: u.AccountID, Domain: u.Domain, Status: string(u.Status), Problem: string(u.Problem),
			Since: u.Since, FailureKey: u.FailureKey, NextAttemptAt: u.NextAttemptAt, ExpiresAt: u.ExpiresAt,
		}
	}
	return h, err
}
