package reseller

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/commerce/orders"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/billing"
	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/hosting/credentials"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
)

// FTP creates the FTP account with which a client signs in.
type FTP interface {
	// FirstFTP gives a service without an FTP account its first one, with a password that nobody knows, and returns its
	// user name; empty when there is one already.
	FirstFTP(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (username string, err error)
}

// Config is what the front works with; all is needed.
type Config struct {
	DB          *db.DB
	Clock       clock.Clock
	Accounts    *account.Service
	Wallet      *wallet.Service
	Services    *services.Service
	Billing     *billing.Service
	Orders      *orders.Service
	Catalog     *catalog.Service
	Credentials *credentials.Service
	FTP         FTP
	BaseURL     string // of the site, where links lead
	Limits      Limits
	Events      outbox.Events
	// Company is how we show ourselves, which no reseller may do.
	Company brand.Source
}

// Limits are the limits of every reseller.
type Limits struct {
	// RequestsPerMinute of a key, and DomainChecksPerMinute among them; 0 means no limit.
	RequestsPerMinute, DomainChecksPerMinute int
	Webhooks                                 int
}

// Service is the front's use cases.
type Service struct{ Config }

// New makes the front.
func New(c Config) *Service { return &Service{c} }

// Reseller is an account that resells.
type Reseller struct {
	AccountID, SandboxID int64
	Tier                 string
	// Discount is the difference between retail and wholesale, in hundredths of a percent.
	Discount  int
	CreatedAt time.Time
}

// settings are a reseller's settings of its account, or of its sandbox.
type settings struct {
	lowBalanceThreshold *money.USDCents
	autoRenew           bool // of new services
}

func (s *Service) settingsOf(ctx context.Context, q db.Querier, accountID int64) (found settings, err error) {
	err = q.QueryRow(ctx, `SELECT auto_renew FROM reseller_settings WHERE account_id = $1`, accountID).Scan(&found.autoRenew)
	if errors.Is(err, db.ErrNoRows) {
		found.autoRenew, err = true, nil
	}
	if err != nil {
		return found, err
	}
	threshold, err := s.Wallet.LowBalance(ctx, q, accountID)
	if threshold > 0 {
		found.lowBalanceThreshold = &threshold
	}
	return found, err
}

func putSettings(ctx context.Context, tx *db.Tx, accountID int64, s settings) error {
	_, err := tx.Exec(ctx, `INSERT INTO reseller_settings (account_id, auto_renew, brand_name, brand_color, brand_support, brand_terms, brand_privacy, brand_imprint)
		VALUES ($1, $2, '', '', '', '', '', '') ON CONFLICT (account_id) DO UPDATE SET auto_renew = excluded.auto_renew`, accountID, s.autoRenew)
	return err
}

// playMoney is the initial balance of a sandbox: fifty thousand dollars of play money. A wallet may hold more, so that
// top-ups can be tried.
const playMoney money.USDCents = 5_000_000

// maxTier bounds the names of tiers, in bytes.
const maxTier = 40

// Appoint makes an account a reseller with the terms of a tier, or changes the terms of one. It also creates the
// sandbox, an account with play money.
func (s *Service) Appoint(ctx context.Context, accountID int64, tier string, discount int) (r Reseller, err error) {
	if tier == "" || len(tier) > maxTier || discount < 0 || discount > 10_000 {
		return r, fault.Validation.Wrapf("a tier has a name of at most %d bytes, and a discount from 0 to 100 percent", maxTier)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		sandbox, err := s.Accounts.EnsureSandbox(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if err := s.Wallet.OpenSandbox(ctx, tx, sandbox, playMoney); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO reseller_accounts (account_id, sandbox_id, tier, discount_bp, created_at)
			VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (account_id) DO UPDATE SET tier = excluded.tier, discount_bp = excluded.discount_bp`,
			accountID, sandbox, tier, discount, tx.Now)
		if err != nil {
			return err
		}
		r, err = lockReseller(ctx, tx, accountID)
		return err
	})
	return r, err
}

// Wholesale returns the discount of the reseller that owns the account, in either world, in hundredths of a percent;
// false for an account that is not a reseller's.
func (s *Service) Wholesale(ctx context.Context, q db.Querier, accountID int64) (int, bool, error) {
	r, err := of(ctx, q, accountID)
	if errors.Is(err, ErrNoReseller) {
		return 0, false, nil
	}
	return r.Discount, err == nil, err
}

// List lists all resellers, in the order in which they were appointed.
func (s *Service) List(ctx context.Context) ([]Reseller, error) {
	return db.Collect(ctx, s.DB, scanReseller, `SELECT `+resellerColumns+` FROM reseller_accounts ORDER BY created_at, account_id`)
}

const resellerColumns = `account_id, sandbox_id, tier, discount_bp, created_at`

func scanReseller(row db.Row) (r Reseller, err error) {
	err = row.Scan(&r.AccountID, &r.SandboxID, &r.Tier, &r.Discount, &r.CreatedAt)
	return r, err
}

func lockReseller(ctx context.Context, tx *db.Tx, accountID int64) (Reseller, error) {
	r, err := scanReseller(tx.QueryRow(ctx, `SELECT `+resellerColumns+` FROM reseller_accounts WHERE account_id = $1`+tx.ForUpdate(), accountID))
	if errors.Is(err, db.ErrNoRows) {
		err = ErrNoReseller
	}
	return r, err
}

// of returns the reseller whose keys work on the account, in either world.
func of(ctx context.Context, q db.Querier, accountID int64) (Reseller, error) {
	r, err := scanReseller(q.QueryRow(ctx, `SELECT `+resellerColumns+` FROM reseller_accounts
		WHERE account_id = $1 OR sandbox_id = $1`, accountID))
	if errors.Is(err, db.ErrNoRows) {
		err = ErrNoReseller
	}
	return r, err
}
