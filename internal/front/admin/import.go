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
}

// ReadImportMap reads a mapping file.
func ReadImportMap(r io.Reader) (ImportMap, error) {
	var m ImportMap
	d := yaml.NewDecoder(r)
	d.KnownFields(true)
	if err := d.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("the mapping file: %w", err)
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
	Applied  bool          `json:"applied"`
	Clients  ImportCounts  `json:"clients"`
	Balances []ImportSum   `json:"balances"` // of the imported clients, by currency
	Sum      string        `json:"sum"`      // of all postings
	SumCents int64         `json:"sum_usd_cents"`
	Left     []ImportLeft  `json:"left"`     // clients that are left out, and why
	Notes    []ImportLeft  `json:"notes"`    // clients that are imported in another way than they are there
	Services []ImportOrder `json:"services"` // that are to be ordered here
	Refused  []ImportLeft  `json:"refused"`  // services that cannot be ordered as they are
	Ended    int           `json:"ended"`    // services that have ended there
	Unpaid   int64         `json:"unpaid_invoices"`
	Domains  int64         `json:"domains"`
}

// ImportCounts counts clients.
type ImportCounts struct {
	Found    int `json:"found"`
	Imported int `json:"imported"`
	Already  int `json:"already"` // by an earlier import
	Left     int `json:"left"`
}

// ImportSum is the money of the imported clients in a currency.
type ImportSum struct {
	Currency string         `json:"currency"`
	Amount   string         `json:"amount"`
	Cents    money.USDCents `json:"usd_cents"`
	amount   *big.Rat
}

// ImportLeft is something that is not imported as it is.
type ImportLeft struct {
	ID     int64  `json:"id"` // there
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// ImportOrder is a service that is to be ordered here.
type ImportOrder struct {
	ID        int64  `json:"id"` // there
	ClientID  int64  `json:"client_id"`
	Email     string `json:"email"`
	AccountID *int64 `json:"account_id"` // here; null while it is not imported
	Product   string `json:"product"`
	Plan      string `json:"plan"`
	Domain    string `json:"domain"`
	Months    int    `json:"months"`
	NextDue   string `json:"next_due"`
	Amount    string `json:"amount"`
	Currency  string `json:"currency"`
	Status    string `json:"status"`
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

// ImportWHMCS makes accounts of the clients of a WHMCS installation, with their balances. Each client is imported in one transaction
// and once: a second run adds what is new. Passwords are not taken over: owners set a new one by mail. Services are listed, not made,
// because nobody has provisioned them here.
func (a *Admin) ImportWHMCS(ctx context.Context, in *whmcs.Installation, m ImportMap, o ImportOptions) (*ImportReport, error) {
	r := &ImportReport{
		Applied: o.Apply, Balances: []ImportSum{}, Left: []ImportLeft{}, Notes: []ImportLeft{}, Services: []ImportOrder{}, Refused: []ImportLeft{},
		Unpaid: in.Unpaid, Domains: in.Domains, Clients: ImportCounts{Found: len(in.Clients)},
	}
	done, err := a.Accounts.Imported(ctx, o.Source)
	if err != nil {
		return nil, err
	}
	if err := a.checkPlans(ctx, m); err != nil {
		return nil, err
	}
	sums, byEmail, clients := map[string]*ImportSum{}, map[string]int64{}, map[int64]whmcs.Client{}
	for _, c := range in.Clients {
		clients[c.ID] = c
		if _, already := done[strconv.FormatInt(c.ID, 10)]; already {
			r.Clients.Already++
			continue
		}
		var (
			cents  money.USDCents
			id     int64
			reason string
		)
		email, valid := account.NormalizeEmail(c.Email)
		switch first, twice := byEmail[email]; {
		case strings.EqualFold(c.Status, "Closed"):
			reason = "the client is closed"
		case !valid:
			reason = "it has no valid address of mail"
		case twice:
			reason = fmt.Sprintf("client %d has the same address of mail", first)
		default:
			byEmail[email] = c.ID
			cents, id, reason, err = a.importClient(ctx, c, m, o)
			if err != nil {
				return r, fmt.Errorf("client %d: %w", c.ID, err)
			}
		}
		if reason != "" {
			if credit, ok := new(big.Rat).SetString(c.Credit); ok && credit.Sign() != 0 {
				reason += fmt.Sprintf("; its balance of %s %s is left, too", c.Credit, c.Currency)
			}
			r.Left = append(r.Left, ImportLeft{c.ID, c.Email, reason})
			continue
		}
		r.Clients.Imported++
		if o.Apply {
			done[strconv.FormatInt(c.ID, 10)] = id
		}
		if c.NoUser {
			r.Notes = append(r.Notes, ImportLeft{c.ID, c.Email, "no user owns it there: its address for mail is taken"})
		}
		if c.Address != "" {
			r.Notes = append(r.Notes, ImportLeft{c.ID, c.Email, "its address for mail is another one there: " + c.Address})
		}
		if cents != 0 {
			sum := sums[c.Currency]
			if sum == nil {
				sum = &ImportSum{Currency: c.Currency, amount: new(big.Rat)}
				sums[c.Currency] = sum
			}
			credit, _ := new(big.Rat).SetString(strings.TrimSpace(c.Credit))
			sum.amount.Add(sum.amount, credit)
			sum.Cents += cents
			r.SumCents += int64(cents)
		}
	}
	r.Clients.Left = len(r.Left)
	for _, code := range slices.Sorted(maps.Keys(sums)) {
		sums[code].Amount = sums[code].amount.FloatString(2)
		r.Balances = append(r.Balances, *sums[code])
	}
	r.Sum = money.USDCents(r.SumCents).String()
	a.listServices(r, in, m, clients, done)
	return r, nil
}

// importClient imports one client, or says why not. Only an error that has nothing to do with the client ends the import.
func (a *Admin) importClient(ctx context.Context, c whmcs.Client, m ImportMap, o ImportOptions) (cents money.USDCents, id int64, reason string, err error) {
	cents, wrong := m.cents(c.Credit, c.Currency)
	if wrong != nil {
		return 0, 0, wrong.Error(), nil //nolint:nilerr // it is told, and the import goes on
	}
	if cents < 0 {
		return 0, 0, "its balance is below zero", nil
	}
	if cents > a.Wallet.MaxBalance {
		return 0, 0, fmt.Sprintf("its balance is more than an account may have: %v", a.Wallet.MaxBalance), nil
	}
	if _, err := a.User(ctx, c.Email); err == nil {
		return 0, 0, "an account here has its address of mail", nil
	} else if !errors.Is(err, fault.NotFound) {
		return 0, 0, "", err
	}
	n := account.NewAccount{Email: c.Email, Name: c.Name, Verified: c.Verified, Locale: importLocales[strings.ToLower(c.Language)]}
	if n.Name == "" {
		n.Name, _, _ = strings.Cut(n.Email, "@")
	}
	if !o.Apply {
		return cents, 0, explain(a.Accounts.Check(n)), nil
	}
	from := account.ImportedFrom{Source: o.Source, ID: strconv.FormatInt(c.ID, 10)}
	reason = fmt.Sprintf("client %s of %s", from.ID, o.Source)
	change := a.change(ctx, "account.create", reason, newRowOf("account", "account_users", "role, locale, currency"))
	p, err := a.Accounts.Import(change, n, from, func(ctx context.Context, tx *db.Tx, id int64) error {
		if cents == 0 {
			return nil
		}
		_, err := a.CreditIn(ctx, tx, id, cents, o.Reason)
		return err
	})
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Def != fault.Internal {
		return 0, 0, explain(err), nil
	}
	return cents, p.ID, "", err
}

// explain names what is wrong with a client; "" when nothing is.
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

// checkPlans refuses a mapping file that names a plan which is not there.
func (a *Admin) checkPlans(ctx context.Context, m ImportMap) error {
	for id, slug := range m.Products {
		var found int
		if err := a.DB.QueryRow(ctx, "SELECT COUNT(*) FROM catalog_plans WHERE slug = $1", slug).Scan(&found); err != nil {
			return err
		}
		if found == 0 {
			return fault.Validation.Wrapf("the mapping file: product %d is %q, and the catalog has no such plan", id, slug)
		}
	}
	return nil
}

// listServices lists the services that live there, for orders here.
func (a *Admin) listServices(r *ImportReport, in *whmcs.Installation, m ImportMap, clients map[int64]whmcs.Client, done map[string]int64) {
	for _, s := range in.Services {
		what := strings.TrimSpace(s.Name + " " + s.Domain)
		client, known := clients[s.ClientID]
		months, period := s.Months()
		plan := m.Products[s.Product]
		switch status := strings.ToLower(s.Status); {
		case status == "terminated" || status == "cancelled" || status == "fraud" || status == "completed":
			r.Ended++
			continue
		case !known:
			r.Refused = append(r.Refused, ImportLeft{s.ID, what, fmt.Sprintf("its client %d is not there", s.ClientID)})
			continue
		case !period:
			r.Refused = append(r.Refused, ImportLeft{s.ID, what, fmt.Sprintf("the billing cycle %q is no period", s.Cycle)})
			continue
		case plan == "":
			r.Refused = append(r.Refused, ImportLeft{s.ID, what, fmt.Sprintf("the mapping file has no plan for product %d", s.Product)})
			continue
		}
		o := ImportOrder{
			ID: s.ID, ClientID: s.ClientID, Email: client.Email, Product: s.Name, Plan: plan, Domain: s.Domain, Months: months,
			NextDue: s.NextDue, Amount: s.Amount, Currency: client.Currency, Status: s.Status,
		}
		if id, ok := done[strconv.FormatInt(s.ClientID, 10)]; ok {
			o.AccountID = &id
		}
		r.Services = append(r.Services, o)
	}
}
