package billing

import (
	"context"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Orders takes the money for what services become.
type Orders interface {
	// Sell makes orders, pays them from their wallets and completes them. It returns for each its order, or why it was
	// refused: with insufficient_funds, of which nothing is written. Sales of one wallet are paid in their order. All
	// accounts have the same time; where there are several, the caller has entered it.
	Sell(ctx context.Context, tx *db.Tx, all []sale.Sale) ([]sale.Sold, error)
}

// Plans are what services are sold by.
type Plans interface {
	// Offer prices a plan; a period that it is not sold for is validation_failed.
	Offer(ctx context.Context, q db.Querier, planID int64, months int) (sale.Offer, error)
	// Changes are the plans that a service of this plan may move to, for the same period.
	Changes(ctx context.Context, q db.Querier, planID int64, months int) ([]sale.Offer, error)
	// Take counts the service of an account against the plan's stock; false when there is none left. Return undoes it.
	Take(ctx context.Context, tx *db.Tx, accountID, planID, serviceID int64) (bool, error)
	Return(ctx context.Context, tx *db.Tx, planID, serviceID int64) error
}

// Addons are what services have beside their plan, which is renewed with them.
type Addons interface {
	// Renewals lists what is renewed with each service for a number of months, by service. For a service's own period
	// the prices are those that it was sold for.
	Renewals(ctx context.Context, q db.Querier, all []sale.Renewal) (map[int64][]sale.Extra, error)
	// Renewed hears that what Renewals listed is paid until a time.
	Renewed(ctx context.Context, tx *db.Tx, serviceID int64, until time.Time) error
}

// Usages tell what a service uses of its plan, by the names of the plan's limits.
type Usages interface {
	// Measure asks everybody who counts, the panel too; what nobody counts is left out. It is for
	// requests that change nothing.
	Measure(ctx context.Context, accountID, serviceID int64) (map[string]int64, error)
	// Known is what is known without asking the panel.
	Known(ctx context.Context, q db.Querier, serviceID int64) (map[string]int64, error)
}

// Balances tells what an account can spend.
type Balances interface {
	Spendable(ctx context.Context, q db.Querier, accountID int64) (money.USDCents, error)
}

// Provisioner makes the panels give services the limits of their plans.
type Provisioner interface {
	// Check answers fault.OutOfStock for a service whose plan promises what no panel has.
	Check(ctx context.Context, q db.Querier, p provisioning.Placement) error
	// Resize changes the room that is kept for a service whose limits have changed in tx.
	Resize(ctx context.Context, tx *db.Tx, p provisioning.Placement) error
	// EnqueueLimits has a job give the account of a service its limits.
	EnqueueLimits(ctx context.Context, tx *db.Tx, serviceID int64) error
}

// Config is what the package works with; every field is needed.
type Config struct {
	DB       *db.DB
	Clock    clock.Clock
	Services *services.Service
}

// Needs is what the package needs of others; every field is required.
type Needs struct {
	Orders      Orders
	Plans       Plans
	Addons      Addons
	Balances    Balances
	Rates       sale.Rates
	Taxes       sale.Taxes
	Usages      Usages
	Provisioner Provisioner
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
