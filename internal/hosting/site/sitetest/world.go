package sitetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// The accounts of tests: services are the owner's, and the stranger tries to reach them.
const (
	Owner    = 1
	Stranger = 2
)

// World is what the tests of a section have: a database, services in a table of the test's, the operations of the section,
// and shorthands for what tests do with them. The tests' own world embeds it beside the section.
type World struct {
	T        *testing.T
	DB       *db.DB
	Clock    *clock.Fake
	Services Services
	Edge
}

// NewWorld makes a world without services; Mount gives it operations.
func NewWorld(t *testing.T, d *db.DB, clk *clock.Fake) World {
	t.Helper()
	return World{T: t, DB: d, Clock: clk, Services: New(t, d)}
}

// Engines runs f in a world of its own on both engines.
func Engines(t *testing.T, f func(w World)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(NewWorld(t, d, clk)) })
}

// Mount serves the operations of the section. Further tokens join those of Edge.
func (w *World) Mount(operations []api.Route, further ...apitest.Tokens) {
	w.T.Helper()
	w.Edge = NewEdge(w.T, w.DB, w.Clock, operations, further...)
}

// On is what a section of the world works with: a queue, the panel "it", and the panel "bare", which can do nothing.
func (w *World) On(q jobs.Enqueuer, it panel.Panel) site.Base {
	return site.Base{DB: w.DB, Queue: q, Services: w.Services, Panels: Panels{"it": it, "bare": Bare{}}, Outbox: outbox.New(w.DB)}
}

// Must fails the test when there is an error.
func (w *World) Must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// Tx runs f in a transaction that succeeds.
func (w *World) Tx(f func(ctx context.Context, tx *db.Tx) error) {
	w.T.Helper()
	w.Must(w.DB.InTx(w.T.Context(), f))
}

// Exec executes a statement.
func (w *World) Exec(statement string, args ...any) {
	w.T.Helper()
	w.Services.exec(w.T, statement, args...)
}

// Sell makes the account of a service on a panel, and the service. What on leaves empty is the usual: an active service on
// the panel "it", with the names that follow from its id.
func (w *World) Sell(accounts panel.Accounts, on site.Site) {
	w.T.Helper()
	w.SellWithin(accounts, on, panel.Limits{})
}

// SellWithin is Sell for an account with limits.
func (w *World) SellWithin(accounts panel.Accounts, on site.Site, limits panel.Limits) {
	w.T.Helper()
	set := func(member *string, usual string) {
		if *member == "" {
			*member = usual
		}
	}
	set(&on.Panel, "it")
	set(&on.Ref, fmt.Sprint(on.ServiceID))
	set(&on.Username, "s"+on.Ref)
	set(&on.Status, "active")
	primary := on.Domain
	set(&primary, on.Username+".example")
	_, err := accounts.CreateAccount(w.T.Context(), panel.AccountSpec{Ref: on.Ref, Username: on.Username, PrimaryDomain: primary, Limits: limits})
	w.Must(err)
	w.Services.Add(w.T, on)
}

// Start works the jobs of a queue until the test ends.
func (w *World) Start(q *jobs.Queue) {
	w.T.Helper()
	w.Must(q.Start(context.WithoutCancel(w.T.Context())))
	w.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := q.Stop(ctx); err != nil {
			w.T.Error(err)
		}
	})
}

// Read makes a request of the owner's that succeeds with the status code, and reads its answer into a value.
func (w *World) Read(code int, method, target, body string, into any) {
	w.T.Helper()
	r := w.Do(method, target, "own", body)
	if err := json.Unmarshal([]byte(r.Body), into); err != nil || r.Code != code {
		w.T.Fatalf("%s %s %s: %d %s, want %d", method, target, body, r.Code, r.Body, code)
	}
}

// List reads the rows of a list.
func List[R any](w *World, target string) []R {
	w.T.Helper()
	var l struct{ Data []R }
	w.Read(http.StatusOK, "GET", target, "", &l)
	return l.Data
}

// ByKey is List with the rows by their keys.
func ByKey[R any, K comparable](w *World, target string, key func(R) K) map[K]R {
	w.T.Helper()
	all := map[K]R{}
	for _, r := range List[R](w, target) {
		all[key(r)] = r
	}
	return all
}

// Refusal is a request that is refused. It is an alias, so that tables of them need not repeat the names of the fields.
type Refusal = struct {
	Method, Target, Token, Body string
	Code                        int
	Key                         string
}

// Refused makes requests that are refused.
func (w *World) Refused(all ...Refusal) {
	w.T.Helper()
	for _, c := range all {
		if r := w.Do(c.Method, c.Target, c.Token, c.Body); r.Code != c.Code || r.Key() != c.Key {
			w.T.Errorf("%s %s %.80s as %s: %d %s, want %d %s", c.Method, c.Target, c.Body, c.Token, r.Code, r.Body, c.Code, c.Key)
		}
	}
}

// EventTypes are the types of all events, in their order.
func (w *World) EventTypes() []string {
	w.T.Helper()
	types, err := db.Collect(w.T.Context(), w.DB, func(r db.Row) (s string, err error) { return s, r.Scan(&s) },
		`SELECT type FROM outbox_events ORDER BY id`)
	w.Must(err)
	return types
}

// AtOnce makes n requests at the same time, and counts their answers by status code and error key.
func AtOnce(n int, request func(i int) Reply) map[string]int {
	replies := make([]Reply, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { replies[i] = request(i) })
	}
	wg.Wait()
	counted := map[string]int{}
	for _, r := range replies {
		counted[fmt.Sprint(r.Code, r.Key())]++
	}
	return counted
}

// source is a section whose rows go into backups.
type source interface {
	Export(ctx context.Context, q db.Querier, accountID, serviceID int64) (json.RawMessage, error)
	Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, items []string) error
}

// Exported returns what a section has for the backup of a service of the owner's; empty when it has nothing.
func (w *World) Exported(section source, serviceID int64) string {
	w.T.Helper()
	document, err := section.Export(w.T.Context(), w.DB, Owner, serviceID)
	w.Must(err)
	return string(document)
}

// Reimport has a section take back what a document has for a service of the owner's.
func (w *World) Reimport(section source, serviceID int64, document string, items ...string) error {
	return w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error {
		return section.Import(ctx, tx, Owner, serviceID, json.RawMessage(document), items)
	})
}

// Bare is a panel that can do nothing.
type Bare struct{}

// Name implements panel.Panel.
func (Bare) Name() string { return "bare" }

// Open opens a panel in a folder of its own, such as the sandbox's, until the test ends.
func Open[P io.Closer](t testing.TB, now func() time.Time,
	open func(ctx context.Context, dir string, now func() time.Time, log *slog.Logger) (P, error),
) P {
	t.Helper()
	p, err := open(t.Context(), t.TempDir(), now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Queue makes a queue of jobs, which nobody works until it is started.
func Queue(t testing.TB, d *db.DB) *jobs.Queue {
	t.Helper()
	const workers = 4
	q, err := jobs.New(d, jobs.Config{MaxWorkers: workers, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Edge serves a section's operations to the token "own" of the owner, which reads and changes services, and to "other" of the
// stranger, which may do anything.
type Edge struct{ http.Handler }

// NewEdge serves the operations, to further tokens too.
func NewEdge(t testing.TB, d *db.DB, clk clock.Clock, operations []api.Route, further ...apitest.Tokens) Edge {
	t.Helper()
	tokens := apitest.Tokens{
		"own":   {AccountID: Owner, ApplicationID: 1, Scopes: []string{auth.ScopeServicesRead, auth.ScopeServicesWrite}},
		"other": {AccountID: Stranger, ApplicationID: 1, Scopes: auth.Scopes},
	}
	for _, more := range further {
		maps.Copy(tokens, more)
	}
	return Edge{apitest.NewEdge(t, d, clk, tokens, operations)}
}

// Reply is what a request got.
type Reply struct {
	Code int
	Body string
}

// Key is the error key; empty when there is none.
func (r Reply) Key() string {
	var e struct{ Error string }
	_ = json.Unmarshal([]byte(r.Body), &e) // no object has no key
	return e.Error
}

// Do makes a request; target is what follows /api/v1/services.
func (e Edge) Do(method, target, token, body string) Reply {
	rec := apitest.Call(e, token, method, "/api/v1/services"+target, body)
	return Reply{rec.Code, strings.TrimSpace(rec.Body.String())}
}
