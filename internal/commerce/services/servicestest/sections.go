package servicestest

import (
	"context"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Senders are domains as which their accounts may send, but for unproven.test.
type Senders struct{}

// MaySend implements provisioning.Domains.
func (Senders) MaySend(_ context.Context, _ db.Querier, of site.Site) (bool, error) {
	return of.Domain != "unproven.test", nil
}

// Names are those that services have besides their own.
type Names struct {
	Taken  map[string]bool
	Served []int64 // services
	// Held says that the panel still has the name for somebody else.
	Held bool
	// StandIn is what a service gets that comes back; its own name when empty.
	StandIn string
}

// Check implements services.Names.
func (n *Names) Check(_ context.Context, _ db.Querier, _ int64, name string) error {
	if n.Taken[name] {
		return fault.DomainUnavailable.New()
	}
	return nil
}

// Claim implements services.Names.
func (n *Names) Claim(_ context.Context, _ *db.Tx, _, _ int64, _ bool, name string) error {
	if n.Taken[name] {
		return fault.DomainUnavailable.New()
	}
	return nil
}

// Return implements services.Names.
func (n *Names) Return(ctx context.Context, tx *db.Tx, accountID, serviceID int64, sandbox bool, name string) (string, error) {
	if n.StandIn != "" {
		return n.StandIn, nil
	}
	return name, n.Claim(ctx, tx, accountID, serviceID, sandbox, name)
}

// Leaving implements services.Names.
func (n *Names) Leaving(context.Context, db.Querier, string) (bool, error) { return n.Held, nil }

// Serve implements services.Names.
func (n *Names) Serve(_ context.Context, _ *db.Tx, serviceID int64) error {
	n.Served = append(n.Served, serviceID)
	return nil
}

// Used is what every service uses; Paying are the accounts with a payment on its way.
type Used struct {
	Counts map[string]int64
	Paying map[int64]bool
}

// Sandbox implements site.Worlds.
func (u *Used) Sandbox(_ context.Context, _ db.Querier, accountID int64) (bool, error) {
	return accountID == SandboxAccount, nil
}

// SandboxAccount is an account of a sandbox.
const SandboxAccount = 99

// InFlight implements services.Payments.
func (u *Used) InFlight(_ context.Context, _ db.Querier, accountID int64) (bool, error) {
	return u.Paying[accountID], nil
}

// Measure implements billing.Usages.
func (u *Used) Measure(context.Context, int64, int64) (map[string]int64, error) { return u.Counts, nil }

// Known implements billing.Usages.
func (u *Used) Known(context.Context, db.Querier, int64) (map[string]int64, error) {
	return u.Counts, nil
}
