package services

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

var update = flag.Bool("update", false, "write the golden answers anew")

// world is the section with everything around it.
type world struct {
	t      *testing.T
	db     *db.DB
	clk    *clock.Fake
	queue  *jobs.Queue
	events *outbox.Outbox
	panel  *machine
	book   *book
	names  names
	till   till
	used   used
	*Service
	prov *provisioning.Service
	edge http.Handler
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	q, err := jobs.New(d, jobs.Config{MaxWorkers: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: d, clk: clk, queue: q, panel: &machine{made: map[string]panel.Account{}, now: clk.Now}, book: &book{}}
	w.events = outbox.New(d)
	w.Service = New(Config{
		DB: d, Queue: q, Events: w.events, Clock: clk,
	})
	w.prov = provisioning.New(provisioning.Config{
		DB: d, Queue: q, Panels: panels{"node": w.panel, "bare": bare{}}, Clock: clk, SandboxPanel: "node",
	})
	w.prov.Connect(provisioning.Needs{Services: w.Service, Domains: senders{}, Keeper: keeping{w}, Placer: provisioning.OnePanel("node")})
	w.Connect(Needs{
		Monitors: Unwatched{},
		Balances: balances{1: 500}, Plans: plans{}, Payments: &w.used, Orders: w.book, Billing: &w.till, Addons: NoAddons{},
		Rates: sale.Retail{}, Taxes: sale.Untaxed{}, Names: &w.names, Usages: &w.used, Keeper: &keeper{}, Provisioner: w.prov,
		Worlds: &w.used, Clocks: sale.RealTime{},
	})
	w.Register(q.Workers())
	w.prov.Register(q.Workers())
	w.exec(`CREATE TABLE test_book (order_id BIGINT NOT NULL, outcome TEXT NOT NULL)`)
	scopes := []string{"services:read", "services:write"}
	w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
		"own":   {AccountID: 1, ApplicationID: 1, Scopes: scopes},
		"other": {AccountID: 2, ApplicationID: 1, Scopes: scopes},
	}, w.Operations())
	return w
}

type panels map[string]panel.Panel

func (ps panels) Panel(name string) (panel.Panel, bool) { p, ok := ps[name]; return p, ok }

// bare is a panel that can do nothing.
type bare struct{}

func (bare) Name() string { return "bare" }

// senders are domains as which their accounts may send, but for unproven.test.
type senders struct{}

func (senders) MaySend(_ context.Context, _ db.Querier, of site.Site) (bool, error) {
	return of.Domain != "unproven.test", nil
}

type balances map[int64]money.USDCents

func (b balances) Balance(_ context.Context, _ db.Querier, accountID int64) (money.USDCents, error) {
	return b[accountID], nil
}

// names are those that services have besides their own.
type names struct {
	taken  map[string]bool
	served []int64 // services
	// leaving says that the panel still has the name for somebody else.
	leaving bool
	// standIn is what a service gets that comes back; its own name when empty.
	standIn string
}

func (n *names) Check(_ context.Context, _ db.Querier, _ int64, name string) error {
	if n.taken[name] {
		return fault.DomainUnavailable.New()
	}
	return nil
}

func (n *names) Claim(_ context.Context, _ *db.Tx, _, _ int64, _ bool, name string) error {
	if n.taken[name] {
		return fault.DomainUnavailable.New()
	}
	return nil
}

func (n *names) Return(ctx context.Context, tx *db.Tx, accountID, serviceID int64, sandbox bool, name string) (string, error) {
	if n.standIn != "" {
		return n.standIn, nil
	}
	return name, n.Claim(ctx, tx, accountID, serviceID, sandbox, name)
}

func (n *names) Leaving(context.Context, db.Querier, string) (bool, error) { return n.leaving, nil }

func (n *names) Serve(_ context.Context, _ *db.Tx, serviceID int64) error {
	n.served = append(n.served, serviceID)
	return nil
}

// book is an order book in a table of the test's; broken makes its calls fail.
type book struct{ broken error }

func (b *book) Complete(ctx context.Context, tx *db.Tx, orderID int64) error {
	return b.write(ctx, tx, orderID, "completed")
}

func (b *book) Fail(ctx context.Context, tx *db.Tx, orderID int64, key string) error {
	return b.write(ctx, tx, orderID, "failed: "+key)
}

func (b *book) write(ctx context.Context, tx *db.Tx, orderID int64, outcome string) error {
	if b.broken != nil {
		return b.broken
	}
	_, err := tx.Exec(ctx, `INSERT INTO test_book (order_id, outcome) VALUES ($1, $2)`, orderID, outcome)
	return err
}

// machine is a panel in memory. fails is answered as long as it is set; made stays
// what it is, as on a real machine.
type machine struct {
	mu      sync.Mutex
	made    map[string]panel.Account
	creates int
	fails   error
	now     func() time.Time
	after   func() // called when an account was made, before the answer
	// deleting is called once when an account is about to be deleted.
	deleting func()
}

func (m *machine) Name() string { return "node" }

func (m *machine) CreateAccount(_ context.Context, spec panel.AccountSpec) (panel.Account, error) {
	m.mu.Lock()
	m.creates++
	if m.fails != nil {
		defer m.mu.Unlock()
		return panel.Account{}, panel.Wrap("accounts.create", spec.Ref, m.fails)
	}
	a, ok := m.made[spec.Ref]
	if !ok {
		a = panel.Account{
			Ref: spec.Ref, Username: spec.Username, PrimaryDomain: spec.PrimaryDomain, Limits: spec.Limits,
			Status: panel.AccountActive, CreatedAt: m.now(), OriginURL: "http://127.0.0.1:8081", IPv4: "203.0.113.7",
			IPv6: "2001:db8::7", Nameservers: []string{"ns1.stead.test", "ns2.stead.test"}, Location: "Tashkent",
			Domains: []panel.Domain{{Name: spec.PrimaryDomain, Primary: true, NoMail: spec.NoMail}},
		}
		m.made[spec.Ref] = a
	}
	m.mu.Unlock()
	if m.after != nil {
		m.after()
	}
	return a, nil
}

func (m *machine) Account(_ context.Context, ref string) (panel.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.made[ref]
	if !ok {
		return a, panel.Wrap("accounts.get", ref, panel.ErrNotFound)
	}
	return a, nil
}

func (m *machine) set(ref string, change func(*panel.Account)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.made[ref]
	if !ok {
		return panel.Wrap("accounts.set", ref, panel.ErrNotFound)
	}
	change(&a)
	m.made[ref] = a
	return nil
}

func (m *machine) SuspendAccount(_ context.Context, ref string) error {
	return m.set(ref, func(a *panel.Account) { a.Status = panel.AccountSuspended })
}

func (m *machine) UnsuspendAccount(_ context.Context, ref string) error {
	return m.set(ref, func(a *panel.Account) { a.Status = panel.AccountActive })
}

func (m *machine) UpdateAccount(ctx context.Context, ref string, l panel.Limits) (panel.Account, error) {
	if err := m.set(ref, func(a *panel.Account) { a.Limits = l }); err != nil {
		return panel.Account{}, err
	}
	return m.Account(ctx, ref)
}

func (m *machine) DeleteAccount(_ context.Context, ref string) error {
	if during := m.deleting; during != nil {
		m.deleting = nil
		during()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.made[ref]; !ok {
		return panel.Wrap("accounts.delete", ref, panel.ErrNotFound)
	}
	delete(m.made, ref)
	return nil
}

func (m *machine) accounts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.made)
}

// refOf is the service's name on its panel.
func refOf(id int64) string { return fmt.Sprint(id) }

// in runs f in a transaction and wants it to succeed.
func (w *world) in(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.db.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	w.in(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}

// ask is an order's wish of account 1 for a domain.
func ask(domain string) sale.Reservation {
	return sale.Reservation{
		AccountID: 1, OrderID: 77, Type: "hosting", Domain: domain, PlanID: 3, PlanSlug: "start", PlanName: "Start",
		Limits: json.RawMessage(`{"disk_mb":1024,"inodes":-1,"domains":1}`), PeriodMonths: 1, RenewPrice: 499,
	}
}

func (w *world) reserve(n sale.Reservation) (id int64) {
	w.t.Helper()
	w.in(func(ctx context.Context, tx *db.Tx) (err error) {
		id, err = w.Reserve(ctx, tx, n)
		return err
	})
	return id
}

// provisioning is a service whose order was just paid.
func (w *world) provisioning(n sale.Reservation) int64 {
	w.t.Helper()
	id := w.reserve(n)
	w.in(func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, id) })
	return id
}

func (w *world) active(n sale.Reservation) int64 {
	w.t.Helper()
	id := w.provisioning(n)
	if err := w.prov.Provision(w.t.Context(), id, 1); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) record(id int64) record {
	w.t.Helper()
	r, err := get(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// texts reads one column of strings.
func (w *world) texts(query string, args ...any) []string {
	w.t.Helper()
	out, err := db.Collect(w.t.Context(), w.db, func(r db.Row) (s string, err error) {
		err = r.Scan(&s)
		return s, err
	}, query, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) outcomes() []string { return w.texts(`SELECT outcome FROM test_book ORDER BY outcome`) }

func (w *world) jobs(kind string) int {
	return len(w.texts(`SELECT kind FROM river_job WHERE kind = $1 AND state <> 'completed'`, kind))
}

// told are the types of a service's events.
func (w *world) told(id int64) []string {
	return w.texts(`SELECT type FROM outbox_events WHERE subject = 'service' AND subject_id = $1 ORDER BY sequence`, id)
}

func (w *world) same(what string, want, got any) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// call sends a request and answers status and body.
func (w *world) call(token, method, path, body string) (int, []byte) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, path, body)
	return rec.Code, rec.Body.Bytes()
}

func (w *world) golden(name string, body []byte) {
	w.t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		w.t.Fatalf("%s: %v", body, err)
	}
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.same(name, string(want), pretty.String())
}

func (w *world) ids(path string) (ids []int64, total int) {
	w.t.Helper()
	status, body := w.call("own", "GET", path, "")
	if status != http.StatusOK {
		w.t.Fatalf("%s: %d %s", path, status, body)
	}
	var list struct {
		Data []struct {
			ID int64 `json:"id"`
		} `json:"data"`
		Meta struct {
			Total int `json:"total"`
		} `json:"meta"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		w.t.Fatal(err)
	}
	for _, row := range list.Data {
		ids = append(ids, row.ID)
	}
	return ids, list.Meta.Total
}

func TestTheAnswersAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first := w.reserve(ask("xn--d1acufc.test"))
		second := ask("shop.test")
		second.Label = "  My shop "
		w.clk.Advance(time.Minute)
		id := w.active(second)

		for _, c := range []struct{ name, method, path, body string }{
			{"pending", "GET", fmt.Sprintf("/api/v1/services/%d", first), ""},
			{"active", "GET", fmt.Sprintf("/api/v1/services/%d", id), ""},
			{"list", "GET", "/api/v1/services?per_page=1", ""},
			{"updated", "PATCH", fmt.Sprintf("/api/v1/services/%d", id), `{"label":"Shop 2","auto_renew":false}`},
			{"unchanged", "PATCH", fmt.Sprintf("/api/v1/services/%d", first), `{}`},
		} {
			status, body := w.call("own", c.method, c.path, c.body)
			if status != http.StatusOK {
				t.Fatalf("%s: %d %s", c.name, status, body)
			}
			w.golden(c.name, body)
		}
		w.same("events", []string{"service.created", "service.updated", "service.provisioned", "service.updated"}, w.told(id))
		w.same("events of the other", []string{"service.created"}, w.told(first))
	})
}

func TestFiltersFindWhatTheyName(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		pending := w.reserve(ask("first.test"))
		shop := ask("shop.test")
		shop.Label, shop.Type = "Дом 100%", "wordpress"
		early := w.active(shop)
		w.clk.Advance(10 * 24 * time.Hour)
		late := w.active(ask("second_half.test"))
		foreign := ask("foreign.test")
		foreign.AccountID = 2
		w.active(foreign)

		for query, want := range map[string][]int64{
			"":                                     {late, early, pending},
			"?status=active":                       {late, early},
			"?status=suspended":                    nil,
			"?type=wordpress":                      {early},
			"?q=SHOP":                              {early},
			"?q=%D0%94%D0%9E%D0%9C":                {early},   // дом, in capitals
			"?q=%25":                               {early},   // a sign, not a pattern
			"?q=d_h":                               {late},    // likewise
			"?q=first":                             {pending}, // the label of one without is its domain
			"?expires_before=2026-04-05T00:00:00Z": {early},
			"?status=active&q=test&type=hosting":   {late},
		} {
			got, total := w.ids("/api/v1/services" + query)
			w.same(query, want, got)
			if total != len(want) {
				t.Errorf("%s: total is %d", query, total)
			}
		}
		got, total := w.ids("/api/v1/services?per_page=2&page=2")
		w.same("second page", []int64{pending}, got)
		w.same("total of all pages", 3, total)
		for _, bad := range []string{"?status=on_fire", "?expires_before=tomorrow"} {
			if status, body := w.call("own", "GET", "/api/v1/services"+bad, ""); status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", bad, status, body)
			}
		}
	})
}

func TestRenewalsThatAreDue(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		due := func(days int) int64 {
			sum, err := w.DueRenewals(t.Context(), d, 1, days)
			if err != nil {
				t.Fatal(err)
			}
			return int64(sum)
		}
		w.same("without services", int64(0), due(400))
		w.reserve(ask("pending.test"))
		foreign := ask("foreign.test")
		foreign.AccountID = 2
		w.active(foreign)
		first := w.active(ask("first.test"))
		price := int64(w.record(first).renewPrice)
		w.clk.Advance(10 * 24 * time.Hour)
		second := w.active(ask("second.test"))
		w.same("one of two", price, due(25))
		w.same("both", 2*price, due(40))
		if status, body := w.call("own", "PATCH", fmt.Sprintf("/api/v1/services/%d", first), `{"auto_renew":false}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		w.same("only what renews itself", price, due(40))
		w.in(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, second, Abuse) })
		w.same("not what no money brings back", int64(0), due(40))
	})
}

func TestAServiceThatIsOverIsNotChanged(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.reserve(ask("shop.test"))
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.CancelPending(ctx, tx, id) })
		if err != nil {
			t.Fatal(err)
		}
		status, answer := w.call("own", "PATCH", fmt.Sprintf("/api/v1/services/%d", id), `{"label":"again"}`)
		if status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), "service_not_active") {
			t.Errorf("%d %s", status, answer)
		}
		w.same("label", "shop.test", w.record(id).label)
	})
}

func TestAStrangerSeesAndChangesNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(ask("shop.test"))
		path := fmt.Sprintf("/api/v1/services/%d", id)
		for method, body := range map[string]string{"GET": "", "PATCH": `{"label":"mine"}`} {
			if status, answer := w.call("other", method, path, body); status != http.StatusNotFound {
				t.Errorf("%s: %d %s", method, status, answer)
			}
		}
		w.same("label", "shop.test", w.record(id).label)
		if _, err := w.Site(t.Context(), d, 2, id); !errors.Is(err, fault.NotFound) {
			t.Errorf("hosted: %v", err)
		}
	})
}

func TestBadUpdatesAreRefused(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(ask("shop.test"))
		path := fmt.Sprintf("/api/v1/services/%d", id)
		for _, body := range []string{
			`{"label":""}`, `{"label":"  "}`, `{"label":"a\nb"}`, `{"label":7}`, `{"auto_renew":"no"}`,
			`{"label":"` + strings.Repeat("x", 101) + `"}`,
		} {
			if status, answer := w.call("own", "PATCH", path, body); status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", body, status, answer)
			}
		}
		w.same("label", "shop.test", w.record(id).label)
	})
}
