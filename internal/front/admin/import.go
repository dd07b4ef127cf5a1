package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/front/admin/whmcs"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// ImportMap says how what another system has is written here.
type ImportMap struct {
	// Rates are units of a currency for a dollar, such as UZS: 12650.
	Rates map[string]string `yaml:"rates"`
	// Products give the slug of a plan for the id of a product there.
	Products map[int64]string `yaml:"products"`
	// Prices are what services are renewed at: keep, which is the default, or catalog.
	Prices string `yaml:"prices"`
}

// ReadImportMap reads a mapping file.
func ReadImportMap(r io.Reader) (ImportMap, error) {
	var m ImportMap
	d := yaml.NewDecoder(r)
	d.KnownFields(true)
	if err := d.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("the mapping file: %w", err)
	}
	if m.Prices == "" {
		m.Prices = "keep"
	}
	if m.Prices != "keep" && m.Prices != "catalog" {
		return m, fmt.Errorf("the mapping file: prices are %q, which is neither keep nor catalog", m.Prices)
	}
	for code, text := range m.Rates {
		if rate, ok := new(big.Rat).SetString(text); !ok || rate.Sign() <= 0 {
			return m, fmt.Errorf("the mapping file: the rate of %s is %q, which is no number above 0", code, text)
		}
	}
	return m, nil
}

// cents converts an amount, rounded to the nearest cent.
func (m ImportMap) cents(amount, currency string) (money.USDCents, error) {
	value, ok := new(big.Rat).SetString(strings.TrimSpace(amount))
	if !ok {
		return 0, fmt.Errorf("%q is no amount", amount)
	}
	rate := m.Rates[currency]
	if rate == "" && currency == "USD" {
		rate = "1"
	}
	if rate == "" && value.Sign() != 0 {
		return 0, fmt.Errorf("the mapping file has no rate of %s", currency)
	}
	if value.Sign() == 0 {
		return 0, nil
	}
	per, ok := new(big.Rat).SetString(rate)
	if !ok || per.Sign() <= 0 {
		return 0, fmt.Errorf("the rate of %s is %q", currency, rate)
	}
	value.Mul(value, big.NewRat(100, 1)).Quo(value, per)
	half := big.NewRat(1, 2)
	if value.Sign() < 0 {
		half.Neg(half)
	}
	value.Add(value, half)
	whole := new(big.Int).Quo(value.Num(), value.Denom())
	if !whole.IsInt64() {
		return 0, fmt.Errorf("%s %s is too much", amount, currency)
	}
	return money.USDCents(whole.Int64()), nil
}

// ImportReport says what an import does, or would do.
type ImportReport struct {
	Applied  bool         `json:"applied"`
	Clients  ImportCounts `json:"clients"`
	Domains  ImportCounts `json:"domains"`
	Services ImportCounts `json:"services"`
	// Rows are all clients with their domain names and services, and what becomes of each.
	Rows     []ImportRow `json:"rows"`
	Balances []ImportSum `json:"balances"` // of the imported clients, by currency
	Sum      string      `json:"sum"`      // of all postings
	SumCents int64       `json:"sum_usd_cents"`
	// What is not imported: invoices that wait for money, and add-ons of services.
	Unpaid int64 `json:"unpaid_invoices"`
	Addons int64 `json:"addons"`
}

// ImportCounts counts rows.
type ImportCounts struct {
	Found   int `json:"found"`
	New     int `json:"new"`
	Already int `json:"already"` // by an earlier import
	Left    int `json:"left_out"`
	Ended   int `json:"ended"` // there
}

// ImportSum is the money of the imported clients in a currency.
type ImportSum struct {
	Currency string         `json:"currency"`
	Amount   string         `json:"amount"`
	Cents    money.USDCents `json:"usd_cents"`
	amount   *big.Rat
}

// What becomes of a row of an import.
const (
	ImportNew   = "new"
	ImportThere = "there" // by an earlier import
	ImportLeft  = "left_out"
	ImportEnded = "ended" // there, so that there is nothing to import
)

// ImportRow says what becomes of one thing of another system.
type ImportRow struct {
	Kind    string   `json:"kind"` // client, domain or service
	ID      int64    `json:"id"`   // there
	What    string   `json:"what"`
	Becomes string   `json:"becomes"`
	Reason  string   `json:"reason,omitempty"` // why it is left out
	Notes   []string `json:"notes,omitempty"`  // what is not as it is there
	// What it is here. A dry run makes nothing that has an id.
	AccountID int64 `json:"account_id,omitempty"`
	DomainID  int64 `json:"domain_id,omitempty"`
	ServiceID int64 `json:"service_id,omitempty"`
	// Of services: its state here, its plan, its period, until when it is paid, and what a renewal costs.
	Status    string          `json:"status,omitempty"`
	Plan      string          `json:"plan,omitempty"`
	Months    int             `json:"months,omitempty"`
	PaidUntil string          `json:"paid_until,omitempty"` // of domain names, too
	Renewal   *money.USDCents `json:"renewal_usd_cents,omitempty"`
}

// leave notes why a row is left out.
func (r *ImportRow) leave(reason string) { r.Becomes, r.Reason = ImportLeft, reason }

// add counts a row.
func (r *ImportReport) add(row ImportRow) {
	counts := map[string]*ImportCounts{"client": &r.Clients, "domain": &r.Domains, "service": &r.Services}[row.Kind]
	counts.Found++
	switch row.Becomes {
	case ImportNew:
		counts.New++
	case ImportThere:
		counts.Already++
	case ImportEnded:
		counts.Ended++
	default:
		counts.Left++
	}
	r.Rows = append(r.Rows, row)
}

// locales of WHMCS's languages; others get the company's.
var importLocales = map[string]string{"english": "en", "russian": "ru", "uzbek": "uz"}

// ImportOptions change an import.
type ImportOptions struct {
	// Source names the installation, under which its ids are kept.
	Source string
	// Reason is what owners read of the posting of their balance.
	Reason string
	// Apply does it; otherwise only the report is made.
	Apply bool
}

// whmcsImport is one run of ImportWHMCS.
type whmcsImport struct {
	*Admin
	ImportMap
	ImportOptions
	report   *ImportReport
	plans    map[int64]int64 // here, by products there
	accounts map[string]int64
	taken    map[string]services.TakenOver
	undone   int64                     // the account of the client that a dry run tries
	byEmail  map[string]int64          // clients of this run
	byDomain map[string]int64          // services of this run
	domains  map[int64][]whmcs.Domain  // by client
	services map[int64][]whmcs.Service // by client
	sums     map[string]*ImportSum     // by currency
}

// ImportWHMCS makes accounts of the clients of a WHMCS installation, with their balances, of the domain names that the registrar here
// holds, and of their services, which are provisioned as ordered ones are and paid until the day until which they are paid there.
// Each client, name and service is imported in one transaction and once: a second run adds what is new and what could not be done.
// A dry run does all of it and undoes it. Passwords are not taken over: owners set a new one by mail.
func (a *Admin) ImportWHMCS(ctx context.Context, in *whmcs.Installation, m ImportMap, o ImportOptions) (*ImportReport, error) {
	w := &whmcsImport{
		Admin: a, ImportMap: m, ImportOptions: o,
		report:  &ImportReport{Applied: o.Apply, Rows: []ImportRow{}, Balances: []ImportSum{}, Unpaid: in.Unpaid, Addons: in.Addons},
		byEmail: map[string]int64{}, byDomain: map[string]int64{}, sums: map[string]*ImportSum{},
		domains: map[int64][]whmcs.Domain{}, services: map[int64][]whmcs.Service{},
	}
	var err error
	if w.accounts, err = a.Accounts.Imported(ctx, o.Source); err != nil {
		return nil, err
	}
	if w.taken, err = a.Services.TakenOver(ctx, a.DB, o.Source); err != nil {
		return nil, err
	}
	if w.plans, err = a.importPlans(ctx, m); err != nil {
		return nil, err
	}
	for _, d := range in.Domains {
		w.domains[d.ClientID] = append(w.domains[d.ClientID], d)
	}
	for _, s := range in.Services {
		w.services[s.ClientID] = append(w.services[s.ClientID], s)
	}
	for _, c := range in.Clients {
		if err := w.client(ctx, c); err != nil {
			return w.ended(), fmt.Errorf("client %d: %w", c.ID, err)
		}
		delete(w.domains, c.ID)
		delete(w.services, c.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(w.domains)) {
		w.leaveAll(id, fmt.Sprintf("its client %d is not there", id))
		delete(w.services, id)
	}
	for _, id := range slices.Sorted(maps.Keys(w.services)) {
		w.leaveAll(id, fmt.Sprintf("its client %d is not there", id))
	}
	return w.ended(), nil
}

// ended is the report with its sums.
func (w *whmcsImport) ended() *ImportReport {
	for _, code := range slices.Sorted(maps.Keys(w.sums)) {
		w.sums[code].Amount = w.sums[code].amount.FloatString(2)
		w.report.Balances = append(w.report.Balances, *w.sums[code])
	}
	w.report.Sum = money.USDCents(w.report.SumCents).String()
	return w.report
}

// client imports a client with all that it has.
func (w *whmcsImport) client(ctx context.Context, c whmcs.Client) error {
	row := ImportRow{Kind: "client", ID: c.ID, What: c.Email, Becomes: ImportNew}
	if id, already := w.accounts[strconv.FormatInt(c.ID, 10)]; already {
		row.Becomes, row.AccountID = ImportThere, id
		w.report.add(row)
		return w.belongings(ctx, c, id, w.alone)
	}
	email, valid := account.NormalizeEmail(c.Email)
	switch first, twice := w.byEmail[email]; {
	case strings.EqualFold(c.Status, "Closed"):
		row.leave("the client is closed")
	case !valid:
		row.leave("it has no valid address of mail")
	case twice:
		row.leave(fmt.Sprintf("client %d has the same address of mail", first))
	default:
		w.byEmail[email] = c.ID
		return w.newClient(ctx, c, row)
	}
	w.leaveClient(c, row)
	return nil
}

// leaveClient leaves a client out with all that it has.
func (w *whmcsImport) leaveClient(c whmcs.Client, row ImportRow) {
	if credit, ok := new(big.Rat).SetString(c.Credit); ok && credit.Sign() != 0 {
		row.Reason += fmt.Sprintf("; its balance of %s %s is left, too", c.Credit, c.Currency)
	}
	w.report.add(row)
	w.leaveAll(c.ID, fmt.Sprintf("its client %d is left out", c.ID))
}

// newClient imports a client who has no account yet. Only an error that has nothing to do with the client ends the import.
func (w *whmcsImport) newClient(ctx context.Context, c whmcs.Client, row ImportRow) error {
	cents, reason, err := w.balance(ctx, c)
	if err != nil {
		return err
	}
	if reason != "" {
		row.leave(reason)
		w.leaveClient(c, row)
		return nil
	}
	if c.NoUser {
		row.Notes = append(row.Notes, "no user owns it there: its address for mail is taken")
	}
	if c.Address != "" {
		row.Notes = append(row.Notes, "its address for mail is another one there: "+c.Address)
	}
	held, err := w.held(ctx, c) // the registry is not asked in a transaction
	if err != nil {
		return err
	}
	n := account.NewAccount{Email: c.Email, Name: c.Name, Verified: c.Verified, Locale: importLocales[strings.ToLower(c.Language)]}
	if n.Name == "" {
		n.Name, _, _ = strings.Cut(n.Email, "@")
	}
	from := account.ImportedFrom{Source: w.Source, ID: strconv.FormatInt(c.ID, 10)}
	counted := *w.report
	change := w.change(ctx, "account.create", fmt.Sprintf("client %s of %s", from.ID, w.Source), newRowOf("account", "account_users", "role, locale, currency"))
	p, err := w.Accounts.Import(change, n, from, func(ctx context.Context, tx *db.Tx, id int64) error {
		if cents > 0 {
			if _, err := w.CreditIn(ctx, tx, id, cents, w.Reason); err != nil {
				return err
			}
		}
		if w.Apply {
			return nil
		}
		*w.report, w.undone = counted, id
		w.report.add(row)
		if err := w.each(ctx, c, id, held, savepoints(tx)); err != nil {
			return err
		}
		return errDryRun
	})
	switch {
	case errors.Is(err, errDryRun):
	case isRefused(err):
		*w.report = counted
		row.leave(explain(err))
		w.leaveClient(c, row)
		return nil
	case err != nil:
		return err
	default:
		row.AccountID = p.ID
		w.accounts[from.ID] = p.ID
		w.report.add(row)
	}
	w.sum(c, cents)
	if !w.Apply {
		return nil
	}
	return w.each(ctx, c, p.ID, held, w.alone)
}

// balance converts what a client has, or says why the client is left out.
func (w *whmcsImport) balance(ctx context.Context, c whmcs.Client) (cents money.USDCents, reason string, err error) {
	cents, wrong := w.cents(c.Credit, c.Currency)
	switch {
	case wrong != nil:
		return 0, wrong.Error(), nil //nolint:nilerr // it is told, and the import goes on
	case cents < 0:
		return 0, "its balance is below zero", nil
	case cents > w.Wallet.MaxBalance:
		return 0, fmt.Sprintf("its balance is more than an account may have: %v", w.Wallet.MaxBalance), nil
	}
	switch _, err := w.User(ctx, c.Email); {
	case err == nil:
		return 0, "an account here has its address of mail", nil
	case !errors.Is(err, fault.NotFound):
		return 0, "", err
	}
	return cents, "", nil
}

// sum adds the posting of a client.
func (w *whmcsImport) sum(c whmcs.Client, cents money.USDCents) {
	if cents == 0 {
		return
	}
	sum := w.sums[c.Currency]
	if sum == nil {
		sum = &ImportSum{Currency: c.Currency, amount: new(big.Rat)}
		w.sums[c.Currency] = sum
	}
	credit, _ := new(big.Rat).SetString(strings.TrimSpace(c.Credit))
	sum.amount.Add(sum.amount, credit)
	sum.Cents += cents
	w.report.SumCents += int64(cents)
}

// isRefused reports whether an error is a refusal, which concerns what is imported alone.
func isRefused(err error) bool {
	var refused *fault.Error
	return errors.As(err, &refused) && refused.Def != fault.Internal
}

// explain names what is wrong with something that is imported; "" when nothing is.
func explain(err error) string {
	if err == nil {
		return ""
	}
	fields := slices.Sorted(maps.Keys(fault.From(err).Invalid))
	if len(fields) == 0 {
		return fault.From(err).Def.Key
	}
	return "not valid here: " + strings.Join(fields, ", ")
}

// importPlans finds the plans of a mapping file, by products there, and refuses one that is not there.
func (a *Admin) importPlans(ctx context.Context, m ImportMap) (map[int64]int64, error) {
	plans := map[int64]int64{}
	for product, slug := range m.Products {
		var id int64
		err := a.DB.QueryRow(ctx, "SELECT id FROM catalog_plans WHERE slug = $1", slug).Scan(&id)
		if errors.Is(err, db.ErrNoRows) {
			return nil, fault.Validation.Wrapf("the mapping file: product %d is %q, and the catalog has no such plan", product, slug)
		}
		if err != nil {
			return nil, err
		}
		plans[product] = id
	}
	return plans, nil
}
