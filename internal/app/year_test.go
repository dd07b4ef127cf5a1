//go:build !race

package app

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/sdk/go/webhook"
)

// yearCatalog has two products whose services live by different days.
const yearCatalog = `
categories:
  - {slug: hosting, name: {en: Hosting, ru: Хостинг, uz: Xosting}}
products:
  - slug: patient
    category: hosting
    type: hosting
    name: {en: Patient, ru: Терпеливый, uz: Sabrli}
    plans: [%s, %s]
  - slug: strict
    category: hosting
    type: hosting
    name: {en: Strict, ru: Строгий, uz: Qattiq}
    terms: {renew_before_days: 7, grace_days: 1, suspended_days: 5, kept_days: 10}
    plans: [%s, %s]
`

// yearPlan has prices in cents, by months, and the days of its product.
type yearPlan struct {
	name                     string
	prices                   map[int]int64
	renewBefore, grace, left int
}

// yearPlans are the catalog's, of which two and two are tariffs of the same; the prices are those that everybody pays.
var yearPlans = []yearPlan{
	{"small", map[int]int64{1: 499, 3: 1399, 12: 4990}, 3, 3, 14},
	{"large", map[int]int64{1: 1299, 3: 3599, 12: 12990}, 3, 3, 14},
	{"quick", map[int]int64{1: 777, 3: 2111, 12: 8003}, 7, 1, 5},
	{"quicker", map[int]int64{1: 1501, 3: 4003, 12: 15001}, 7, 1, 5},
}

// yearDiscount is what resellers pay less, in hundredths of a percent.
const yearDiscount = 2000

// year is a server with resellers whose sandboxes live through a year.
type year struct {
	*App
	t      *testing.T
	rng    *rand.Rand
	plans  map[string]int64
	sold   []*yearPlan // those of yearPlans, at what resellers pay
	all    []*yearReseller
	bought int
	seen   map[string]int // what else happened, and how often
}

type yearReseller struct {
	*modelReseller
	account  int64 // the sandbox
	key      string
	received *receiver
	since    int64 // the last event before the endpoint
	wishes   []yearWish
	topup    int64  // of the payment that is on its way
	checkout string // where it is
	busy     bool   // something is due at once, and nobody says when it is done
}

// yearWish is a service that is to be bought.
type yearWish struct {
	plan   *yearPlan
	months int
}

// receiver is an endpoint that keeps what it is told.
type receiver struct {
	mu       sync.Mutex
	verifier webhook.Verifier
	events   []webhook.Event
	bodies   map[string]string
	faults   []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = r.verifier.Verify(req.Header, body)
	}
	var e webhook.Event
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil {
		r.faults = append(r.faults, err.Error())
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if before, again := r.bodies[e.ID]; again {
		if before != string(body) {
			r.faults = append(r.faults, "two bodies of "+e.ID)
		}
		return
	}
	r.bodies[e.ID] = string(body)
	r.events = append(r.events, e)
}

func newYear(t *testing.T, a *App, resellers int) *year {
	y := &year{App: a, t: t, rng: rand.New(rand.NewPCG(2026, 11)), plans: map[string]int64{}, seen: map[string]int{}}
	y.catalog()
	for n := range resellers {
		y.all = append(y.all, y.reseller(n))
	}
	return y
}

func (y *year) catalog() {
	y.t.Helper()
	var plans []any
	for _, p := range yearPlans {
		var prices []string
		wholesale := map[int]int64{}
		for months, cents := range p.prices {
			prices = append(prices, fmt.Sprintf("{months: %d, usd_cents: %d}", months, cents))
			wholesale[months] = (cents*(10_000-yearDiscount) + 9_999) / 10_000
		}
		plans = append(plans, fmt.Sprintf(`{slug: %s, name: {en: %[1]s, ru: %[1]s, uz: %[1]s}, prices: [%s], limits: {disk_mb: 1000, inodes: -1,
			bandwidth_gb: -1, sites: 1, domains: 1, subdomains: 1, databases: 1, mailboxes: 1, ftp_accounts: 1, cron_jobs: 1, backups: 1,
			cpu_percent: 50, memory_mb: 512, processes: 20}}`, p.name, strings.Join(prices, ", ")))
		p.prices = wholesale
		y.sold = append(y.sold, &p)
	}
	if _, err := y.admin.ImportCatalog(y.t.Context(), fmt.Appendf(nil, yearCatalog, plans...)); err != nil {
		y.t.Fatal(err)
	}
	_, err := db.Collect(y.t.Context(), y.db, func(r db.Row) (_ struct{}, err error) {
		var slug string
		var id int64
		err = r.Scan(&slug, &id)
		y.plans[slug] = id
		return struct{}{}, err
	}, `SELECT slug, id FROM catalog_plans`)
	if err != nil {
		y.t.Fatal(err)
	}
}

// reseller has a sandbox with little play money, whose events go to an endpoint.
func (y *year) reseller(n int) *yearReseller {
	y.t.Helper()
	owner := y.account(y.t)
	r := &yearReseller{modelReseller: &modelReseller{balance: int64(2_000 * (n + 1))}, received: &receiver{bodies: map[string]string{}}}
	err := y.db.InTx(y.t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		if r.account, err = y.accounts.EnsureSandbox(ctx, tx, owner); err != nil {
			return err
		}
		return y.wallet.OpenSandbox(ctx, tx, r.account, money.USDCents(r.balance))
	})
	if err == nil {
		_, err = y.App.reseller.Appoint(y.t.Context(), owner, "gold", yearDiscount)
	}
	if err == nil {
		_, r.key, err = y.App.reseller.CreateKey(y.t.Context(), owner, reseller.NewKey{Name: "Year", Sandbox: true})
	}
	if err != nil {
		y.t.Fatal(err)
	}
	// What happened before there is an endpoint is not for it.
	y.heard()
	server := httptest.NewServer(r.received)
	y.t.Cleanup(server.Close)
	var endpoint struct {
		Secret string `json:"secret"`
	}
	y.ask(r, http.StatusCreated, "POST", "/webhooks", fmt.Sprintf(`{"url": %q}`, server.URL)).decode(y.t, &endpoint)
	r.since = int64(y.count(`SELECT COALESCE(MAX(id), 0) FROM outbox_events`))
	r.received.verifier = webhook.Verifier{Secrets: []string{endpoint.Secret}}
	return r
}

// ask wants an answer with the status.
func (y *year) ask(r *yearReseller, status int, method, path, body string) answer {
	y.t.Helper()
	a := y.do(y.t, request{method: method, path: "/api/v1/reseller" + path, token: r.key, body: body})
	if a.status != status {
		y.t.Fatalf("%s %s %s of %d: %v, want %d", method, path, body, r.account, a, status)
	}
	return a
}

// move takes all clocks on, and wants the money of each to be what the model says.
func (y *year) move(by func(*yearReseller) time.Duration) {
	y.t.Helper()
	for _, r := range y.all {
		to := r.now.Add(by(r))
		y.ask(r, http.StatusAccepted, "POST", "/clock/advance", fmt.Sprintf(`{"to": %q}`, to.Format(time.RFC3339Nano)))
		r.advance(to)
	}
	testkit.Eventually(y.t, 5*time.Minute, func() bool {
		return y.count(`SELECT COUNT(*) FROM clocks_accounts WHERE target IS NOT NULL`) == 0
	}, "all clocks have arrived")
	for _, r := range y.all {
		var clock struct {
			Now    time.Time
			Status string
		}
		y.ask(r, http.StatusOK, "GET", "/clock", "").decode(y.t, &clock)
		balance, err := y.wallet.Balance(y.t.Context(), y.db, r.account)
		if err != nil {
			y.t.Fatal(err)
		}
		if int64(balance.Spendable) != r.balance || !clock.Now.Equal(r.now) || clock.Status != "ready" {
			y.judge(r)
			y.t.Fatalf("at %v account %d has %d, the model has %d at %v", clock.Now, r.account, balance.Spendable, r.balance, r.now)
		}
	}
}

// settle lets all take effect that is due, and a payment that is on its way put off a suspension.
func (y *year) settle() {
	y.move(func(r *yearReseller) time.Duration {
		by := time.Second
		for _, s := range r.all {
			if at, then := s.ends(); r.paying && then == "suspended" && at.Before(r.now.Add(soon)) {
				by = max(by, at.Add(25*time.Minute).Sub(r.now))
			}
		}
		return by
	})
}

// soon is how long before a suspension a payment may begin that puts it off.
const soon = 36 * time.Hour

// heard waits until all have heard of what happened, and have done what they do of it.
func (y *year) heard() {
	y.t.Helper()
	testkit.Eventually(y.t, 2*time.Minute, func() bool {
		return y.count(`SELECT COUNT(*) FROM outbox_events WHERE fan_out AND fanned_at IS NULL`) == 0
	}, "all have heard")
}

func (y *year) count(query string, args ...any) (n int) {
	y.t.Helper()
	if err := y.db.QueryRow(y.t.Context(), query, args...).Scan(&n); err != nil {
		y.t.Fatal(err)
	}
	return n
}

// judge compares what was charged, what became of the services and what was told of it with the model.
func (y *year) judge(r *yearReseller) {
	y.t.Helper()
	charges, moves := map[int64][]string{}, map[int64][]string{}
	_, err := db.Collect(y.t.Context(), y.db, func(row db.Row) (_ struct{}, err error) {
		var id, cents int64
		var at time.Time
		err = row.Scan(&id, &cents, &at)
		charges[id] = append(charges[id], modelNote(at, cents))
		return struct{}{}, err
	}, `SELECT i.service_id, -t.amount, t.created_at FROM wallet_transactions t JOIN orders_items i ON i.order_id = t.reference_id
		WHERE t.account_id = $1 AND t.reference_type = 'order' AND t.type <> 'capture' ORDER BY t.id`, r.account)
	if err != nil {
		y.t.Fatal(err)
	}
	_, err = db.Collect(y.t.Context(), y.db, func(row db.Row) (_ struct{}, err error) {
		var id int64
		var data, previous string
		var at time.Time
		if err := row.Scan(&id, &data, &previous, &at); err != nil {
			return struct{}{}, err
		}
		var now, before struct{ Status string }
		if err := json.Unmarshal([]byte(data), &now); err != nil {
			return struct{}{}, err
		}
		if err := json.Unmarshal([]byte(previous), &before); err != nil {
			return struct{}{}, err
		}
		if before.Status != "" {
			moves[id] = append(moves[id], modelNote(at, now.Status))
		}
		return struct{}{}, nil
	}, `SELECT subject_id, data, COALESCE(previous, '{}'), created_at FROM outbox_events WHERE account_id = $1 AND subject = 'service'
		ORDER BY subject_id, sequence`, r.account)
	if err != nil {
		y.t.Fatal(err)
	}
	for _, s := range r.all {
		if diff := cmp.Diff(s.charges, charges[s.id]); diff != "" {
			y.t.Errorf("charges of service %d of %d (-model +server):\n%s", s.id, r.account, diff)
		}
		if diff := cmp.Diff(s.moves, moves[s.id]); diff != "" {
			y.t.Errorf("changes of state of service %d of %d, each with its event (-model +server):\n%s", s.id, r.account, diff)
		}
	}
}

// delivered wants the endpoint to have got each event of the account once, and those of one thing in order.
func (y *year) delivered(r *yearReseller) int {
	y.t.Helper()
	type told struct {
		subject  string
		sequence int64
	}
	outbox := map[string]told{}
	_, err := db.Collect(y.t.Context(), y.db, func(row db.Row) (_ struct{}, err error) {
		var uid, subject string
		var id, sequence int64
		err = row.Scan(&uid, &subject, &id, &sequence)
		outbox[uid] = told{subject + " " + strconv.FormatInt(id, 10), sequence}
		return struct{}{}, err
	}, `SELECT uid, subject, subject_id, sequence FROM outbox_events WHERE account_id = $1 AND id > $2
		AND type IN (SELECT type FROM webhooks_events)`, r.account, r.since)
	if err != nil {
		y.t.Fatal(err)
	}
	r.received.mu.Lock()
	defer r.received.mu.Unlock()
	if len(r.received.faults) > 0 {
		y.t.Errorf("account %d was told what it could not take: %v", r.account, r.received.faults)
	}
	last := map[string]int64{} // before the endpoint was there
	for _, o := range outbox {
		if before, ok := last[o.subject]; !ok || o.sequence <= before {
			last[o.subject] = o.sequence - 1
		}
	}
	for _, e := range r.received.events {
		o, known := outbox[e.ID]
		if !known || o.sequence != e.Sequence || e.Sequence != last[o.subject]+1 || !e.Sandbox {
			y.t.Errorf("account %d was told of %+v after %d of %q", r.account, e, last[o.subject], o.subject)
		}
		last[o.subject] = e.Sequence
	}
	if len(r.received.events) != len(outbox) {
		y.t.Errorf("account %d was told of %d events, there were %d", r.account, len(r.received.events), len(outbox))
	}
	return len(outbox)
}

// live lets the year pass, and judges it. What is named must have happened, or the year is too kind to say anything.
func (y *year) live(services int, must ...string) {
	y.t.Helper()
	began := y.clock.Now()
	for _, r := range y.all {
		r.now = y.clock.Now().Truncate(time.Second).Add(time.Minute)
	}
	y.move(func(*yearReseller) time.Duration { return time.Hour }) // from here on they stand
	end := y.all[0].now.AddDate(1, 1, 0)                           // of which the first month is for buying
	const waves = 3
	for round := 0; y.all[0].now.Before(end); round++ {
		for _, r := range y.all {
			for n := range 4 {
				y.act(r, n == 3)
			}
			for n := range services / len(y.all) {
				if round == n*waves/(services/len(y.all)) {
					y.wish(r)
				}
			}
		}
		y.credit()
		y.settle() // all that takes effect before more happens
		for _, r := range y.all {
			y.buy(r)
		}
		y.endPayments()
		y.move(func(*yearReseller) time.Duration { return time.Duration(24*9+y.rng.IntN(24*12)) * time.Hour })
		if testing.Verbose() {
			y.t.Logf("round %d: %v, after %v", round, y.all[0].now.Format(time.DateOnly), y.clock.Now().Sub(began))
		}
	}
	testkit.Eventually(y.t, 3*time.Minute, func() bool {
		return y.count(`SELECT COUNT(*) FROM outbox_events WHERE fan_out AND fanned_at IS NULL`) == 0 &&
			y.count(`SELECT COUNT(*) FROM webhooks_deliveries WHERE status IN ('pending', 'sending')`) == 0
	}, "everybody has heard of everything")
	events, states := 0, y.seen
	for _, r := range y.all {
		y.judge(r)
		events += y.delivered(r)
		for _, s := range r.all {
			states[s.state]++
			for _, m := range s.moves {
				_, state, _ := strings.Cut(m, " ")
				states["→ "+state]++
			}
			states["charges"] += len(s.charges)
		}
	}
	if err := auditLedger(y.t.Context(), y.wallet); err != nil {
		y.t.Error(err)
	}
	if y.bought != services {
		y.t.Errorf("%d services were bought, not %d", y.bought, services)
	}
	for _, what := range must {
		if states[what] == 0 {
			y.t.Errorf("never: %s", what)
		}
	}
	y.t.Logf("%d steps, %d jobs, %d notifications", y.count(`SELECT COUNT(*) FROM services_steps`), y.count(`SELECT MAX(id) FROM river_job`), y.count(`SELECT COUNT(*) FROM notifications`))
	y.t.Logf("%d services of %d resellers, %d events, %v in %v", y.bought, len(y.all), events, states, y.clock.Now().Sub(began))
}

// wholeYear is set by make test-all. The ordinary run simulates the year with 150 services.
var wholeYear = flag.Bool("whole-year", false, "simulate the year with a thousand services")

// TestAYearOfResellers: services are bought, renewed, not paid, suspended, ended, paid, moved to other tariffs, on the
// test clocks of their sandboxes. In the end each was charged exactly what the model says, each of its changes of state
// was told of once and at its time, every event arrived, in order, and every ledger sums to zero.
func TestAYearOfResellers(t *testing.T) {
	settings := map[string]string{"demo": "true", "panel": "sandbox", "node_listen": "off", "node_tls_listen": "off", "dns_listen": "off"}
	t.Run("sqlite", func(t *testing.T) { newYear(t, start(t, settings), 2).live(20) })
	t.Run("postgres", func(t *testing.T) {
		settings["database_url"] = testkit.PostgresURL(t)
		must := []string{"active", "terminated", "→ past_due", "→ suspended", "→ terminating", "restored"}
		if !*wholeYear {
			newYear(t, start(t, settings), 10).live(150, must...)
			return
		}
		must = append(must, "pay", "decline", "suspension put off") // too rare for few services
		newYear(t, start(t, settings), 20).live(1000, must...)
	})
}
