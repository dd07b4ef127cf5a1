// Package apitest serves a section's operations to its tests, through the same edge as in production.
package apitest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/throttle"
)

// BaseURL is the address of the server that NewEdge makes.
const BaseURL = "http://stead.test"

// Tokens maps the valid tokens to their principals.
type Tokens map[string]auth.Principal

// Verify implements api.Verifier.
func (ts Tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	p, ok := ts[token]
	if !ok {
		return auth.Principal{}, fault.Unauthenticated.New()
	}
	return p, nil
}

// VerifyKey implements api.KeyVerifier: the tokens are keys too.
func (ts Tokens) VerifyKey(ctx context.Context, key string, _ netip.Addr) (auth.Principal, error) {
	return ts.Verify(ctx, key)
}

// AllOn has every section switched on.
type AllOn struct{}

// Enabled implements api.Switches.
func (AllOn) Enabled(api.Section) bool { return true }

// NewEdge serves the operations with every section on and a throttle that no
// test reaches.
func NewEdge(t testing.TB, d *db.DB, clk clock.Clock, v api.Verifier, routes []api.Route) *api.Edge {
	t.Helper()
	keys, _ := v.(api.KeyVerifier)
	edge := api.NewEdge(api.Config{
		Keys: keys, Policies: map[string]throttle.Policy{
			api.ResellerThrottle: {Name: api.ResellerThrottle, Limit: 10_000, Window: time.Minute},
		},
		DB: d, Verifier: v, Switches: AllOn{}, Limiter: throttle.New(d, clk), Answers: idempotency.NewStore(d),
		Default: throttle.Policy{Name: "default", Limit: 10_000, Window: time.Minute}, MaxBody: 1 << 20,
		Timeout: time.Minute, Language: "en", BaseURL: BaseURL, Version: "test",
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.9") },
	})
	if err := edge.Mount(routes...); err != nil {
		t.Fatal(err)
	}
	return edge
}

// Call makes a request with a token, where there is one, and a body of JSON, where there is one; header are pairs of names
// and values.
func Call(h http.Handler, token, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// Answered checks the status of an answer, and decodes its JSON into a value, where there is one.
func Answered(t testing.TB, rec *httptest.ResponseRecorder, status int, into any) {
	t.Helper()
	if rec.Code != status {
		t.Fatalf("%d %s, want %d", rec.Code, rec.Body, status)
	}
	if into != nil {
		if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
}
