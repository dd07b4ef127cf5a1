package bench

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/platform/testkit"
)

// BenchmarkAtRest is what services cost that nobody uses: one customer's, on SQLite and the embedded node, each with the monitor
// that it has by itself. It tells how long the program takes to start, the processor time of an order with all that follows
// it, that of a minute as soon as the last service is active and of one some minutes later, and the memory then.
// STEAD_BENCH_SERVICES is how many there are; without it, 1,000.
func BenchmarkAtRest(b *testing.B) {
	services := int(setting(b, "STEAD_BENCH_SERVICES", 1000))
	for b.Loop() {
		h := launch(b, filepath.Join(b.TempDir(), "data"), max(10_000, 20*services))
		before := h.spent()
		for i := range services {
			h.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", h.order(fmt.Sprintf("rest-%d.stead.test", i))), map[string]any{}, nil)
		}
		testkit.Eventually(b, time.Hour, func() bool {
			var active struct{ Meta struct{ Total int } }
			h.call(http.MethodGet, "/api/v1/services?status=active&per_page=1", nil, &active)
			return active.Meta.Total == services
		}, "all services are active")
		ordered := h.spent()
		first := h.minute()
		time.Sleep(3 * time.Minute) // sleeps: what is measured is what happens then
		rest := h.minute()
		b.ReportMetric(h.started.Seconds(), "start-s")
		b.ReportMetric((ordered-before).Seconds()*1000/float64(max(1, services)), "order-cpu-ms")
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
func (h *hosting) spent() time.Duration { return nodetest.Spent(h.b, h.pid) }
