package app

import (
	"context"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/front/webui"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/switches"
)

// Each type here adapts one section to the interface that another section declares for what it needs.

// enabled tells the profile which sections there are: those of which this server has operations, unless they are switched
// off.
type enabled struct {
	switches *switches.Switches
	served   map[api.Section]bool // filled when the operations are mounted
}

// Enabled implements account.Modules.
func (m enabled) Enabled(s api.Section) bool { return m.served[s] && m.switches.Enabled(s) }

// holders adapts the accounts to the authorization server.
type holders struct{ accounts *account.Service }

// Holder implements oauth.Accounts.
func (h holders) Holder(ctx context.Context, q db.Querier, accountID int64) (oauth.Holder, error) {
	p, err := h.accounts.Profile(ctx, q, accountID)
	return oauth.Holder{Locale: p.Locale, Currency: p.Currency, Role: p.Role, TwoFactor: p.TwoFactor, Suspended: !p.Open()}, err
}

// SessionEnd implements oauth.Accounts.
func (h holders) SessionEnd(ctx context.Context, q db.Querier, accountID, sessionID int64, now time.Time) (time.Time, error) {
	return h.accounts.SessionEnd(ctx, q, accountID, sessionID, now)
}

// reviewers adapts the services to the reviews: what their authors have bought.
type reviewers struct{ services *services.Service }

// Plan implements reviews.Customers.
func (r reviewers) Plan(ctx context.Context, accountID int64) (string, error) {
	own, _, err := r.services.Hosting(ctx, accountID, 0)
	if err != nil || len(own) == 0 {
		return "", err
	}
	return own[0].Plan, nil
}

// recipients adapts the accounts to the notifications.
type recipients struct{ accounts *account.Service }

// Recipient implements notifications.Recipients.
func (r recipients) Recipient(ctx context.Context, q db.Querier, accountID int64) (notifications.Recipient, error) {
	p, err := r.accounts.Profile(ctx, q, accountID)
	if !p.EmailVerified {
		p.Name = "" // anybody may have entered this address: what they call themselves is no message to its owner
	}
	return notifications.Recipient{Email: p.Email, Name: p.Name, Locale: p.Locale, Open: p.Open() && !p.Sandbox}, err
}

// siteBase is what every section of a service's parts needs.
func (c *core) siteBase() site.Base {
	return site.Base{DB: c.db, Queue: c.queue, Services: c.services, Panels: c.panels, Outbox: c.outbox}
}

// resellers adapts the resellers to the commands of operators.
type resellers struct{ *reseller.Service }

// Appoint implements admin.Resellers.
func (r resellers) Appoint(ctx context.Context, accountID int64, tier string, discount int) (admin.Reseller, error) {
	appointed, err := r.Service.Appoint(ctx, accountID, tier, discount)
	return resellerOf(appointed), err
}

// List implements admin.Resellers.
func (r resellers) List(ctx context.Context) ([]admin.Reseller, error) {
	found, err := r.Service.List(ctx)
	all := make([]admin.Reseller, len(found))
	for i, f := range found {
		all[i] = resellerOf(f)
	}
	return all, err
}

func resellerOf(r reseller.Reseller) admin.Reseller {
	return admin.Reseller{
		AccountID: r.AccountID, SandboxID: r.SandboxID, Tier: r.Tier, DiscountBasisPoints: r.Discount, CreatedAt: r.CreatedAt,
	}
}

// Keys implements admin.Resellers.
func (r resellers) Keys(ctx context.Context, accountID int64) ([]admin.ResellerKey, error) {
	found, err := r.Service.Keys(ctx, accountID)
	all := make([]admin.ResellerKey, len(found))
	for i, k := range found {
		all[i] = resellerKeyOf(k)
	}
	return all, err
}

// CreateKey implements admin.Resellers.
func (r resellers) CreateKey(ctx context.Context, accountID int64, n admin.NewResellerKey) (admin.ResellerKey, string, error) {
	k, token, err := r.Service.CreateKey(ctx, accountID, reseller.NewKey(n))
	return resellerKeyOf(k), token, err
}

func resellerKeyOf(k reseller.Key) admin.ResellerKey {
	return admin.ResellerKey{
		ID: k.ID, Name: k.Name, Hint: k.Hint, Sandbox: k.Sandbox, ReadOnly: k.ReadOnly, Addresses: k.Addresses,
		CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt, LastAddress: k.LastAddress, RevokedAt: k.RevokedAt,
	}
}

// clients adapts the clients of resellers to the pages.
type clients struct{ *reseller.Service }

// Visit implements webui.Clients.
func (c clients) Visit(ctx context.Context, visit string) (webui.ClientVisit, error) {
	v, err := c.Service.Visit(ctx, visit)
	return webui.ClientVisit{
		ID: v.ID, AccountID: v.AccountID, ServiceID: v.ServiceID, Name: v.Name, Domain: v.Domain, Status: v.Status,
		Brand: v.Brand, Until: v.Until,
	}, err
}

// Link implements webui.Clients.
func (c clients) Link(ctx context.Context, link string) (brand.Brand, bool, error) {
	d, err := c.Service.Link(ctx, link)
	return d.Brand, d.Waits, err
}

// sellers adapts who resells to the pages.
type sellers struct{ *reseller.Service }

// Resells implements webui.Resellers.
func (s sellers) Resells(ctx context.Context, accountID int64) (bool, error) {
	resells, sandbox, err := s.World(ctx, s.DB, accountID)
	return resells && !sandbox, err
}
