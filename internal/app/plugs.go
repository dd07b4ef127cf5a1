package app

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"stead.dev/stead/internal/account"
	"stead.dev/stead/internal/admin"
	"stead.dev/stead/internal/catalog"
	"stead.dev/stead/internal/certificates"
	"stead.dev/stead/internal/dns"
	"stead.dev/stead/internal/hosting"
	"stead.dev/stead/internal/mail"
	"stead.dev/stead/internal/notifications"
	"stead.dev/stead/internal/oauth"
	"stead.dev/stead/internal/orders"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/switches"
	"stead.dev/stead/internal/reseller"
	"stead.dev/stead/internal/services"
	"stead.dev/stead/internal/site"
	"stead.dev/stead/internal/wallet"
	"stead.dev/stead/internal/webui"
)

// Each type here is one section as another asks for it in its own words.

// modules are the sections as the profile lists them: those of which this
// server has operations, unless they are switched off.
type modules struct {
	switches *switches.Switches
	served   map[api.Section]bool // filled when the operations are mounted
}

// Enabled implements account.Modules.
func (m modules) Enabled(s api.Section) bool { return m.served[s] && m.switches.Enabled(s) }

// holders are the accounts as the authorization server sees them.
type holders struct{ accounts *account.Service }

// Holder implements oauth.Accounts.
func (h holders) Holder(ctx context.Context, q db.Querier, accountID int64) (oauth.Holder, error) {
	p, err := h.accounts.Profile(ctx, q, accountID)
	return oauth.Holder{Locale: p.Locale, Currency: p.Currency, Admin: p.Admin, Suspended: !p.Open()}, err
}

// grants are the applications' tokens as the accounts see them. The
// authorization server needs the accounts, so it comes second.
type grants struct{ oauth *oauth.Service }

// EndAll implements account.Grants.
func (g *grants) EndAll(ctx context.Context, tx *db.Tx, accountID int64) error {
	return g.oauth.EndAll(ctx, tx, accountID)
}

// EndSession implements account.Grants.
func (g *grants) EndSession(ctx context.Context, tx *db.Tx, accountID, sessionID int64) error {
	return g.oauth.EndSession(ctx, tx, accountID, sessionID)
}

// EndOtherSessions implements account.Grants.
func (g *grants) EndOtherSessions(ctx context.Context, tx *db.Tx, accountID, sessionID int64) error {
	return g.oauth.EndOtherSessions(ctx, tx, accountID, sessionID)
}

// shelf is the catalog as the orders see it.
type shelf struct{ *catalog.Service }

// Offer implements orders.Catalog.
func (s shelf) Offer(ctx context.Context, q db.Querier, planID int64, months int) (orders.Offer, error) {
	o, err := s.Service.Offer(ctx, q, planID, months)
	if err != nil {
		return orders.Offer{}, err
	}
	limits, err := json.Marshal(o.Limits)
	return orders.Offer{
		PlanID: o.PlanID, PlanSlug: o.PlanSlug, ProductSlug: o.ProductSlug, PlanName: o.PlanName, ProductType: o.ProductType, PeriodMonths: o.PeriodMonths,
		Price: o.Price, FirstPeriodPrice: o.FirstPeriodPrice, Setup: o.Setup, Limits: limits,
		Available: o.Available, SoldOut: o.SoldOut,
	}, err
}

// front is the catalog as the shop front shows it.
type front struct{ catalog *catalog.Service }

// Shelf implements webui.Catalog.
func (f front) Shelf(ctx context.Context) ([]webui.Product, error) {
	shown, err := f.catalog.Shelf(ctx)
	products := make([]webui.Product, len(shown))
	for i, p := range shown {
		products[i] = webui.Product{Name: p.Name, Description: p.Description, Features: p.Features}
		for _, pl := range p.Plans {
			plan := webui.Plan{
				Name: pl.Name, Price: pl.Price.Display, Months: pl.PeriodMonths,
				DiskMB: pl.Limits.DiskMB, BandwidthGB: pl.Limits.BandwidthGB, Sites: pl.Limits.Sites,
			}
			if pl.FirstPeriod != nil {
				plan.FirstPrice = pl.FirstPeriod.Display
			}
			products[i].Plans = append(products[i].Plans, plan)
		}
	}
	return products, err
}

// hostings are the services as the pages show them.
type hostings struct{ services *services.Service }

// Hosting implements webui.Services.
func (h hostings) Hosting(ctx context.Context, accountID, below int64) ([]webui.Hosting, bool, error) {
	own, more, err := h.services.OwnHosting(ctx, accountID, below)
	all := make([]webui.Hosting, len(own))
	for i, o := range own {
		all[i] = hostingOf(o)
	}
	return all, more, err
}

// OneHosting implements webui.Services.
func (h hostings) OneHosting(ctx context.Context, accountID, id int64) (webui.Hosting, error) {
	o, err := h.services.OneOwnHosting(ctx, accountID, id)
	return hostingOf(o), err
}

func hostingOf(o services.Own) webui.Hosting {
	h := webui.Hosting{ID: o.ID, Name: o.Label, Domain: o.Domain, Status: string(o.Status)}
	if o.Label == "" {
		h.Name = o.Domain
	}
	return h
}

// payer is the wallet as the orders see it.
type payer struct{ wallet *wallet.Service }

func orderReference(id int64) wallet.Reference { return wallet.Reference{Type: "order", ID: id} }

// chargeOf is a charge as the wallet sees it.
func chargeOf(c orders.Charge, about wallet.Reference) wallet.Charge {
	return wallet.Charge{AccountID: c.AccountID, Amount: c.Amount, Reference: about, Description: c.Description, ClientRef: c.ClientRef}
}

// Charge implements orders.Payer.
func (p payer) Charge(ctx context.Context, tx *db.Tx, c orders.Charge) error {
	return p.wallet.Charge(ctx, tx, chargeOf(c, orderReference(c.OrderID)))
}

// Covers implements orders.Payer.
func (p payer) Covers(ctx context.Context, tx *db.Tx, accountID int64, amount money.USDCents) error {
	return p.wallet.Covers(ctx, tx, accountID, amount)
}

// Pay implements orders.Payer.
func (p payer) Pay(ctx context.Context, tx *db.Tx, c orders.Charge) error {
	return p.wallet.Pay(ctx, tx, chargeOf(c, orderReference(c.OrderID)))
}

// Capture implements orders.Payer.
func (p payer) Capture(ctx context.Context, tx *db.Tx, orderID int64) error {
	return p.wallet.Capture(ctx, tx, orderReference(orderID))
}

// Release implements orders.Payer.
func (p payer) Release(ctx context.Context, tx *db.Tx, orderID int64, description string) error {
	return p.wallet.Release(ctx, tx, orderReference(orderID), description)
}

// Refund implements orders.Payer.
func (p payer) Refund(ctx context.Context, tx *db.Tx, c orders.Charge) error {
	return p.wallet.Refund(ctx, tx, chargeOf(c, orderReference(c.OrderID)))
}

// GiveBack implements orders.Payer.
func (p payer) GiveBack(ctx context.Context, tx *db.Tx, creditNote int64, c orders.Charge) error {
	return p.wallet.Refund(ctx, tx, chargeOf(c, wallet.Reference{Type: "invoice", ID: creditNote}))
}

// billing is the orders as the services see them.
type billing struct{ *orders.Service }

// Sell implements services.Billing.
func (b billing) Sell(ctx context.Context, tx *db.Tx, sale services.Sale) (int64, error) {
	extras := make([]orders.Extra, len(sale.Extras))
	for i, e := range sale.Extras {
		extras[i] = orders.Extra(e)
	}
	return b.Service.Sell(ctx, tx, orders.Sale{
		AccountID: sale.AccountID, ServiceID: sale.ServiceID, Kind: sale.Kind, Title: sale.Title, Domain: sale.Domain, PlanID: sale.PlanID,
		PeriodMonths: sale.PeriodMonths, Price: sale.Price, Discount: sale.Discount, Credit: sale.Credit, Keyed: sale.Keyed,
		ClientRef: sale.ClientRef, Extras: extras,
	})
}

// Hold implements services.Billing.
func (b billing) Hold(ctx context.Context, tx *db.Tx, sale services.Sale) (int64, error) {
	p := orders.Purchase{
		AccountID: sale.AccountID, Kind: sale.Kind, Title: sale.Title, ServiceID: sale.ServiceID, PeriodMonths: sale.PeriodMonths,
		Price: sale.Price, Keyed: sale.Keyed, ClientRef: sale.ClientRef,
	}
	if sale.Domain != nil {
		p.Domain = *sale.Domain
	}
	return b.Begin(ctx, tx, p)
}

// tariffs are the catalog as the services see it.
type tariffs struct{ *catalog.Service }

// Offer implements services.Plans.
func (t tariffs) Offer(ctx context.Context, q db.Querier, planID int64, months int) (services.Offer, error) {
	o, err := t.Service.Offer(ctx, q, planID, months)
	if err != nil {
		return services.Offer{}, err
	}
	return tariffOf(o)
}

// Changes implements services.Plans.
func (t tariffs) Changes(ctx context.Context, q db.Querier, planID int64, months int) ([]services.Offer, error) {
	found, err := t.Service.Changes(ctx, q, planID, months)
	if err != nil {
		return nil, err
	}
	offers := make([]services.Offer, len(found))
	for i, o := range found {
		if offers[i], err = tariffOf(o); err != nil {
			return nil, err
		}
	}
	return offers, nil
}

// Terms implements services.Plans.
func (t tariffs) Terms(ctx context.Context, q db.Querier, planID int64) (services.Terms, error) {
	own, err := t.Service.Terms(ctx, q, planID)
	terms := services.DefaultTerms
	for _, x := range []struct {
		own *int
		to  *int
	}{
		{own.RenewBefore, &terms.RenewBefore}, {own.Grace, &terms.Grace}, {own.Suspended, &terms.Suspended}, {own.Kept, &terms.Kept},
	} {
		if x.own != nil {
			*x.to = *x.own
		}
	}
	return terms, err
}

func tariffOf(o catalog.Offer) (services.Offer, error) {
	limits, err := json.Marshal(o.Limits)
	return services.Offer{
		PlanID: o.PlanID, PlanSlug: o.PlanSlug, PlanName: o.PlanName, PeriodMonths: o.PeriodMonths, Price: o.Price,
		Limits: limits, Available: o.Available,
	}, err
}

// reservations are the services as the orders see them.
type reservations struct{ *services.Service }

// Reserve implements orders.Services.
func (r reservations) Reserve(ctx context.Context, tx *db.Tx, n orders.Reservation) (int64, error) {
	return r.Service.Reserve(ctx, tx, services.Reservation(n))
}

// recipients are the accounts as the notifications see them.
type recipients struct{ accounts *account.Service }

// Recipient implements notifications.Recipients.
func (r recipients) Recipient(ctx context.Context, q db.Querier, accountID int64) (notifications.Recipient, error) {
	p, err := r.accounts.Profile(ctx, q, accountID)
	return notifications.Recipient{Email: p.Email, Name: p.Name, Locale: p.Locale, Open: p.Open() && !p.Sandbox}, err
}

// balances are the wallet as the services see it.
type balances struct{ wallet *wallet.Service }

// Balance implements services.Balances.
func (b balances) Balance(ctx context.Context, q db.Querier, accountID int64) (money.USDCents, error) {
	balance, err := b.wallet.Balance(ctx, q, accountID)
	return balance.Spendable, err
}

// hosted are the services as the sections see them that manage what they consist of.
type hosted struct{ *services.Service }

// Site implements site.Services.
func (h hosted) Site(ctx context.Context, q db.Querier, accountID, serviceID int64) (site.Site, error) {
	found, err := h.Hosted(ctx, q, accountID, serviceID)
	return siteOf(accountID, serviceID, found), err
}

// LockSite implements site.Services.
func (h hosted) LockSite(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (site.Site, error) {
	found, err := h.LockHosted(ctx, tx, accountID, serviceID)
	return siteOf(accountID, serviceID, found), err
}

func siteOf(accountID, serviceID int64, s services.Hosted) site.Site {
	return site.Site{
		AccountID: accountID, ServiceID: serviceID, Panel: s.PanelName, Ref: s.Ref, Username: s.Username, Status: string(s.Status),
		Domain: s.Domain, Limits: s.Limits, IPv4: s.IPv4, IPv6: s.IPv6, Sandbox: s.Sandbox,
	}
}

// hostedDomains are the domains of services as their certificates see them.
type hostedDomains struct{ *hosting.Service }

// Hosted implements certificates.Domains.
func (h hostedDomains) Hosted(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]certificates.Domain, error) {
	found, err := h.Service.Hosted(ctx, q, accountID, serviceID)
	all := make([]certificates.Domain, len(found))
	for i, d := range found {
		all[i] = certificates.Domain{
			ID: d.ID, Name: d.Name, Served: d.Served, Elsewhere: d.Pointing == hosting.NotPointed, ForceHTTPS: d.ForceHTTPS, CreatedAt: d.CreatedAt,
		}
	}
	return all, err
}

// proofs are the zones as certificates see them.
type proofs struct{ *dns.Service }

// SetTexts implements certificates.Zones.
func (p proofs) SetTexts(ctx context.Context, tx *db.Tx, accountID, serviceID int64, owner string, texts map[string][]string) error {
	var records []dns.Record
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, text := range texts[name] {
			records = append(records, dns.Record{Name: name, Type: dns.TXT, Value: text, TTL: 60})
		}
	}
	return p.SetSystem(ctx, tx, accountID, serviceID, owner, records)
}

// Placed implements certificates.Zones.
func (p proofs) Placed(ctx context.Context, q db.Querier, serviceID int64, owner string) (bool, error) {
	placed, err := p.Service.Placed(ctx, q, serviceID, owner)
	return !slices.Contains(placed, false), err
}

// zoneDomains are the domains of services as their zones see them.
type zoneDomains struct{ *hosting.Service }

// Names implements dns.Domains.
func (z zoneDomains) Names(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]string, error) {
	found, err := z.Hosted(ctx, q, accountID, serviceID)
	var all []string
	for _, d := range found {
		if d.Served {
			all = append(all, d.Name)
		}
	}
	return all, err
}

// mailDomains are the domains of services as their mailboxes see them.
type mailDomains struct{ *hosting.Service }

// MailDomains implements mail.Domains.
func (m mailDomains) MailDomains(ctx context.Context, q db.Querier, accountID, serviceID int64) ([]mail.Domain, error) {
	found, err := m.Hosted(ctx, q, accountID, serviceID)
	var all []mail.Domain
	for _, d := range found {
		if d.Served {
			all = append(all, mail.Domain{ID: d.ID, Name: d.Name})
		}
	}
	return all, err
}

// mailZones are the zones as mailboxes see them.
type mailZones struct{ *dns.Service }

// SetRecords implements mail.Zones.
func (m mailZones) SetRecords(ctx context.Context, tx *db.Tx, accountID, serviceID int64, records []mail.Record) error {
	all := make([]dns.Record, len(records))
	for i, r := range records {
		all[i] = dns.Record{Name: r.Name, Type: dns.Type(r.Type), Value: r.Value}
		switch all[i].Type {
		case dns.MX:
			all[i].Priority = &r.Priority
		case dns.SRV:
			weight := 1
			all[i].Priority, all[i].Weight, all[i].Port = &r.Priority, &weight, &r.Port
		}
	}
	return m.SetSystem(ctx, tx, accountID, serviceID, "mail", all)
}

// resellers are the reseller front as operators see it.
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

// clients are the clients of resellers as the pages see them.
type clients struct{ *reseller.Service }

// Visit implements webui.Clients.
func (c clients) Visit(ctx context.Context, visit string) (webui.ClientVisit, error) {
	v, err := c.Service.Visit(ctx, visit)
	return webui.ClientVisit(v), err
}

// keys are those of resellers as the pages see them.
type keys struct{ *reseller.Service }

// Resells implements webui.Keys.
func (k keys) Resells(ctx context.Context, accountID int64) (bool, error) {
	resells, sandbox, err := k.World(ctx, k.DB, accountID)
	return resells && !sandbox, err
}

// Keys implements webui.Keys.
func (k keys) Keys(ctx context.Context, accountID int64) ([]webui.Key, error) {
	all, err := k.Service.Keys(ctx, accountID)
	var there []webui.Key
	for _, one := range all {
		if one.RevokedAt == nil {
			there = append(there, webui.Key{
				ID: one.ID, Hint: one.Hint, CreatedAt: one.CreatedAt, LastUsedAt: one.LastUsedAt,
				NewKey: webui.NewKey{Name: one.Name, Sandbox: one.Sandbox, ReadOnly: one.ReadOnly, Addresses: one.Addresses},
			})
		}
	}
	return there, err
}

// CreateKey implements webui.Keys.
func (k keys) CreateKey(ctx context.Context, accountID int64, n webui.NewKey) (string, error) {
	_, token, err := k.Service.CreateKey(ctx, accountID, reseller.NewKey(n))
	return token, err
}

// RevokeKey implements webui.Keys.
func (k keys) RevokeKey(ctx context.Context, accountID, id int64) error {
	return k.RevokeOwnKey(ctx, accountID, id)
}
