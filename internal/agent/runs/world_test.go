package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/llm"
	"stead.dev/stead/internal/port/llm/scripted"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

// mine is the service of the tests.
const mine = 10

// machine is the simulated machine, whose files a test can have fail or hang.
type machine struct {
	sandbox.Panel

	mu     sync.Mutex
	before func(operation, path string) error // before each change
	after  func(operation, path string)
}

func (m *machine) hooked(operation, path string, f func() error) error {
	m.mu.Lock()
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(operation, path); err != nil {
			return err
		}
	}
	err := f()
	if err == nil && after != nil {
		after(operation, path)
	}
	return err
}

// hook has functions called before and after each change of files.
func (m *machine) hook(before func(operation, path string) error, after func(operation, path string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.after = before, after
}

func (m *machine) Write(ctx context.Context, ref, path string, data []byte, opt panel.WriteOptions) (e panel.Entry, err error) {
	err = m.hooked("write", path, func() error { e, err = m.Panel.Write(ctx, ref, path, data, opt); return err })
	return e, err
}

func (m *machine) Move(ctx context.Context, ref, from, to string, overwrite bool) (e panel.Entry, err error) {
	err = m.hooked("move", from, func() error { e, err = m.Panel.Move(ctx, ref, from, to, overwrite); return err })
	return e, err
}

func (m *machine) Extract(ctx context.Context, ref, archive, target string, overwrite bool) (x panel.Extracted, err error) {
	err = m.hooked("extract", archive, func() error { x, err = m.Panel.Extract(ctx, ref, archive, target, overwrite); return err })
	return x, err
}

func (m *machine) Remove(ctx context.Context, ref, path string, recursive bool) error {
	return m.hooked("remove", path, func() error { return m.Panel.Remove(ctx, ref, path, recursive) })
}

// CheckPHP refuses programs with the word broken.
func (m *machine) CheckPHP(_ context.Context, _ string, source []byte) (string, error) {
	if strings.Contains(string(source), "broken") {
		return "PHP Parse error:  syntax error, unexpected identifier on line 2", nil
	}
	return "", nil
}

// purse keeps the money of the tests' customer, in the transactions of who charges it.
type purse struct {
	*world

	most money.USDCents // what the customer paid in
}

// open makes the table of the purse.
func (p *purse) open() {
	p.Must(p.Service.DB.InTx(p.T.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE purse (run BIGINT PRIMARY KEY, held BIGINT NOT NULL, captured BIGINT NOT NULL)`)
		return err
	}))
}

func (p *purse) Charge(ctx context.Context, tx *db.Tx, c sale.Charge) error {
	var gone money.USDCents
	if err := tx.QueryRow(ctx, `SELECT COALESCE(SUM(held + captured), 0) FROM purse`).Scan(&gone); err != nil {
		return err
	}
	if c.Amount > p.most-gone {
		return fault.InsufficientFunds.New()
	}
	_, err := tx.Exec(ctx, `INSERT INTO purse (run, held, captured) VALUES ($1, $2, 0)`, c.Reference.ID, c.Amount)
	return err
}

func (p *purse) CapturePart(ctx context.Context, tx *db.Tx, ref sale.Reference, amount money.USDCents, _ string) error {
	n, err := tx.Exec(ctx, `UPDATE purse SET held = 0, captured = $2 WHERE run = $1 AND held > 0 AND $2 BETWEEN 0 AND held`, ref.ID, amount)
	if err == nil && n != 1 {
		err = fmt.Errorf("capture %d of what is not held for %v", amount, ref)
	}
	return err
}

// revenue is what was charged in all.
func (p *purse) revenue() int { return p.number(`SELECT COALESCE(SUM(captured), 0) FROM purse`) }

// signals deliver at once.
type signals struct {
	mu   sync.Mutex
	subs []func(string)
}

func (s *signals) Send(_ context.Context, tx *db.Tx, _, payload string) error {
	tx.OnCommit(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, f := range s.subs {
			f(payload)
		}
	})
	return nil
}

func (s *signals) Subscribe(_ string, f func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs = append(s.subs, f)
}

// world is the section on a simulated machine, with a model that plays a transcript.
type world struct {
	sitetest.World
	*Service

	machine *machine
	dir     string // of the machine
	purse   *purse
	shelf   *shelf
	signals *signals
}

// price makes an answer of 1,000 tokens read and 100 written cost 0.45 cents.
var price = llm.Price{Input: 3_000_000, Cached: 300_000, CacheWrite: 3_000_000, Output: 15_000_000}

const startBalance money.USDCents = 1000

func engines(t *testing.T, transcript string, f func(w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) {
		w := &world{
			World:   base,
			machine: &machine{},
			dir:     base.T.TempDir(),
			signals: &signals{}, shelf: newShelf(),
		}
		simulated, err := sandbox.Open(context.WithoutCancel(w.T.Context()), w.dir, w.Clock.Now, slog.New(slog.DiscardHandler))
		w.Must(err)
		w.T.Cleanup(func() { _ = simulated.Close() })
		w.machine.Panel = simulated
		w.purse = &purse{world: w, most: startBalance}
		w.Service = w.replica(play(base.T, transcript))
		w.purse.open()
		w.Mount(w.Operations(), apitest.Tokens{
			"own":     {AccountID: sitetest.Owner, ApplicationID: 1, Scopes: []string{"ai:read", "ai:write"}, FirstParty: true},
			"other":   {AccountID: sitetest.Stranger, ApplicationID: 1, Scopes: []string{"ai:read", "ai:write"}, FirstParty: true},
			"client":  {AccountID: sitetest.Owner, ApplicationID: 2, Scopes: []string{"ai:read", "ai:write"}},
			"sandbox": {AccountID: sitetest.Owner, ApplicationID: 3, Scopes: []string{"ai:read", "ai:write"}, Sandbox: true},
		})
		w.Sell(w.machine, site.Site{ServiceID: mine, AccountID: sitetest.Owner})
		w.put("/public_html/index.html", homePage)
		f(w)
	})
}

// homePage is the home page of the site.
const homePage = "<h1>Shop</h1>\n<p>Open 9-17</p>\n"

// play is a client of a transcript.
func play(t testing.TB, transcript string) llm.Client {
	t.Helper()
	parsed, err := scripted.Parse([]byte(transcript))
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New(llm.Limits{First: time.Second, Idle: 50 * time.Millisecond, Total: time.Second}, parsed)
}

// replica is the section in another process on the same database, with a model of its own.
func (w *world) replica(client llm.Client) *Service {
	w.T.Helper()
	catalog, err := llm.NewCatalog(llm.Model{Name: "played", Provider: llm.ProviderScripted, ID: "x", Price: price})
	w.Must(err)
	offer, err := llm.NewOffer(catalog, func(llm.Model) (llm.Client, error) {
		return llm.RetryWith(client, func(context.Context, time.Duration) error { return nil }), nil
	})
	w.Must(err)
	s := New(Config{
		Base: w.On(jobs.Discard{}, w.machine), Clock: w.Clock, Events: outbox.New(w.DB), Signals: w.signals, Log: slog.New(slog.NewTextHandler(w.T.Output(), nil)),
		Wallet: w.purse, Models: offer, Ending: make(chan struct{}),
	})
	s.Connect(w.shelf.needs())
	return s
}

// work has a replica work on runs until the test ends.
func (w *world) work(s *Service) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.T.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	stop = func() { cancel(); <-ended }
	w.T.Cleanup(stop)
	return stop
}

func (w *world) put(path, content string) {
	w.T.Helper()
	_, err := w.machine.Panel.Write(w.T.Context(), fmt.Sprint(mine), path, []byte(content), panel.WriteOptions{Parents: true})
	w.Must(err)
}

// file is what is at a path, or the kind of the refusal.
func (w *world) file(path string) string {
	c, err := w.machine.Read(context.WithoutCancel(w.T.Context()), fmt.Sprint(mine), path, panel.ReadOptions{MaxBytes: 8 << 20})
	if err != nil {
		return string(panel.KindOf(err))
	}
	return string(c.Data)
}

// api makes a request to a whole path.
func (w *world) api(method, path, token, body string) sitetest.Reply {
	rec := apitest.Call(w.Handler, token, method, path, body)
	return sitetest.Reply{Code: rec.Code, Body: rec.Body.String()}
}

// settle switches the agent on.
func (w *world) enable(mode Mode, further string) {
	w.T.Helper()
	if r := w.api("PUT", "/api/v1/ai/settings", "own", fmt.Sprintf(`{"enabled": true, "mode": %q%s}`, mode, further)); r.Code != http.StatusOK {
		w.T.Fatal(r)
	}
}

// answer is what tests read of a run.
type answer struct {
	ID             int64
	ConversationID int64 `json:"conversation_id"`
	Status         Status
	EndReason      Reason `json:"end_reason"`
	Message        string
	Steps          int
	Changes        []changeWire
}

// task gives the agent a task and waits for what comes of it.
func (w *world) task(text string) (a answer) {
	w.T.Helper()
	w.Read(http.StatusOK, "POST", fmt.Sprintf("/%d/ai/run", mine), fmt.Sprintf(`{"message": %q}`, text), &a)
	return a
}

// until waits until a run is in a state.
func (w *world) until(id int64, status Status) (a answer) {
	w.T.Helper()
	testkit.Eventually(w.T, time.Minute, func() bool {
		a = answer{}
		w.Read(http.StatusOK, "GET", fmt.Sprintf("/%d/ai/runs/%d", mine, id), "", &a)
		return a.Status == status || !a.Status.open()
	}, "the run is "+string(status))
	if a.Status != status {
		w.T.Fatalf("%+v, want it %s", a, status)
	}
	return a
}

// rests waits until a run is over or waits for a person.
func (w *world) rests(id int64) (a answer) {
	w.T.Helper()
	testkit.Eventually(w.T, 20*time.Second, func() bool {
		a = answer{}
		w.Read(http.StatusOK, "GET", fmt.Sprintf("/%d/ai/runs/%d", mine, id), "", &a)
		return a.Status == Waiting || !a.Status.open()
	}, "the run rests")
	return a
}

// begin writes a task without waiting for anything.
func (w *world) begin(text string) run {
	w.T.Helper()
	r, err := w.start(w.T.Context(), sitetest.Owner, mine, text, nil)
	w.Must(err)
	return r
}

// question is the open question about the service.
func (w *world) question() approvalWire {
	w.T.Helper()
	open := sitetest.List[approvalWire](&w.World, fmt.Sprintf("/%d/ai/approvals?status=pending", mine))
	if len(open) != 1 {
		w.T.Fatalf("%d open questions", len(open))
	}
	return open[0]
}

func (w *world) decides(id int64, approve bool) sitetest.Reply {
	return w.Do("POST", fmt.Sprintf("/%d/ai/approvals/%d/decide", mine, id), "own", fmt.Sprintf(`{"approve": %v}`, approve))
}

// kinds are the types of a run's events, without the text.
func (w *world) kinds(id int64) string {
	w.T.Helper()
	events, err := eventsAfter(w.T.Context(), w.DB, id, 0, 1000)
	w.Must(err)
	var all []string
	for i, e := range events {
		if e.seq != int64(i+1) || !json.Valid([]byte(e.data)) {
			w.T.Errorf("event %d: %+v", i+1, e)
		}
		if e.typ != "message.delta" {
			all = append(all, e.typ)
		}
	}
	return strings.Join(all, " ")
}

// whole checks what holds when no run is open: nothing is held.
func (w *world) whole() {
	w.T.Helper()
	if n := w.number(`SELECT COUNT(*) FROM purse WHERE held > 0`); n != 0 {
		w.T.Errorf("the money of %d runs is held", n)
	}
}

// everything is all that the section keeps, as text.
func (w *world) everything() string {
	w.T.Helper()
	var all strings.Builder
	for _, query := range []string{
		`SELECT content FROM ai_messages`, `SELECT arguments FROM ai_calls`, `SELECT diff FROM ai_changes`, `SELECT changes FROM ai_approvals`,
		`SELECT data FROM ai_events`, `SELECT data FROM outbox_events`,
	} {
		rows, err := db.Collect(w.T.Context(), w.DB, func(r db.Row) (s string, err error) { return s, r.Scan(&s) }, query)
		w.Must(err)
		all.WriteString(strings.Join(rows, "\n"))
	}
	return all.String()
}

var errUnreachable = errors.Join(panel.ErrUnreachable, errors.New("the machine does not answer"))
