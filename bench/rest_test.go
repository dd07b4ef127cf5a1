package bench

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/platform/testkit"
)

// BenchmarkAtRest is what services cost that nobody uses: one customer's, on the embedded node, each with the monitor that it has
// by itself. It tells the processor time of an order with all that follows it, how long the program then takes to start again,
// its processor time in the first minute and in one some minutes later, and its memory then. Orders are made without checks of
// monitors. STEAD_BENCH_SERVICES is how many services there are; without it, 1,000. They are kept in SQLite, or in PostgreSQL
// where scripts/with-postgres runs the benchmark.
func BenchmarkAtRest(b *testing.B) {
	services := int(setting(b, "STEAD_BENCH_SERVICES", 1000))
	for b.Loop() {
		settings := []string{"STEAD_MONITORS=false"}
		if os.Getenv(testkit.PostgresEnv) != "" {
			settings = append(settings, "STEAD_DATABASE_URL="+testkit.PostgresURL(b))
		}
		h := launch(b, filepath.Join(b.TempDir(), "data"), max(10_000, 20*services), settings...)
		before := h.spent()
		var customers errgroup.Group
		customers.SetLimit(16)
		for i := range services {
			customers.Go(func() error {
				h.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", h.order(fmt.Sprintf("rest-%d.stead.test", i))), map[string]any{}, nil)
				return nil
			})
		}
		must(b, customers.Wait())
		if b.Failed() {
			return
		}
		testkit.Eventually(b, time.Hour, func() bool {
			var active struct{ Meta struct{ Total int } }
			h.call(http.MethodGet, "/api/v1/services?status=active&per_page=1", nil, &active)
			return active.Meta.Total == services
		}, "all services are active")
		ordered := h.spent()
		h.restart("STEAD_MONITORS=true")
		first := h.minute()
		time.Sleep(3 * time.Minute) // sleeps: what is measured is what happens then
		rest := h.minute()
		b.ReportMetric((ordered-before).Seconds()*1000/float64(max(1, services)), "order-cpu-ms")
		b.ReportMetric(h.started.Seconds(), "start-s")
		b.ReportMetric(first.Seconds()/60*100, "first-minute-%cpu")
		b.ReportMetric(rest.Seconds()/60*100, "at-rest-%cpu")
		b.ReportMetric(float64(h.memory("VmRSS"))*1024/1e6, "at-rest-MB")
		b.ReportMetric(0, "ns/op")
	}
}

// minute is the processor time that the program takes in a minute.
func (h *hosting) minute() time.Duration {
	before := h.spent()
	time.Sleep(time.Minute) // sleeps: what is measured is what happens meanwhile
	return h.spent() - before
}

// spent is the processor time of the program since it started.
func (h *hosting) spent() time.Duration { return nodetest.Spent(h.b, h.server.Process.Pid) }
