// Package servicestest is what stands around services in the tests of package services and of package billing: a panel, an
// order book, plans, names, and money.
package servicestest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/port/panel"
)

var update = flag.Bool("update", false, "write the golden answers anew")

// Seller takes money for services.
type Seller interface {
	Sell(ctx context.Context, tx *db.Tx, all []sale.Sale) ([]sale.Sold, error)
	Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error)
}

// World is what stands around the services of a test. It is their order book, too: Selling takes the money.
type World struct {
	*Book
	T       *testing.T
	DB      *db.DB
	Clk     *clock.Fake
	Queue   *jobs.Queue
	Events  *outbox.Outbox
	Panel   *Machine
	Names   Names
	Till    Till
	Used    Used
	Selling Seller // the till, unless a test has another one
	Edge    http.Handler
}

// New makes the world of a test.
func New(t *testing.T, d *db.DB, clk *clock.Fake) *World {
	t.Helper()
	q, err := jobs.New(d, jobs.Config{MaxWorkers: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := &World{
		T: t, DB: d, Clk: clk, Queue: q, Events: outbox.New(d), Book: &Book{},
		Panel: &Machine{Made: map[string]panel.Account{}, Now: clk.Now},
	}
	w.Selling = &w.Till
	w.Exec(`CREATE TABLE test_book (order_id BIGINT NOT NULL, outcome TEXT NOT NULL)`)
	return w
}

// Panels are those of the world: the machine, and one that can do nothing.
func (w *World) Panels() Panels { return Panels{"node": w.Panel, "bare": Bare{}} }

// Serve serves operations to the accounts 1 ("own") and 2 ("other").
func (w *World) Serve(operations ...api.Route) {
	scopes := []string{"services:read", "services:write"}
	w.Edge = apitest.NewEdge(w.T, w.DB, w.Clk, apitest.Tokens{
		"own":   {AccountID: 1, ApplicationID: 1, Scopes: scopes},
		"other": {AccountID: 2, ApplicationID: 1, Scopes: scopes},
	}, operations)
}

// Sell implements billing.Orders.
func (w *World) Sell(ctx context.Context, tx *db.Tx, all []sale.Sale) ([]sale.Sold, error) {
	return w.Selling.Sell(ctx, tx, all)
}

// Begin implements services.OrderBook.
func (w *World) Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error) {
	return w.Selling.Begin(ctx, tx, p)
}

// In runs f in a transaction and wants it to succeed.
func (w *World) In(f func(ctx context.Context, tx *db.Tx) error) {
	w.T.Helper()
	if err := w.DB.InTx(w.T.Context(), f); err != nil {
		w.T.Fatal(err)
	}
}

// Exec executes a statement.
func (w *World) Exec(statement string, args ...any) {
	w.T.Helper()
	w.In(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}

// Texts reads one column of strings.
func (w *World) Texts(query string, args ...any) []string {
	w.T.Helper()
	out, err := db.Collect(w.T.Context(), w.DB, func(r db.Row) (s string, err error) {
		err = r.Scan(&s)
		return s, err
	}, query, args...)
	if err != nil {
		w.T.Fatal(err)
	}
	return out
}

// Outcomes are how orders ended.
func (w *World) Outcomes() []string { return w.Texts(`SELECT outcome FROM test_book ORDER BY outcome`) }

// Jobs counts the jobs of a kind that are to be done.
func (w *World) Jobs(kind string) int {
	return len(w.Texts(`SELECT kind FROM river_job WHERE kind = $1 AND state <> 'completed'`, kind))
}

// Told are the types of a service's events.
func (w *World) Told(id int64) []string {
	return w.Texts(`SELECT type FROM outbox_events WHERE subject = 'service' AND subject_id = $1 ORDER BY sequence`, id)
}

// Same compares.
func (w *World) Same(what string, want, got any) {
	w.T.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.T.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Call sends a request and answers status and body.
func (w *World) Call(token, method, path, body string) (int, []byte) {
	w.T.Helper()
	rec := apitest.Call(w.Edge, token, method, path, body)
	return rec.Code, rec.Body.Bytes()
}

// Golden compares an answer with the file of that name in testdata; -update writes it.
func (w *World) Golden(name string, body []byte) {
	w.T.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		w.T.Fatalf("%s: %v", body, err)
	}
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o600); err != nil {
			w.T.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.T.Fatal(err)
	}
	w.Same(name, string(want), pretty.String())
}

// Ask is an order's wish of account 1 for a domain.
func Ask(domain string) sale.Reservation {
	return sale.Reservation{
		AccountID: 1, OrderID: 77, Type: "hosting", Domain: domain, PlanID: 3, PlanSlug: "start", PlanName: "Start",
		Limits: json.RawMessage(`{"disk_mb":1024,"inodes":-1,"domains":1}`), PeriodMonths: 1, RenewPrice: 499,
	}
}

// Post sends a request about a service and answers status and body.
func (w *World) Post(token string, id int64, what, body string) (int, map[string]any) {
	w.T.Helper()
	status, data := w.Call(token, http.MethodPost, fmt.Sprintf("/api/v1/services/%d/%s", id, what), body)
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		w.T.Fatalf("%s: %v", data, err)
	}
	return status, answer
}
