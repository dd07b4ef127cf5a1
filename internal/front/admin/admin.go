// Package admin has the use cases of `stead admin`: what an operator does to an installation. It works beside running
// servers, on their database: its changes reach them by signals within a second, and work of a hosting panel becomes a
// job for them.
//
// It owns no tables. Changes go through the sections, with their rules; lists over all customers are read here.
package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/addons"
	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/commerce/clocks"
	"stead.dev/stead/internal/commerce/coupons"
	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/wallet"
	"stead.dev/stead/internal/content/articles"
	"stead.dev/stead/internal/content/currencies"
	"stead.dev/stead/internal/content/reviews"
	"stead.dev/stead/internal/content/status"
	"stead.dev/stead/internal/content/templates"
	"stead.dev/stead/internal/hosting/moves"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/audit"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/monitoring/sla"
	"stead.dev/stead/internal/names/domains"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/switches"
)

// Sections are the administered sections; all but NodesURL are required.
type Sections struct {
	DB           *db.DB
	Accounts     *account.Service
	Applications *oauth.Service
	Catalog      *catalog.Service
	Wallet       *wallet.Service
	Services     *services.Service
	Switches     *switches.Switches
	Nodes        *nodes.Service
	Moves        *moves.Service
	Domains      *domains.Service
	Zones        Zones
	Resellers    Resellers
	Clocks       *clocks.Service
	Addons       *addons.Service
	Coupons      *coupons.Service
	Articles     *articles.Service
	Currencies   *currencies.Service
	Refunds      Refunds
	Taxes        sale.Taxes
	Takeovers    Takeovers
	Status       *status.Service
	Reviews      *reviews.Service
	Templates    *templates.Service
	SLA          *sla.Service
	Audit        *audit.Service
	// Inbox takes mails to tickets; it is set after the sections, which record by Admin, are made.
	Inbox Inbox
	// Hosting is what an import of accounts works with; it is set after the sections are made.
	Hosting Hosting
	// Agents are asked to upgrade; it is set after the sections are made.
	Agents       Agents
	Provisioning Provisioning
	Jobs         *jobs.Queue
	Clock        clock.Clock
	// BaseURL is where the site is.
	BaseURL string
	// Settings are those of the process.
	Settings []config.Description
	// NodesURL is where machines join; empty when it is not configured.
	NodesURL string
	// Unfulfillable lists the plans on sale that promise what no server has.
	Unfulfillable func(ctx context.Context, q db.Querier) ([]catalog.Unfulfillable, error)
}

// Admin is the use cases.
type Admin struct{ Sections }

// Zones are what the name servers answer with; *dns.Service has them.
type Zones interface {
	// Renumber makes the secondaries take all zones again.
	Renumber(ctx context.Context, tx *db.Tx) error
}

// New makes the use cases.
func New(s Sections) *Admin { return &Admin{s} }

// User is an account as operators see it.
type User struct {
	ID            int64      `json:"id"`
	Email         string     `json:"email"`
	EmailVerified bool       `json:"email_verified"`
	Name          string     `json:"name"`
	Locale        string     `json:"locale"`
	Currency      string     `json:"currency"`
	Admin         bool       `json:"admin"`
	Role          auth.Role  `json:"role"`
	TwoFactor     bool       `json:"two_factor"`
	SuspendedAt   *time.Time `json:"suspended_at"`
	SuspendReason string     `json:"suspend_reason"`
	ClosedAt      *time.Time `json:"closed_at"`
	CreatedAt     time.Time  `json:"created_at"`
}

func userOf(p account.Profile) User {
	return User{
		ID: p.ID, Email: p.Email, EmailVerified: p.EmailVerified, Name: p.Name, Locale: p.Locale, Currency: p.Currency,
		Admin: p.Role != "", Role: p.Role, TwoFactor: p.TwoFactor, SuspendedAt: p.SuspendedAt, SuspendReason: p.SuspendReason,
		ClosedAt: p.ClosedAt, CreatedAt: p.CreatedAt,
	}
}

// passwordBytes is the strength of generated passwords.
const passwordBytes = 12

// CreateUser creates an account. Without a password it generates one and returns it this once.
func (a *Admin) CreateUser(ctx context.Context, n account.NewAccount) (u User, generated string, err error) {
	if n.Password == "" {
		generated = secret.Token("", passwordBytes)
		n.Password = generated
	}
	if n.Name == "" {
		n.Name, _, _ = strings.Cut(n.Email, "@")
	}
	// The operator vouches for the address.
	n.Verified = true
	ctx = a.change(ctx, "account.create", "", newRowOf("account", "account_users", "role, locale, currency"))
	p, err := a.Accounts.Create(ctx, n)
	return userOf(p), generated, err
}

// ErrNoOwner refuses to make the account of a customer the first administrator's.
var ErrNoOwner = errors.New("the account exists and is no owner's: stead admin users grant-admin makes it one")

// FirstAdministrator makes the account of an owner, where there is none yet, and a link by which its password is set.
func (a *Admin) FirstAdministrator(ctx context.Context, email string) (link string, err error) {
	u, err := a.User(ctx, email)
	if errors.Is(err, fault.NotFound) {
		u, _, err = a.CreateUser(ctx, account.NewAccount{Email: email, Role: auth.Owner})
	}
	if err != nil {
		return "", err
	}
	if u.Role != auth.Owner {
		return "", ErrNoOwner
	}
	return a.Accounts.PasswordLink(a.change(ctx, "account.password_link", "", subject{kind: "account", key: strconv.FormatInt(u.ID, 10), account: u.ID}), u.ID)
}

// Users reads a page of all accounts.
func (a *Admin) Users(ctx context.Context, p page.Params) (*page.List[User], error) {
	found, err := a.Accounts.List(ctx, p)
	if err != nil {
		return nil, err
	}
	users := make([]User, len(found.Data))
	for i, profile := range found.Data {
		users[i] = userOf(profile)
	}
	return &page.List[User]{Data: users, Meta: found.Meta}, nil
}

// User finds an account by id or mail address.
func (a *Admin) User(ctx context.Context, who string) (User, error) {
	p, err := a.Accounts.Find(ctx, who)
	return userOf(p), err
}

// SetPassword sets the account's password, or generates and returns one, and ends its sessions and tokens.
func (a *Admin) SetPassword(ctx context.Context, who, password string) (u User, generated string, err error) {
	if u, err = a.User(ctx, who); err != nil {
		return u, "", err
	}
	if password == "" {
		generated = secret.Token("", passwordBytes)
		password = generated
	}
	if err := mayChangeStaff(ctx, u); err != nil {
		return u, "", err
	}
	return u, generated, a.Accounts.SetPassword(a.change(ctx, "account.set_password", "", accountSubject(u.ID)), u.ID, password)
}

// SetRole makes an account one of staff, changes its role, or with an empty one makes it a customer's.
func (a *Admin) SetRole(ctx context.Context, who string, role auth.Role) (User, error) {
	return a.changeUser(ctx, who, "account.set_role", "", func(ctx context.Context, id int64) error { return a.Accounts.SetRole(ctx, id, role) })
}

// Staff lists the accounts of staff in the order they were made.
func (a *Admin) Staff(ctx context.Context) ([]User, error) {
	found, err := a.Accounts.Staff(ctx)
	all := make([]User, len(found))
	for i, p := range found {
		all[i] = userOf(p)
	}
	return all, err
}

// SuspendUser ends the account's sessions and refuses its tokens.
func (a *Admin) SuspendUser(ctx context.Context, who, reason string) (User, error) {
	return a.changeUser(ctx, who, "account.suspend", reason, func(ctx context.Context, id int64) error { return a.Accounts.Suspend(ctx, id, reason) })
}

// UnsuspendUser opens the account again.
func (a *Admin) UnsuspendUser(ctx context.Context, who string) (User, error) {
	return a.changeUser(ctx, who, "account.unsuspend", "", a.Accounts.Unsuspend)
}

// ResetTwoFactor switches the second factor off for an owner who lost it.
func (a *Admin) ResetTwoFactor(ctx context.Context, who string) (User, error) {
	u, err := a.User(ctx, who)
	if err == nil {
		err = mayChangeStaff(ctx, u)
	}
	if err != nil {
		return u, err
	}
	if err := a.Accounts.ResetTwoFactor(a.change(ctx, "account.reset_two_factor", "", twoFactorOf(u.ID)), u.ID); err != nil {
		return u, err
	}
	return a.User(ctx, strconv.FormatInt(u.ID, 10))
}

// CloseUser removes personal data from an account, for good. It refuses an account with live services or domains, and
// one with money or a debt, unless leaveMoney is set.
func (a *Admin) CloseUser(ctx context.Context, who string, leaveMoney bool) (User, error) {
	b, err := a.Balance(ctx, who)
	if err != nil {
		return User{}, err
	}
	if !leaveMoney && (b.Balance != 0 || b.Debt != 0) {
		return User{}, fault.InUse.Wrapf("its wallet has %v, and a debt of %v", b.Balance, b.Debt)
	}
	return a.changeUser(ctx, who, "account.close", "", a.Accounts.Close)
}

func (a *Admin) changeUser(ctx context.Context, who, action, reason string, f func(ctx context.Context, id int64) error) (User, error) {
	u, err := a.User(ctx, who)
	if err == nil {
		err = mayChangeStaff(ctx, u)
	}
	if err != nil {
		return u, err
	}
	if err := f(a.change(ctx, action, reason, accountSubject(u.ID)), u.ID); err != nil {
		return u, err
	}
	return a.User(ctx, strconv.FormatInt(u.ID, 10))
}

// Balance is the state of an account's wallet.
type Balance struct {
	Account int64          `json:"account"`
	Balance money.USDCents `json:"balance_usd_cents"`
	Held    money.USDCents `json:"held_usd_cents"`
	Debt    money.USDCents `json:"debt_usd_cents"`
}

// Balance reads an account's wallet.
func (a *Admin) Balance(ctx context.Context, who string) (Balance, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return Balance{}, err
	}
	return a.balanceIn(ctx, a.DB, u.ID)
}

// Credit credits an account. Its owner sees the reason.
func (a *Admin) Credit(ctx context.Context, who string, amount money.USDCents, reason string) (Balance, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return Balance{}, err
	}
	return a.moveMoney(ctx, func(ctx context.Context, tx *db.Tx) (Balance, error) {
		return a.CreditIn(ctx, tx, u.ID, amount, reason)
	})
}

// moveMoney runs f in a transaction of its own.
func (a *Admin) moveMoney(ctx context.Context, f func(ctx context.Context, tx *db.Tx) (Balance, error)) (b Balance, err error) {
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		b, err = f(ctx, tx)
		return err
	})
	return b, err
}

// CreditIn is Credit in a transaction that is open.
func (a *Admin) CreditIn(ctx context.Context, tx *db.Tx, accountID int64, amount money.USDCents, reason string) (Balance, error) {
	if strings.TrimSpace(reason) == "" {
		return Balance{}, fault.Validation.Wrapf("a credit needs a reason; its owner sees it")
	}
	if amount <= 0 {
		return Balance{}, fault.Validation.Wrapf("a credit is more than nothing")
	}
	if _, err := a.Accounts.Profile(ctx, tx, accountID); err != nil {
		return Balance{}, err
	}
	err := a.record(ctx, tx, "wallet.credit", reason, a.walletOf(accountID), func() error {
		return a.Wallet.Credit(ctx, tx, wallet.Credit{
			AccountID: accountID, Amount: amount, Type: wallet.TypeAdjustment, Reason: reason, Actor: actorName(ctx),
		})
	})
	if errors.Is(err, wallet.ErrBadAmount) {
		err = fault.Validation.Wrap(err)
	}
	if err != nil {
		return Balance{}, err
	}
	return a.balanceIn(ctx, tx, accountID)
}

func (a *Admin) balanceIn(ctx context.Context, q db.Querier, accountID int64) (Balance, error) {
	b, err := a.Wallet.Balance(ctx, q, accountID)
	return Balance{Account: accountID, Balance: b.Spendable, Held: b.Held, Debt: b.Debt}, err
}

// actorName names who acts, for the wallet's records.
func actorName(ctx context.Context) string {
	actor := auth.ActorOf(ctx)
	if actor.AccountID != 0 {
		return "staff " + strconv.FormatInt(actor.AccountID, 10)
	}
	return actor.Name
}

// TakeBackCredit undoes a credit that was given by mistake, named by its transaction. Its owner sees the reason.
func (a *Admin) TakeBackCredit(ctx context.Context, who string, transaction int64, reason string) (Balance, error) {
	u, err := a.User(ctx, who)
	if err != nil {
		return Balance{}, err
	}
	return a.moveMoney(ctx, func(ctx context.Context, tx *db.Tx) (Balance, error) {
		return a.TakeBackCreditIn(ctx, tx, u.ID, transaction, reason)
	})
}

// TakeBackCreditIn is TakeBackCredit in a transaction that is open.
func (a *Admin) TakeBackCreditIn(ctx context.Context, tx *db.Tx, accountID, transaction int64, reason string) (Balance, error) {
	if strings.TrimSpace(reason) == "" {
		return Balance{}, fault.Validation.Wrapf("taking back a credit needs a reason; its owner sees it")
	}
	err := a.record(ctx, tx, "wallet.take_back", reason, a.walletOf(accountID), func() error {
		return a.Wallet.TakeBack(ctx, tx, accountID, transaction, reason, actorName(ctx))
	})
	if err != nil {
		return Balance{}, err
	}
	return a.balanceIn(ctx, tx, accountID)
}

// ConfirmTopup credits a top-up by bank transfer whose money has arrived. received must equal the amount to pay.
func (a *Admin) ConfirmTopup(ctx context.Context, topup int64, received money.USDCents) error {
	ctx = a.change(ctx, "topup.confirm", "", rowOf("topup", "wallet_topups", "account_id, gateway, amount, fee, status, completed_at", "id", topup))
	return a.Wallet.ConfirmBankTransfer(ctx, topup, received)
}

// Application is an OAuth application as operators see it.
type Application struct {
	ID           int64     `json:"id"`
	ClientID     string    `json:"client_id"`
	OwnerID      int64     `json:"owner_id"`
	Name         string    `json:"name"`
	Type         string    `json:"type"`
	RedirectURIs []string  `json:"redirect_uris"`
	Scopes       []string  `json:"scopes"`
	Sandbox      bool      `json:"sandbox"`
	FirstParty   bool      `json:"first_party"`
	Disabled     bool      `json:"disabled"`
	CreatedAt    time.Time `json:"created_at"`
	// ClientSecret is returned when it was just created, and never again.
	ClientSecret string `json:"client_secret,omitempty"`
}

func applicationOf(app oauth.Application) Application {
	return Application{
		ID: app.ID, ClientID: app.ClientID, OwnerID: app.OwnerID, Name: app.Name, Type: string(app.Type),
		RedirectURIs: app.RedirectURIs, Scopes: app.Scopes, Sandbox: app.Sandbox, FirstParty: app.FirstParty,
		Disabled: app.Disabled, CreatedAt: app.CreatedAt,
	}
}

// Applications reads a page of all applications, oldest first.
func (a *Admin) Applications(ctx context.Context, p page.Params) ([]Application, error) {
	found, err := a.Sections.Applications.AllApplications(ctx, p.Limit(), p.Offset())
	apps := make([]Application, len(found))
	for i, app := range found {
		apps[i] = applicationOf(app)
	}
	return apps, err
}

// CreateApplication registers an application for an account.
func (a *Admin) CreateApplication(ctx context.Context, owner string, r oauth.Registration) (Application, error) {
	u, err := a.User(ctx, owner)
	if err != nil {
		return Application{}, err
	}
	ctx = a.change(ctx, "application.create", "", newRowOf("application", "oauth_applications", "client_id, owner_id, type, scopes, first_party").of(u.ID))
	made, clientSecret, err := a.Sections.Applications.CreateApplication(ctx, u.ID, r)
	app := applicationOf(made)
	app.ClientSecret = clientSecret
	return app, err
}

// DisableApplication refuses the application's tokens until it is enabled again.
func (a *Admin) DisableApplication(ctx context.Context, clientID string, disabled bool) (app Application, err error) {
	action := "application.enable"
	if disabled {
		action = "application.disable"
	}
	ctx = a.change(ctx, action, "", rowOf("application", "oauth_applications", "owner_id, type, disabled_at", "client_id", clientID))
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		found, err := a.Sections.Applications.SetDisabled(ctx, tx, clientID, disabled)
		app = applicationOf(found)
		return err
	})
	return app, err
}

// Section is a section of the platform and whether it is on.
type Section struct {
	Key     api.Section `json:"key"`
	Title   string      `json:"title"`
	Enabled bool        `json:"enabled"`
}

// ListSections lists all sections in the specification's order.
func (a *Admin) ListSections() []Section {
	all := api.Sections()
	out := make([]Section, len(all))
	for i, s := range all {
		out[i] = Section{Key: s, Title: s.Title(), Enabled: a.Switches.Enabled(s)}
	}
	return out
}

// SetSections switches sections on or off, all of them or none.
func (a *Admin) SetSections(ctx context.Context, keys []string, on bool) error {
	for _, k := range keys {
		if !api.Section(k).Switchable() {
			return fault.NotFound.Wrapf("there is no section %q; stead admin sections list shows them", k)
		}
	}
	return a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, k := range slices.Sorted(slices.Values(keys)) {
			err := a.record(ctx, tx, "section.switch", "", rowOf("section", "section_switches", "enabled, changed_at", "section", k), func() error {
				return a.Switches.Set(ctx, tx, api.Section(k), on)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ImportCatalog replaces the catalogue by the file.
func (a *Admin) ImportCatalog(ctx context.Context, file []byte) (catalog.Report, error) {
	return a.TryCatalog(ctx, file, false)
}

// errDryRun undoes a transaction whose result is all that was wanted.
var errDryRun = errors.New("admin: a dry run")

// TryCatalog is ImportCatalog, which a dry run undoes: it reports what would change.
func (a *Admin) TryCatalog(ctx context.Context, file []byte, dryRun bool) (r catalog.Report, err error) {
	ctx = a.change(ctx, "catalog.import", "", subject{kind: "catalog", state: textOf(a.Catalog.Export)})
	err = a.try(ctx, dryRun, func(ctx context.Context, tx *db.Tx) error {
		if r, err = a.Catalog.Import(ctx, tx, file); err != nil {
			return err
		}
		if err := countConcerned(ctx, tx, r.Changes); err != nil {
			return err
		}
		r.Unfulfillable, err = a.Unfulfillable(ctx, tx)
		return err
	})
	return r, err
}

// countConcerned says of each change of the catalogue how many services live on its plan, or of a price, pay for its period.
func countConcerned(ctx context.Context, q db.Querier, changes []catalog.Change) error {
	type of struct {
		plan   string
		months int
	}
	counts := map[of]int64{}
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var (
			k of
			n int64
		)
		err := row.Scan(&k.plan, &k.months, &n)
		counts[k] = n
		counts[of{plan: k.plan}] += n
		return struct{}{}, err
	}, `SELECT plan_slug, period_months, COUNT(*) FROM services
		WHERE NOT sandbox AND status IN ('pending', 'provisioning', 'active', 'past_due', 'suspended') GROUP BY plan_slug, period_months`)
	for i, c := range changes {
		changes[i].Services = counts[of{c.Plan, c.PeriodMonths}]
	}
	return err
}

// try runs f in a transaction, which a dry run undoes.
func (a *Admin) try(ctx context.Context, dryRun bool, f func(ctx context.Context, tx *db.Tx) error) error {
	err := a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		err := f(ctx, tx)
		if err == nil && dryRun {
			err = errDryRun
		}
		return err
	})
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}

// ExportCatalog writes the catalogue as a file for ImportCatalog.
func (a *Admin) ExportCatalog(ctx context.Context) ([]byte, error) {
	return a.Catalog.Export(ctx, a.DB)
}

// ImportDomains replaces the price book of domains by the file.
func (a *Admin) ImportDomains(ctx context.Context, file []byte) (domains.Report, error) {
	return a.TryDomains(ctx, file, false)
}

// TryDomains is ImportDomains, which a dry run undoes.
func (a *Admin) TryDomains(ctx context.Context, file []byte, dryRun bool) (r domains.Report, err error) {
	ctx = a.change(ctx, "domains.import", "", subject{kind: "domain_prices", state: textOf(a.Domains.Export)})
	err = a.try(ctx, dryRun, func(ctx context.Context, tx *db.Tx) error {
		r, err = a.Domains.Import(ctx, tx, file)
		return err
	})
	return r, err
}

// ExportDomains writes the price book as a file for ImportDomains.
func (a *Admin) ExportDomains(ctx context.Context) ([]byte, error) {
	return a.Domains.Export(ctx, a.DB)
}

// ParseUSD parses an amount of dollars: 25, 25.5, 25.00.
func ParseUSD(text string) (money.USDCents, error) {
	cents, ok := hundredths(strings.TrimPrefix(text, "$"))
	if !ok {
		return 0, fmt.Errorf("%q is not an amount of US dollars such as 25 or 25.00", text)
	}
	return money.USDCents(cents), nil
}

// ParsePercent parses a percentage: 20, 12.5, 12.5%. It returns hundredths of a percent.
func ParsePercent(text string) (int, error) {
	basisPoints, ok := hundredths(strings.TrimSuffix(text, "%"))
	if !ok || basisPoints > 10_000 {
		return 0, fmt.Errorf("%q is not a percentage such as 20 or 12.5", text)
	}
	return int(basisPoints), nil
}

// hundredths parses a number of at most two decimals.
func hundredths(text string) (int64, bool) {
	whole, part, pointed := strings.Cut(text, ".")
	if whole == "" || len(part) > 2 || (pointed && part == "") {
		return 0, false
	}
	for len(part) < 2 {
		part += "0"
	}
	digits := whole + part
	if strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}
