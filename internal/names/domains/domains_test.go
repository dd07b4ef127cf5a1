package domains

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/registrar"
	"stead.dev/stead/internal/port/registrar/sandbox"
)

// world is the section with a simulated registry, and orders and a purse in tables of the test's.
type world struct {
	t        *testing.T
	db       *db.DB
	clk      *clock.Fake
	registry *cutting
	edge     http.Handler
	*Service
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	q, err := jobs.New(d, jobs.Config{MaxWorkers: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	box, err := secret.OpenKeyFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: d, clk: clk, registry: &cutting{Registry: sandbox.New(nil, clk.Now)}}
	events := outbox.New(d)
	w.Service = New(Config{
		DB: d, Clock: clk, Queue: q, Events: events, Box: box, Registrars: registrars{w.registry},
		Log: slog.New(slog.DiscardHandler), Nameservers: []string{"ns1.stead.test"}, ReservedDomains: []string{"stead.example"},
	})
	w.Connect(Needs{Orders: purse{}, Worlds: worlds{}, Rates: worlds{}, Hosts: HostedNowhere{}, Claims: Unclaimed{}, Sources: []registrar.Source{}})
	w.Register(q.Workers())
	w.exec(`CREATE TABLE test_purse (balance BIGINT NOT NULL CHECK (balance >= 0))`)
	w.exec(`INSERT INTO test_purse VALUES (10000)`)
	w.exec(`CREATE TABLE test_orders (id BIGINT PRIMARY KEY, amount BIGINT NOT NULL, state TEXT NOT NULL)`)
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.SeedDemo(ctx, tx) })
	if err != nil {
		t.Fatal(err)
	}
	scopes := []string{"domains:read", "domains:write"}
	tokens := apitest.Tokens{
		"own": {AccountID: 1, ApplicationID: 1, Scopes: scopes}, "other": {AccountID: 2, ApplicationID: 1, Scopes: scopes},
		"key": {AccountID: reseller, KeyID: 7}, "resells": {AccountID: reseller, ApplicationID: 1, Scopes: scopes}, "first": {AccountID: 1, ApplicationID: 1, Scopes: scopes, FirstParty: true},
		"visits": {AccountID: reseller, OnlyService: 3, FirstParty: true},
	}
	limit := throttle.Policy{Name: "default", Limit: 10_000, Window: time.Minute}
	edge := api.NewEdge(api.Config{
		DB: d, Verifier: tokens, Keys: tokens, Switches: apitest.AllOn{}, Limiter: throttle.New(d, clk), Answers: idempotency.NewStore(d),
		Default: limit, Policies: map[string]throttle.Policy{api.DomainCheck: limit}, MaxBody: 1 << 20, Timeout: time.Minute,
		Language: "en", BaseURL: apitest.BaseURL, Version: "test",
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.9") },
	})
	if err := edge.Mount(w.Operations()...); err != nil {
		t.Fatal(err)
	}
	w.edge = edge
	return w
}

// reseller is an account that sells on.
const reseller = 3

type registrars struct{ r registrar.Registrar }

func (r registrars) Registrar(bool) (registrar.Registrar, bool) { return r.r, r.r != nil }

type worlds struct{}

func (worlds) Sandbox(context.Context, db.Querier, int64) (bool, error) { return false, nil }

// Wholesale implements Rates: account 3 sells on.
func (worlds) Wholesale(_ context.Context, _ db.Querier, accountID int64) (int, bool, error) {
	return 0, accountID == reseller, nil
}

type purse struct{}

func (purse) Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (id int64, err error) {
	n, err := tx.Exec(ctx, `UPDATE test_purse SET balance = balance - $1 WHERE balance >= $1`, p.Price)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fault.InsufficientFunds.New()
	}
	err = tx.QueryRow(ctx, `INSERT INTO test_orders SELECT count(*) + 1, CAST($1 AS BIGINT), 'held' FROM test_orders RETURNING id`, p.Price).Scan(&id)
	return id, err
}

func (purse) Complete(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE test_orders SET state = state || ' captured' WHERE id = $1`, id)
	return err
}

func (purse) Fail(ctx context.Context, tx *db.Tx, id int64, _ string) error {
	if _, err := tx.Exec(ctx, `UPDATE test_purse SET balance = balance + (SELECT amount FROM test_orders WHERE id = $1)`, id); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE test_orders SET state = state || ' released' WHERE id = $1`, id)
	return err
}

var errKilled = errors.New("the process was killed")

// cutting is the registry, of which a call kills the process: before it is made, or after.
type cutting struct {
	*sandbox.Registry
	calls, at         int
	after, down       bool
	registers, renews int
}

func (c *cutting) cut(do func() error) error {
	if c.down {
		return &registrar.Error{Kind: registrar.Unreachable}
	}
	c.calls++
	if c.calls == c.at && !c.after {
		return errKilled
	}
	err := do()
	if c.calls == c.at {
		return errKilled
	}
	return err
}

func (c *cutting) Info(ctx context.Context, name string) (d registrar.Domain, err error) {
	err = c.cut(func() error { d, err = c.Registry.Info(ctx, name); return err })
	return d, err
}

func (c *cutting) Register(ctx context.Context, r registrar.Registration) (d registrar.Domain, err error) {
	err = c.cut(func() error {
		if d, err = c.Registry.Register(ctx, r); err == nil || registrar.KindOf(err) == registrar.Unknown {
			c.registers++
		}
		return err
	})
	return d, err
}

func (c *cutting) Renew(ctx context.Context, r registrar.Renewal) (d registrar.Domain, err error) {
	err = c.cut(func() error {
		if d, err = c.Registry.Renew(ctx, r); err == nil {
			c.renews++
		}
		return err
	})
	return d, err
}

// Check refuses all names when it is asked of several and the syntax of one is wrong, as registries do.
func (c *cutting) Check(ctx context.Context, names []string) ([]registrar.Availability, error) {
	for _, name := range names {
		if strings.HasPrefix(name, "syntax-") {
			return nil, &registrar.Error{Kind: registrar.Rejected}
		}
	}
	return c.Registry.Check(ctx, names)
}

func (c *cutting) PutContact(ctx context.Context, h string, p registrar.Contact) (out string, err error) {
	err = c.cut(func() error { out, err = c.Registry.PutContact(ctx, h, p); return err })
	return out, err
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) number(query string, args ...any) (n int64) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), query, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) text(query string, args ...any) (s string) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), query, args...).Scan(&s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) call(token, method, path, body string) (int, string) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, path, body)
	return rec.Code, rec.Body.String()
}

const anna = `{"name":"Anna","email":"anna@example.com","phone":"+998901234567","street":"Navoiy 1","city":"Tashkent","country":"UZ"}`

// order orders a domain and answers its id.
func (w *world) order(name, more string) int64 {
	w.t.Helper()
	status, body := w.call("own", "POST", "/api/v1/domains", fmt.Sprintf(`{"domain":%q,"contact":%s%s}`, name, anna, more))
	if status != http.StatusCreated {
		w.t.Fatalf("order: %d %s", status, body)
	}
	var d struct {
		ID int64 `json:"id"`
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		w.t.Fatal(err)
	}
	return d.ID
}

func (w *world) op() int64 { return w.number(`SELECT max(id) FROM domains_operations`) }

func (w *world) same(what string, want, got any) {
	w.t.Helper()
	if fmt.Sprint(want) != fmt.Sprint(got) {
		w.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (w *world) status(id int64) string {
	w.t.Helper()
	return w.text(`SELECT status FROM domains WHERE id = $1`, id)
}

func (w *world) told(kind string) int64 {
	w.t.Helper()
	return w.number(`SELECT count(*) FROM outbox_events WHERE type = $1`, kind)
}

func key(body string) string {
	var e struct {
		Key string `json:"error"`
	}
	_ = json.Unmarshal([]byte(body), &e)
	return e.Key
}

func TestADomainIsRegisteredAndPaidOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.order("Магазин.com", `,"years":2,"privacy":true,"nameservers":["NS1.host.example","ns2.host.example"]`)
		w.same("status", PendingRegistration, w.status(id))
		w.same("balance", 10000-2400, w.number(`SELECT balance FROM test_purse`))
		for range 3 {
			if err := w.Work(t.Context(), w.op()); err != nil {
				t.Fatal(err)
			}
		}
		w.same("status", Active, w.status(id))
		w.same("money", "held captured", w.text(`SELECT state FROM test_orders`))
		w.same("sealed", 0, w.number(`SELECT count(*) FROM domains_operations WHERE sealed IS NOT NULL`))
		w.same("events", 1, w.told("domain.registered"))
		status, body := w.call("own", "GET", fmt.Sprintf("/api/v1/domains/%d", id), "")
		for _, want := range []string{`"name":"xn--80aairftm.com"`, `"unicode_name":"магазин.com"`, `"privacy":true`, `"ns1.host.example"`, `"status":"done"`, `"contacts":{`} {
			if status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%d, no %s in %s", status, want, body)
			}
		}
		if strings.Contains(body, "Anna") || strings.Contains(w.text(`SELECT CAST(data AS TEXT) FROM outbox_events WHERE type = 'domain.registered'`), "Anna") {
			t.Error("the contact is shown")
		}
		if status, _ := w.call("other", "GET", fmt.Sprintf("/api/v1/domains/%d", id), ""); status != http.StatusNotFound {
			t.Errorf("a stranger: %d", status)
		}
		if status, body := w.call("other", "POST", "/api/v1/domains", fmt.Sprintf(`{"domain":"магазин.com","contact":%s}`, anna)); status != 422 || key(body) != "domain_unavailable" {
			t.Errorf("again: %d %s", status, body)
		}
	})
}

// The process is killed at every call of the registrar, before it and after it; another run ends the work.
func TestKilledAtAnyCallMoneyRegistrationAndRowAgree(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.exec(`UPDATE test_purse SET balance = 1000000`)
		n := 0
		for _, prefix := range []string{"", "lost-", "refused-"} {
			for at := 1; at <= 5; at++ {
				for _, after := range []bool{false, true} {
					n++
					name := fmt.Sprintf("%skill%d.com", prefix, n)
					before := w.number(`SELECT balance FROM test_purse`)
					id := w.order(name, "")
					op := w.op()
					r := w.registry
					r.calls, r.at, r.after, r.registers = 0, at, after, 0
					for runs := 0; w.Work(t.Context(), op) != nil; runs++ {
						if runs > 5 {
							t.Fatalf("%s killed at %d never ends", name, at)
						}
					}
					order := w.text(`SELECT state FROM test_orders WHERE id = (SELECT order_id FROM domains_operations WHERE id = $1)`, op)
					spent := before - w.number(`SELECT balance FROM test_purse`)
					_, err := r.Registry.Info(t.Context(), name)
					if prefix == "refused-" {
						if w.status(id) != string(Failed) || order != "held released" || spent != 0 || err == nil {
							t.Errorf("%s at %d: %s, %s, spent %d, registry %v", name, at, w.status(id), order, spent, err)
						}
					} else if w.status(id) != string(Active) || order != "held captured" || spent != 1200 || err != nil || r.registers != 1 {
						t.Errorf("%s at %d: %s, %s, spent %d, registered %d times, %v", name, at, w.status(id), order, spent, r.registers, err)
					}
				}
			}
		}
	})
}

func TestARegistryThatCannotBeReachedKeepsTheMoneyUntilItSays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.order("down-shop.com", "")
		op := w.op()
		if err := w.Work(t.Context(), op); !errors.Is(err, errLater) {
			t.Fatal(err)
		}
		clk.Advance(25 * time.Hour)
		w.registry.down = true
		if err := w.Work(t.Context(), op); !errors.Is(err, errLater) {
			t.Fatal(err)
		}
		w.same("held", "held", w.text(`SELECT state FROM test_orders`))
		if list, err := w.ListWaiting(t.Context()); err != nil || len(list) != 1 || list[0].Domain != "down-shop.com" || !list[0].Asked || !list[0].Since.Equal(clk.Now().Add(-25*time.Hour)) {
			t.Errorf("waiting: %+v %v", list, err)
		}
		w.registry.down = false
		if err := w.Work(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		w.same("status", Failed, w.status(id))
		w.same("balance", 10000, w.number(`SELECT balance FROM test_purse`))
		w.same("events", 1, w.told("domain.registration_failed"))
	})
}

func TestTransfers(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.order("slow-shop.com", `,"operation":"transfer","auth_code":"secret-code"`)
		op := w.op()
		for range 2 {
			if err := w.Work(t.Context(), op); !errors.Is(err, errLater) {
				t.Fatal(err)
			}
		}
		w.same("status", PendingTransferIn, w.status(id))
		clk.Advance(sandbox.TransferFor)
		if err := w.Work(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		w.same("status", Active, w.status(id))
		wrong := w.order("moved-shop.com", `,"operation":"transfer","auth_code":"wrong"`)
		if err := w.Work(t.Context(), w.op()); err != nil {
			t.Fatal(err)
		}
		w.same("wrong code", Failed, w.status(wrong))
		w.same("key", "auth_code_invalid", w.text(`SELECT failure_key FROM domains_operations WHERE id = $1`, w.op()))
		w.same("balance", 10000-1200, w.number(`SELECT balance FROM test_purse`))
	})
}

// A domain renews by itself once, however often the clock looks; without money it ends, told at each step.
func TestTheLifeOfADomain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.order("shop.com", "")
		if err := w.Work(t.Context(), w.op()); err != nil {
			t.Fatal(err)
		}
		day := func(days int) {
			t.Helper()
			for range days {
				clk.Advance(24 * time.Hour)
				if err := w.Step(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
		clk.Advance(349 * 24 * time.Hour)
		day(2)
		for range 3 {
			if err := w.Step(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		w.same("operations", 2, w.op())
		w.registry.calls, w.registry.at, w.registry.after = 0, 2, true // killed after the renewal
		if err := w.Work(t.Context(), w.op()); err == nil {
			t.Fatal("was not killed")
		}
		if err := w.Work(t.Context(), w.op()); err != nil {
			t.Fatal(err)
		}
		w.same("renewals", 1, w.registry.renews)
		w.same("told", 1, w.told("domain.renewed"))
		w.same("previous", `{"expires_at":"2027-03-02T09:00:00Z","grace_until":"2027-04-01T09:00:00Z","redemption_until":"2027-05-01T09:00:00Z"}`,
			w.text(`SELECT CAST(previous AS TEXT) FROM outbox_events WHERE type = 'domain.renewed'`))
		w.same("balance", 10000-1200-1400, w.number(`SELECT balance FROM test_purse`))
		w.exec(`UPDATE test_purse SET balance = 0`)
		clk.Advance(350 * 24 * time.Hour)
		day(35)
		w.same("status", Grace, w.status(id))
		if n := w.told("domain.renewal_failed"); n < 10 {
			t.Errorf("%d refusals were told", n)
		}
		w.same("expired", 1, w.told("domain.expired"))
		day(30)
		w.same("status", Redemption, w.status(id))
		w.exec(`UPDATE test_purse SET balance = 9500`)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return w.Renew(ctx, tx, 1, id, Renewal{Years: 1, Restore: true})
		})
		if err == nil {
			err = w.Work(t.Context(), w.op())
		}
		if err != nil {
			t.Fatal(err)
		}
		w.same("restored", Active, w.status(id))
		w.same("balance", 0, w.number(`SELECT balance FROM test_purse`))
		clk.Advance(500 * 24 * time.Hour)
		day(1)
		w.same("gone", Cancelled, w.status(id))
		w.same("told", 1, w.told("domain.deleted"))
	})
}

// overtaken is a purse whose lock was held by an operation that has just prolonged the domain.
type overtaken struct{ purse }

func (o overtaken) Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error) {
	if _, err := tx.Exec(ctx, `UPDATE domains SET expires_at = expires_at + 31536000000000 WHERE id = $1`, p.DomainID); err != nil {
		return 0, err
	}
	return o.purse.Begin(ctx, tx, p)
}

func TestARenewalThatAnotherHasOvertakenIsNotPaid(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.order("shop.com", "")
		if err := w.Work(t.Context(), w.op()); err != nil {
			t.Fatal(err)
		}
		balance := w.number(`SELECT balance FROM test_purse`)
		w.Orders = overtaken{}
		if status, body := w.call("own", "POST", fmt.Sprintf("/api/v1/domains/%d/renew", id), `{}`); status != http.StatusConflict || key(body) != "job_running" {
			t.Errorf("%d %s", status, body)
		}
		w.same("operations", 1, w.op())
		w.same("the balance", balance, w.number(`SELECT balance FROM test_purse`))
	})
}

// Every process has the same simulated registry, and one does not lose what another writes.
func TestASimulatedRegistryIsOfAllProcesses(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		kept := Simulated{d, "test"}
		if err := kept.Begin(t.Context(), []byte(`{"domains": {"old.com": {"Name": "old.com"}}}`)); err != nil {
			t.Fatal(err)
		}
		if err := kept.Begin(t.Context(), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				r := sandbox.New(kept, clk.Now)
				handle, err := r.PutContact(t.Context(), fmt.Sprintf("c%d", n), registrar.Contact{Name: "A", Email: "a@example.com", Country: "UZ"})
				if err == nil {
					_, err = r.Register(t.Context(), registrar.Registration{Name: fmt.Sprintf("shop%d.com", n), Years: 1, Contacts: everyRole(handle)})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		r := sandbox.New(kept, clk.Now)
		for n := range 8 {
			if got, err := r.Info(t.Context(), fmt.Sprintf("shop%d.com", n)); err != nil || !got.Ours {
				t.Errorf("%+v %v", got, err)
			}
		}
		if _, err := sandbox.New(Simulated{d, "another"}, clk.Now).Info(t.Context(), "shop0.com"); registrar.KindOf(err) != registrar.NotFound {
			t.Errorf("another registry: %v", err)
		}
	})
}

func TestChecks(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.order("ours.com", "")
		for name, want := range map[string]string{
			"free.com": `"available":true`, "taken-x.com": `"available":false`, "ours.com": `"available":false`,
			"check-fails-x.com": `"available":null`, "x.nowhere.net": `"available":null`, "premium-x.com": `"premium":true`,
			"shop.co.uz": `"available":true`, "my.stead.example": "domain_invalid", "stead.example": `"reason":"reserved"`,
			"www.free.com": "domain_invalid", "com": "domain_invalid", "-x.com": "domain_invalid", "магазин.uz": "domain_invalid",
			"%20": "domain_invalid",
		} {
			if _, body := w.call("", "GET", "/api/v1/domains/check?domain="+name, ""); !strings.Contains(body, want) {
				t.Errorf("%s: %s, want %s", name, body, want)
			}
		}
		w.registry.Registry = nil
		w.Registrars = registrars{}
		yes := true
		w.Sources = []registrar.Source{source{"rdap", nil}, source{"whois", &yes}}
		if _, body := w.call("", "GET", "/api/v1/domains/check?domain=free.com", ""); !strings.Contains(body, `"source":"whois"`) {
			t.Error(body)
		}
		w.Sources = []registrar.Source{}
		if _, body := w.call("", "GET", "/api/v1/domains/check?domain=free.com", ""); !strings.Contains(body, `"available":null`) {
			t.Error(body)
		}
	})
}

// broken is a source with a fault.
type broken struct{ source }

func (broken) Lookup(context.Context, string) (registrar.Availability, error) { panic("a fault") }

// A goroutine's panic would end the process; a request's is answered.
func TestAFaultOfASourceIsTheRequests(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.Registrars = registrars{}
		w.Sources = []registrar.Source{broken{}}
		defer func() {
			if v := recover(); !strings.Contains(fmt.Sprint(v), "a fault") {
				t.Errorf("what reaches the request: %v", v)
			}
		}()
		w.call("", "GET", "/api/v1/domains/check?domain=free.com", "")
	})
}

type source struct {
	name string
	free *bool
}

func (s source) Name() string { return s.name }
func (s source) Lookup(_ context.Context, name string) (registrar.Availability, error) {
	return registrar.Availability{Name: name, Available: s.free}, nil
}

func TestOrdersThatCannotBeMade(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for body, want := range map[string]string{
			`{"domain":"shop.com"}`:                                                           "registrant_contact_required",
			`{"domain":"www.shop.com","contact":` + anna + `}`:                                "domain_invalid",
			`{"domain":"shop.uz","contact":` + strings.Replace(anna, "UZ", "XX", 1) + `}`:     `"contact.country":["Use the two capital letters`,
			`{"domain":"shop.uz","contact":` + strings.Replace(anna, "UZ", "ZZ", 1) + `}`:     `"contact.country":["Use the two capital letters`,
			`{"domain":"shop.uz","contact":` + strings.Replace(anna, "+998", "998 ", 1) + `}`: `"contact.phone":["Write the number with a plus sign`,
			`{"domain":"shop.net","contact":` + anna + `}`:                                    "tld_unsupported",
			`{"domain":"stead.example","contact":` + anna + `}`:                               "domain_unavailable",
			`{"domain":"shop.uz","years":6,"contact":` + anna + `}`:                           "period_not_allowed",
			`{"domain":"shop.uz","privacy":true,"contact":` + anna + `}`:                      "privacy_unsupported",
			`{"domain":"shop.uz","operation":"transfer","contact":` + anna + `}`:              "auth_code_required",
			`{"domain":"shop.uz","nameservers":["one.example"],"contact":` + anna + `}`:       "nameserver_invalid",
			`{"domain":"shop.uz","nameservers":["a b","one.example"],"contact":` + anna + `}`: "nameserver_invalid",
			`{"domain":"shop.com","years":10,"contact":` + anna + `}`:                         "insufficient_funds",
			`{"domain":"shop.com","years":11,"contact":` + anna + `}`:                         "validation_failed",
		} {
			if status, answer := w.call("own", "POST", "/api/v1/domains", body); status != 422 || !strings.Contains(answer, want) {
				t.Errorf("%s: %d %s, want %s", body, status, answer, want)
			}
		}
		w.same("domains", 0, w.number(`SELECT count(*) FROM domains`))
		w.same("balance", 10000, w.number(`SELECT balance FROM test_purse`))
	})
}

func TestThePriceBook(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		out, err := w.Export(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		var r Report
		load := func(text string) error {
			return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				r, err = w.Import(ctx, tx, []byte(text))
				return err
			})
		}
		if err := load(string(out)); err != nil || r.TLDs != 5 || len(r.Withdrawn) != 0 {
			t.Errorf("%+v %v", r, err)
		}
		for _, bad := range []string{"tlds: [{tld: com}]", "tlds: [{tld: com, x: 1}]", "nonsense", "zones: []"} {
			if err := load(bad); err == nil {
				t.Errorf("%s was taken", bad)
			}
		}
		_, body := w.call("", "GET", "/api/v1/domains/tlds?per_page=1", "")
		if !strings.Contains(body, `"tld":"com"`) || !strings.Contains(body, `"total":5`) || strings.Contains(body, "1050") {
			t.Error(body)
		}
		if err := load("tlds: []"); err != nil || len(r.Withdrawn) != 5 {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		testkit.Indexed(t, d, func(q db.Querier) error {
			ctx := context.Background()
			ref, soon := "a", clk.Now()
			_, _, ofList := list(ctx, q, 1, Filter{}, page.Params{})
			_, _, ofFiltered := list(ctx, q, 1, Filter{Status: Active, ClientRef: &ref, ExpiresBefore: &soon}, page.Params{})
			_, _, ofExpiring := list(ctx, q, 1, Filter{ExpiresBefore: &soon}, page.Params{})
			_, ofDue := due(ctx, q, clk.Now(), stepBatch)
			_, ofLive := isLive(ctx, q, "a.com", false)
			_, ofOther := listOthers(ctx, q, domain{id: 1}, "com")
			_, ofAnyOther := listOthers(ctx, q, domain{id: 1}, "")
			_, ofOpen := openOperation(ctx, q, 1)
			_, ofWaiting := listWaiting(ctx, q)
			return errors.Join(ofOther, ofAnyOther, ofList, ofFiltered, ofExpiring, ofDue, ofLive, ofOpen, ofWaiting, fill(ctx, q, []domain{{id: 1}, {id: 2}}))
		})
	})
}
