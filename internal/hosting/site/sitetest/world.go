package sitetest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

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

// Edge serves a section's operations to the token "own" of account 1, which reads and changes services, and to "other" of account
// 2, which may do anything.
type Edge struct{ http.Handler }

// NewEdge serves the operations.
func NewEdge(t testing.TB, d *db.DB, clk clock.Clock, operations []api.Route) Edge {
	t.Helper()
	return Edge{apitest.NewEdge(t, d, clk, apitest.Tokens{
		"own":   {AccountID: 1, ApplicationID: 1, Scopes: []string{auth.ScopeServicesRead, auth.ScopeServicesWrite}},
		"other": {AccountID: 2, ApplicationID: 1, Scopes: auth.Scopes},
	}, operations)}
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
