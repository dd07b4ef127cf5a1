package reseller

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// meWire is the reseller and the key of the request (specification, "Reseller": me).
type meWire struct {
	ID                  int64        `json:"id" doc:"The account; a sandbox key's is the sandbox's own"`
	Email               string       `json:"email"`
	Name                string       `json:"name"`
	Locale              string       `json:"locale" enum:"uz,ru,en"`
	Tier                string       `json:"tier"`
	DiscountBasisPoints int          `json:"discount_basis_points" doc:"What wholesale is below retail, in hundredths of a percent"`
	LowBalanceThreshold *money.Money `json:"low_balance_threshold" doc:"Below it, the reseller is told"`
	AutoRenew           bool         `json:"auto_renew" doc:"Of services that do not say"`
	Sandbox             bool         `json:"sandbox"`
	Limits              limitsWire   `json:"limits"`
	Key                 *keyWire     `json:"key"`
	CreatedAt           time.Time    `json:"created_at"`
}

// limitsWire are the limits of a reseller.
type limitsWire struct {
	RequestsPerMinute     *int `json:"requests_per_minute" doc:"Of each key; null: no bound"`
	DomainChecksPerMinute *int `json:"domain_checks_per_minute" doc:"Of each key; null: no bound"`
	Keys                  int  `json:"keys" doc:"That are not revoked"`
	Webhooks              int  `json:"webhooks" doc:"Addresses that are told of events"`
}

func wireLimits(l Limits) limitsWire {
	w := limitsWire{Keys: maxKeys, Webhooks: l.Webhooks}
	if l.RequestsPerMinute > 0 {
		w.RequestsPerMinute = &l.RequestsPerMinute
	}
	if l.DomainChecksPerMinute > 0 {
		w.DomainChecksPerMinute = &l.DomainChecksPerMinute
	}
	return w
}

// keyWire is a key without its secret.
type keyWire struct {
	ID         int64          `json:"id"`
	Name       string         `json:"name"`
	Hint       string         `json:"hint" doc:"The end of the key"`
	ReadOnly   bool           `json:"read_only"`
	Addresses  []netip.Prefix `json:"addresses" doc:"Networks that it may be used from; empty is all"`
	LastUsedAt *time.Time     `json:"last_used_at" doc:"To the minute"`
	CreatedAt  time.Time      `json:"created_at"`
}

func wireKey(k Key) keyWire {
	return keyWire{ID: k.ID, Name: k.Name, Hint: k.Hint, ReadOnly: k.ReadOnly, Addresses: k.Addresses, LastUsedAt: k.LastUsedAt, CreatedAt: k.CreatedAt}
}

type updateIn struct {
	Body struct {
		LowBalanceThreshold *money.USDCents `json:"low_balance_threshold_usd_cents,omitempty" minimum:"0" maximum:"1000000000" doc:"Zero switches it off"`
		AutoRenew           *bool           `json:"auto_renew,omitempty"`
		Locale              *string         `json:"locale,omitempty" enum:"uz,ru,en"`
	}
}

// Operations are the front's own; see Resell for the others.
func (s *Service) Operations() []api.Route {
	return slices.Concat(s.meOperations(), s.brandOperations(), s.keyOperations(), s.shelfOperations(), s.clientOperations(), s.trailOperations(), s.serviceOperations(), s.endOperations(), s.linkOperations())
}

func (s *Service) meOperations() []api.Route {
	return []api.Route{
		// Specification, section "Reseller".
		api.Operation[struct{}, meWire]{
			ID: "reseller.me", Method: http.MethodGet, Path: "/api/v1/reseller/me", Section: api.Reseller, Auth: api.Key,
			Description: "Your tier and discount, whether the key is of the sandbox or reads only, and the limits that apply: requests a " +
				"minute, keys, webhooks.",
			Summary: "See your terms, your limits and the key that you use",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*meWire, error) {
				return s.me(ctx, s.DB, p)
			},
		},
		// Specification, section "Reseller".
		api.Operation[updateIn, meWire]{
			ID: "reseller.me.update", Method: http.MethodPatch, Path: "/api/v1/reseller/me", Section: api.Reseller, Auth: api.Key,
			Description: "Members that are left out keep their values. `auto_renew` is what services get that you order without naming it;" +
				" those that exist keep theirs. The threshold is that of `PATCH /wallet`.",
			Example: `{"auto_renew": false, "low_balance_threshold_usd_cents": 5000}`,
			Summary: "Change when you are told of a low balance, whether services renew by themselves, and your language",
			Handle:  s.updateOperation,
		},
		api.Operation[page.Params, page.List[keyWire]]{
			ID: "reseller.keys.list", Method: http.MethodGet, Path: "/api/v1/reseller/keys", Section: api.Reseller, Auth: api.Key,
			Description: "Of the world that is asked: a sandbox key sees those of the sandbox, a live key the live ones. Keys are made and " +
				"revoked in the panel, by who has signed in.",
			Summary: "List your keys that are not revoked, the newest first",
			Handle:  s.keysOperation,
		},
	}
}

// keysOperation returns one page: a reseller has maxKeys at most.
func (s *Service) keysOperation(ctx context.Context, p auth.Principal, in *page.Params) (*page.List[keyWire], error) {
	r, err := of(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	keys, err := listKeys(ctx, s.DB, r.AccountID)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k Key) bool { return k.RevokedAt != nil || k.Sandbox != (p.AccountID == r.SandboxID) })
	return page.Slice(*in, keys, wireKey), nil
}

func (s *Service) me(ctx context.Context, q db.Querier, p auth.Principal) (*meWire, error) {
	r, err := of(ctx, q, p.AccountID)
	if err != nil {
		return nil, err
	}
	owner, err := s.Accounts.Profile(ctx, q, r.AccountID)
	if err != nil {
		return nil, err
	}
	own, err := s.Accounts.Profile(ctx, q, p.AccountID) // of the sandbox, when the key is one's
	if err != nil {
		return nil, err
	}
	chosen, err := s.settingsOf(ctx, q, p.AccountID)
	if err != nil {
		return nil, err
	}
	w := &meWire{
		ID: p.AccountID, Email: owner.Email, Name: owner.Name, Locale: own.Locale, Tier: r.Tier, DiscountBasisPoints: r.Discount,
		AutoRenew: chosen.autoRenew, Sandbox: p.AccountID == r.SandboxID, CreatedAt: r.CreatedAt, Limits: wireLimits(s.Limits),
	}
	if p.KeyID != 0 {
		k, err := keyByID(ctx, q, p.KeyID)
		if err != nil {
			return nil, err
		}
		shown := wireKey(k)
		w.Key = &shown
	}
	if t := chosen.lowBalanceThreshold; t != nil {
		shown := money.Wire(ctx, *t)
		w.LowBalanceThreshold = &shown
	}
	return w, nil
}

func (s *Service) updateOperation(ctx context.Context, p auth.Principal, in *updateIn) (*meWire, error) {
	var w *meWire
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// The account first, so that changes of one reseller wait for each other.
		if _, err := s.Accounts.UpdateIn(ctx, tx, p.AccountID, account.Update{Locale: in.Body.Locale}); err != nil {
			return err
		}
		chosen, err := s.settingsOf(ctx, tx, p.AccountID)
		if err != nil {
			return err
		}
		if b := in.Body.LowBalanceThreshold; b != nil {
			if err := s.Wallet.SetLowBalance(ctx, tx, p.AccountID, *b); err != nil {
				return err
			}
		}
		if in.Body.AutoRenew != nil {
			chosen.autoRenew = *in.Body.AutoRenew
		}
		if err := putSettings(ctx, tx, p.AccountID, chosen); err != nil {
			return err
		}
		w, err = s.me(ctx, tx, p)
		return err
	})
	return w, err
}
