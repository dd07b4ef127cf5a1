package provisioning

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/port/panel"
)

// ErrCleaning says that what is left of an earlier account of a service is being removed: it would take a new one with
// it.
var ErrCleaning = errors.New("provisioning: the account that was there before is being removed")

// Services says what services should be on their panels, and hears how far these came. Whatever it hears it may hear
// twice, and late.
type Services interface {
	// Wanted is what a service should be on its panel, whoever owns it.
	Wanted(ctx context.Context, q db.Querier, serviceID int64) (site.Site, error)
	// Made hears that the panel has made the account of a service in provisioning.
	Made(ctx context.Context, serviceID int64, account panel.Account) error
	// Placed hears where the panel serves a service that is active.
	Placed(ctx context.Context, serviceID int64, account panel.Account) error
	// Refused hears that the panel will not have it. failureKey is one of the public error keys.
	Refused(ctx context.Context, serviceID int64, failureKey string) error
	// Removed hears that the account of a terminating service is gone.
	Removed(ctx context.Context, serviceID int64) error
	// Clean begins to remove what is left of the account of a service that has none any more, until Cleaned, and answers
	// ErrCleaning when that goes on already. It answers false for a service that has an account, or is to get one.
	Clean(ctx context.Context, serviceID int64) (over bool, err error)
	Cleaned(ctx context.Context, serviceID int64) error
	// Cleaning answers ErrCleaning while what is left of an account of the service is being removed.
	Cleaning(ctx context.Context, q db.Querier, serviceID int64) error
	// Stuck lists services that have been in provisioning since before a time, Ending those that are terminating; both
	// in the order of their ids, after one of them.
	Stuck(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error)
	Ending(ctx context.Context, q db.Querier, after int64, limit int) ([]int64, error)
}

// Keeper keeps what a service consisted of when it ends.
type Keeper interface {
	// Keep makes the final backup of a service that is terminating. It is called again and again
	// until it answers true: all is kept, or its panel keeps nothing.
	Keep(ctx context.Context, accountID, serviceID int64) (done bool, err error)
}

// Config is what the package works with; every field is needed.
type Config struct {
	DB     *db.DB
	Queue  jobs.Enqueuer
	Panels site.Panels
	Clock  clock.Clock
	// SandboxPanel is where the services of sandboxes are provisioned.
	SandboxPanel string
}

// Needs is what the package needs of others; every field is required.
type Needs struct {
	Services Services
	Keeper   Keeper
	Placer   Placer
}

// Service is the package's use cases.
type Service struct {
	Config
	Needs
}

// New makes it. Connect comes before its use.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives it what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// accounts is the part of the service's panel that makes and ends accounts.
func (s *Service) accounts(of site.Site) (panel.Accounts, error) {
	return site.On[panel.Accounts](s.Panels, of, panel.CapAccounts)
}
