package admin

import (
	"context"
	"net/netip"
	"time"
)

// Resellers manages the reseller accounts for operators.
type Resellers interface {
	// Appoint makes an account a reseller, or changes the terms of one. The discount is in hundredths of a percent.
	Appoint(ctx context.Context, accountID int64, tier string, discount int) (Reseller, error)
	List(ctx context.Context) ([]Reseller, error)
	Keys(ctx context.Context, accountID int64) ([]ResellerKey, error)
	// CreateKey returns the key's secret, which is never returned again.
	CreateKey(ctx context.Context, accountID int64, n NewResellerKey) (ResellerKey, string, error)
	RevokeKey(ctx context.Context, id int64) error
}

// Reseller is an account that resells.
type Reseller struct {
	AccountID           int64     `json:"account_id"`
	Email               string    `json:"email"`
	SandboxID           int64     `json:"sandbox_id"`
	Tier                string    `json:"tier"`
	DiscountBasisPoints int       `json:"discount_basis_points"`
	CreatedAt           time.Time `json:"created_at"`
}

// ResellerKey is a key of the reseller API without its secret.
type ResellerKey struct {
	ID          int64          `json:"id"`
	Name        string         `json:"name"`
	Hint        string         `json:"hint"`
	Sandbox     bool           `json:"sandbox"`
	ReadOnly    bool           `json:"read_only"`
	Addresses   []netip.Prefix `json:"addresses"`
	CreatedAt   time.Time      `json:"created_at"`
	LastUsedAt  *time.Time     `json:"last_used_at"`
	LastAddress *string        `json:"last_address"`
	RevokedAt   *time.Time     `json:"revoked_at"`
}

// NewResellerKey is the input for a key.
type NewResellerKey struct {
	Name              string
	Sandbox, ReadOnly bool
	Addresses         []netip.Prefix
}

// AppointReseller makes an account a reseller, or changes the terms of one.
func (a *Admin) AppointReseller(ctx context.Context, who, tier string, discount int) (Reseller, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return Reseller{}, err
	}
	return a.named(ctx)(a.Resellers.Appoint(a.change(ctx, "reseller.appoint", "", rowOf("reseller", "reseller_accounts", "tier, discount_bp", "account_id", u.ID).of(u.ID)), u.ID, tier, discount))
}

// ListResellers lists all resellers, the oldest first.
func (a *Admin) ListResellers(ctx context.Context) ([]Reseller, error) {
	found, err := a.Resellers.List(ctx)
	for i := range found {
		if err == nil {
			found[i], err = a.named(ctx)(found[i], nil)
		}
	}
	return found, err
}

// named adds the owner's address to a reseller.
func (a *Admin) named(ctx context.Context) func(Reseller, error) (Reseller, error) {
	return func(r Reseller, err error) (Reseller, error) {
		if err != nil {
			return r, err
		}
		p, err := a.Accounts.Profile(ctx, a.DB, r.AccountID)
		r.Email = p.Email
		return r, err
	}
}

// ResellerKeys lists the keys of a reseller, the newest first, including revoked ones.
func (a *Admin) ResellerKeys(ctx context.Context, who string) ([]ResellerKey, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return nil, err
	}
	return a.Resellers.Keys(ctx, u.ID)
}

// AddResellerKey creates a key of a reseller and returns its secret, which is never returned again.
func (a *Admin) AddResellerKey(ctx context.Context, who string, n NewResellerKey) (ResellerKey, string, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return ResellerKey{}, "", err
	}
	return a.Resellers.CreateKey(a.change(ctx, "reseller.key_create", "", newRowOf("reseller_key", "reseller_keys", keyColumns).of(u.ID)), u.ID, n)
}

// RevokeResellerKey revokes a key from the next request on.
func (a *Admin) RevokeResellerKey(ctx context.Context, id int64) error {
	return a.Resellers.RevokeKey(a.change(ctx, "reseller.key_revoke", "", rowOf("reseller_key", "reseller_keys", "account_id, "+keyColumns, "id", id)), id)
}

const keyColumns = "hint, sandbox, read_only, addresses, revoked_at"
