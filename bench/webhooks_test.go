package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/resale/webhooks"
)

// everybody sells on, and tags nothing.
type everybody struct{}

func (everybody) World(context.Context, db.Querier, int64) (resells, sandbox bool, err error) {
	return true, false, nil
}

func (everybody) ClientRef(context.Context, db.Querier, int64) (*string, error) { return nil, nil }

// BenchmarkWebhooks tells resellers of events, b.N in all: each is written, taken from the outbox, signed, sent and noted.
// Each receiver is another reseller's. Where one hangs, the time is that until all others have theirs.
func BenchmarkWebhooks(b *testing.B) {
	for _, c := range []struct {
		receivers int
		hanging   bool
	}{{1, false}, {100, true}} {
		b.Run(fmt.Sprintf("to=%d", c.receivers), func(b *testing.B) {
			b.Run("sqlite", func(b *testing.B) { deliver(b, testkit.SQLite(b, clock.System(0)), c.receivers, c.hanging) })
			b.Run("postgres", func(b *testing.B) {
				deliver(b, testkit.Open(b, testkit.PostgresURL(b), clock.System(0)), c.receivers, c.hanging)
			})
		})
	}
}

// webhookWorkers is how many endpoints are served at a time.
const webhookWorkers = 8

// bareDeliveries returns how many deliveries a second the least makes that one takes: a request, and then a transaction that
// notes it in a row, in so many lanes of which each goes one by one, as the events of one endpoint do.
func bareDeliveries(b *testing.B, d *db.DB, address string, lanes int) float64 {
	b.Helper()
	const count = 200 // of each lane
	in := func(f func(ctx context.Context, tx *db.Tx) error) error { return d.InTx(b.Context(), f) }
	err := in(func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `CREATE TABLE bench_notes (lane BIGINT PRIMARY KEY, sent BIGINT NOT NULL)`); err != nil {
			return err
		}
		for lane := range lanes {
			if _, err := tx.Exec(ctx, `INSERT INTO bench_notes (lane, sent) VALUES ($1, 0)`, lane); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat("x", 600)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: lanes}}
	defer client.CloseIdleConnections()
	var running sync.WaitGroup
	began := clock.Stopwatch()
	for lane := range lanes {
		running.Go(func() {
			for range count {
				res, err := client.Post(address, "application/json", strings.NewReader(body))
				if err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					err = res.Body.Close()
				}
				if err == nil {
					err = in(func(ctx context.Context, tx *db.Tx) error {
						_, err := tx.Exec(ctx, `UPDATE bench_notes SET sent = sent + 1 WHERE lane = $1`, lane)
						return err
					})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	return float64(lanes*count) / began().Seconds()
}

func deliver(b *testing.B, d *db.DB, receivers int, hanging bool) {
	queue, err := jobs.New(d, jobs.Config{MaxWorkers: webhookWorkers, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	box, err := secret.OpenKeyFile(filepath.Join(b.TempDir(), "key"))
	if err != nil {
		b.Fatal(err)
	}
	events := outbox.New(d)
	s := webhooks.New(webhooks.Config{
		DB: d, Clock: clock.System(0), Queue: queue, Events: events, Box: box, Worlds: everybody{}, Tags: everybody{}, AllowLoopback: true,
	})
	events.Subscribe("*", s.Follow)
	outboxtest.Relay(b, events)
	s.Register(queue.Workers())

	var arrived atomic.Int64
	end := make(chan struct{})
	quick := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Add(1)
	}))
	b.Cleanup(quick.Close)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-end
	}))
	b.Cleanup(slow.Close)
	b.Cleanup(func() { close(end) })
	tokens := apitest.Tokens{}
	for i := range receivers {
		tokens[fmt.Sprint("key-", i)] = auth.Principal{AccountID: int64(i + 1), KeyID: int64(i + 1)}
	}
	edge := apitest.NewEdge(b, d, clock.System(0), tokens, s.Operations())
	for i := range receivers {
		url := quick.URL
		if hanging && i == 0 {
			url = slow.URL
		}
		r := httptest.NewRequest(http.MethodPost, "/api/v1/reseller/webhooks", strings.NewReader(fmt.Sprintf(`{"url": %q}`, url)))
		r.Header.Set("Authorization", fmt.Sprint("Bearer key-", i))
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		if edge.ServeHTTP(rec, r); rec.Code != http.StatusCreated {
			b.Fatal(rec.Body)
		}
	}
	if err := queue.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
		cancel() // what hangs is cut
		_ = queue.Stop(ctx)
	})

	lanes := 1
	if receivers > 1 {
		lanes = webhookWorkers
	}
	floor := bareDeliveries(b, d, quick.URL, lanes)
	arrived.Store(0)
	const each = 100 // events of one transaction
	want := 0
	before := cpu(b)
	b.ResetTimer()
	for n := 0; n < b.N; n += each {
		err := d.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
			for i := n; i < min(n+each, b.N); i++ {
				account := int64(i%receivers + 1)
				if !hanging || account != 1 {
					want++
				}
				err := events.Emit(ctx, tx, outbox.Event{
					Type: "service.updated", AccountID: account, Subject: "service", SubjectID: int64(i % 1000),
					Data: map[string]any{"id": i % 1000, "label": "A service", "status": "active", "domain": "shop.example.com"},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	testkit.Eventually(b, 10*time.Minute, func() bool { return arrived.Load() >= int64(want) }, "everything has arrived")
	b.StopTimer()
	b.ReportMetric(float64(want)/b.Elapsed().Seconds(), "delivered/s")
	b.ReportMetric(floor, "floor/s")
	b.ReportMetric(float64(want)/b.Elapsed().Seconds()/floor, "ratio")
	b.ReportMetric((cpu(b)-before).Seconds()/float64(want)*1000, "cpu-s/1000")
	b.ReportMetric(0, "ns/op")
}

// cpu is the processor time that this process has used, the receivers' included.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
