package monitors

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/platform/throttle"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/port/push"
)

// told are the events that were emitted, of several replicas.
type told struct {
	mu  sync.Mutex
	all []outbox.Event
}

func (t *told) Emit(_ context.Context, _ *db.Tx, e outbox.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, e)
	return nil
}

// unlimited is an account with a large plan, whose owner reads English.
type unlimited struct{}

func (unlimited) Hosted(context.Context, db.Querier, int64, int64) (Hosted, error) {
	return Hosted{}, nil
}

func (unlimited) OnlineLimits(context.Context, db.Querier, int64) ([]site.Limited, error) {
	return []site.Limited{{Limits: site.Limits{"monitors": site.Unlimited, "monitor_interval_s": site.Unlimited}, Services: 1}}, nil
}

func (unlimited) Locale(context.Context, db.Querier, int64) (string, error) { return "en", nil }

// phones are devices that take every message.
type phones struct{}

func (phones) Send(context.Context, int64, push.Message) (int, error) { return 1, nil }

// always is a limiter that lets everything through.
type always struct{}

func (always) Take(context.Context, string, throttle.Policy) (throttle.Result, error) {
	return throttle.Result{Allowed: true}, nil
}

// checks is a Prober that is a function.
type checks func(ctx context.Context, t probe.Target) probe.Result

func (c checks) Check(ctx context.Context, t probe.Target) probe.Result { return c(ctx, t) }

// database is where the replicas of a test meet: each opens it by itself, so that it can die alone.
type database struct {
	t   *testing.T
	c   db.Config
	box *secret.Box
}

// databases runs f with a fresh database of each engine.
func databases(t *testing.T, f func(t *testing.T, in database)) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			in := database{t: t, c: db.Config{MaxConns: 4}}
			if engine == "postgres" {
				in.c.URL = testkit.PostgresURL(t)
			} else {
				in.c.Path = filepath.Join(testkit.DatabaseDir(t), "stead.db")
				if err := testkit.PlaceSQLite(in.c.Path); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			if in.box, err = secret.OpenKeyFile(filepath.Join(t.TempDir(), "key")); err != nil {
				t.Fatal(err)
			}
			f(t, in)
		})
	}
}

// replica is the section in a process of its own.
func (in database) replica(t *testing.T, clk clock.Clock, prober Prober) *Service {
	t.Helper()
	c := in.c
	c.Clock = clk
	d, err := db.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // a replica that died has closed it
	log := slog.New(slog.DiscardHandler)
	s := New(Config{
		DB: d, Clock: clk, Events: &told{}, Box: in.box, Signals: signal.NewHub(d, clk, log), Prober: prober, Log: log,
		BaseURL: "http://stead.test", Queue: jobs.Discard{}, Limiter: always{}, Brand: brand.Fixed(brand.Brand{Name: "Stead"}), Letters: &mailer.Writer{Brand: brand.Fixed(brand.Brand{Name: "Stead"}), BaseURL: "https://stead.test"}, AllowLoopback: true,
	})
	s.Connect(Needs{Services: unlimited{}, Owners: unlimited{}, Devices: phones{}})
	return s
}

// fill makes monitors of addresses that end in their number.
func fill(t *testing.T, s *Service, n int, change func(*settings)) {
	t.Helper()
	for i := range n {
		_, err := s.create(t.Context(), 1, wish{settings: func(set *settings) {
			set.Target.Type, set.Target.URL, set.IntervalS = probe.HTTP, fmt.Sprintf("http://127.0.0.1/%d", i), 60
			if change != nil {
				change(set)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
}
