package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"stead.dev/stead/internal/platform/testkit"
)

// payTrips is the most round trips to PostgreSQL that a payment may take: those of the throttle and of the token, and
// those of the transaction with its begin and its commit. One asks whose the domain is.
const payTrips = 21

// TestAPaymentTakesFewRoundTrips counts them. Every one more makes every payment slower, and the wallet is locked longer.
func TestAPaymentTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	trips := &tripCounter{}
	opts := quietly()
	opts.Tracer = trips
	a, err := New(t.Context(), testConfig(t, map[string]string{
		"database_url": testkit.PostgresURL(t), "node_listen": "off", "demo": "true", "panel": "sandbox", "throttle": "true",
	}), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	serveBench(t, a)
	c := a.customer(t, a.application(t, false), 100_000)
	var plan int64
	if err := a.db.QueryRow(t.Context(), `SELECT MIN(id) FROM catalog_plans WHERE available AND stock IS NULL`).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	var counted []string
	for n := range 3 { // the first one prepares statements
		made := a.post(t, c.token, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": "trips-%d.com"}`, plan, n))
		var o struct {
			ID int64 `json:"id"`
		}
		made.decode(t, &o)
		r := httptest.NewRequestWithContext(trips.count(t.Context()), http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", o.ID), nil)
		r.Header.Set("Authorization", "Bearer "+c.token)
		r.Header.Set("Idempotency-Key", fmt.Sprintf("pay-%d", n))
		w := httptest.NewRecorder()
		a.site.srv.Handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		counted = trips.counted()
	}
	for n, query := range counted {
		t.Logf("%2d %.230s", n+1, strings.Join(strings.Fields(query), " "))
	}
	if len(counted) > payTrips {
		t.Errorf("a payment takes %d round trips, and may take %d", len(counted), payTrips)
	}
}

// tripCounter is a tracer that notes the round trips of one request: the statements that are sent alone, and the batches.
type tripCounter struct {
	mu   sync.Mutex
	seen []string
}

type tripKey struct{}

// count marks the context of the request and forgets the one before.
func (c *tripCounter) count(ctx context.Context) context.Context {
	c.counted()
	return context.WithValue(ctx, tripKey{}, true)
}

// counted returns what was noted, and forgets it.
func (c *tripCounter) counted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

func (c *tripCounter) note(ctx context.Context, trip string) {
	if ctx.Value(tripKey{}) == nil || strings.Contains(trip, "pg_notify") { // which River does now and then, by the clock
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, trip)
}

// TraceQueryStart implements pgx.QueryTracer.
func (c *tripCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	c.note(ctx, d.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *tripCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (c *tripCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var all []string
	for _, q := range d.Batch.QueuedQueries {
		all = append(all, q.SQL)
	}
	c.note(ctx, "batch: "+strings.Join(all, "; "))
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (c *tripCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (c *tripCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
