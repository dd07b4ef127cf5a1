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
	// Made hears that a panel has made the account of a service in provisioning. One that is placed on another panel
	// meanwhile does not take it.
	Made(ctx context.Context, serviceID int64, panelName string, account panel.Account) error
	// PlaceElsewhere moves a service in provisioning to another panel than the one that does not answer, and notes what
	// that one may have made as left there. It answers false when the service stays where it is.
	PlaceElsewhere(ctx context.Context, serviceID int64, from string) (moved bool, err error)
	// Left lists what may be left on panels of services that were placed elsewhere, by the ids of the services, after one
	// of them.
	Left(ctx context.Context, q db.Querier, after int64, limit int) ([]Left, error)
	// LeftOn is the part of Left that is about a service and a panel; false when nothing is left there, or the service is
	// there.
	LeftOn(ctx context.Context, q db.Querier, serviceID int64, panelName string) (Left, bool, error)
	// Cleared hears that nothing of a service is left on a panel.
	Cleared(ctx context.Context, serviceID int64, panelName string) error
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
	// Leaving tells whether a panel may still have the domain of a service for another one, which loses it.
	Leaving(ctx context.Context, q db.Querier, serviceID int64) (bool, error)
	// Stuck lists services that have been in provisioning since before a time, Ending those that are terminating; both
	// in the order of their ids, after one of them.
	Stuck(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error)
	Ending(ctx context.Context, q db.Querier, after int64, limit int) ([]int64, error)
}

// Left is a service that was placed elsewhere because its panel did not answer. The panel may have made its account all
// the same, and may be at it still.
type Left struct {
	ServiceID int64
	Panel     string
	Since     time.Time
}

// Domains are the domains of services.
type Domains interface {
	// MaySend tells whether programs of a service may send mail as its primary domain.
	MaySend(ctx context.Context, q db.Querier, of site.Site) (bool, error)
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
	Domains  Domains
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
