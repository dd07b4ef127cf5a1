package bench

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"testing"
	"time"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/testkit"
)

// onEachEngine runs f against a whole server, on SQLite and on PostgreSQL.
func onEachEngine(b *testing.B, f func(b *testing.B, a *app.App)) {
	b.Run("sqlite", func(b *testing.B) { f(b, start(b, nil)) })
	b.Run("postgres", func(b *testing.B) {
		f(b, start(b, map[string]string{"database_url": testkit.PostgresURL(b)}))
	})
}

// start runs a demo shop without throttles until the benchmark ends.
func start(b *testing.B, settings map[string]string) *app.App {
	b.Helper()
	all := map[string]string{
		"data_dir": b.TempDir(), "listen": "127.0.0.1:0", "node_listen": "127.0.0.1:0", "ops_listen": config.Off, "dns_listen": config.Off,
		"throttle": "false", "demo": "true",
	}
	maps.Copy(all, settings)
	cfg, err := config.Load(config.Input{CommandLine: all})
	if err != nil {
		b.Fatal(err)
	}
	a, err := app.New(b.Context(), *cfg, app.Options{Version: "bench", Log: slog.New(slog.NewJSONHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Errorf("run: %v", err)
		}
		if err := a.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	})
	testkit.Eventually(b, time.Minute, func() bool {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, a.URL()+"/readyz", nil)
		if err != nil {
			return false
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, "the server is ready")
	return a
}
