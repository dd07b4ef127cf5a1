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

// BenchmarkAtRest is what services cost that nobody uses: a thousand of each customer, on the embedded node, each with the monitor that it has
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
		h := launch(b, filepath.Join(b.TempDir(), "data"), 0, settings...)
		before := h.spent()
		for customer := 0; customer*ofOneCustomer < services; customer++ {
			h.newCustomer(fmt.Sprintf("rest-%d@stead.example", customer), 20*ofOneCustomer)
			h.orderAll(fmt.Sprintf("rest-%d.test", customer), min(ofOneCustomer, services-customer*ofOneCustomer))
			if b.Failed() {
				return
			}
		}
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

// ofOneCustomer is how many services a customer has.
const ofOneCustomer = 1000

// orderAll orders and pays as many services as there shall be, 16 at a time, and waits until they are active.
func (h *hosting) orderAll(domain string, services int) {
	h.b.Helper()
	var orders errgroup.Group
	orders.SetLimit(16)
	for i := range services {
		orders.Go(func() error {
			h.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", h.order(fmt.Sprintf("site-%d.%s", i, domain))), map[string]any{}, nil)
			return nil
		})
	}
	must(h.b, orders.Wait())
	testkit.Eventually(h.b, time.Hour, func() bool {
		var active struct{ Meta struct{ Total int } }
		h.call(http.MethodGet, "/api/v1/services?status=active&per_page=1", nil, &active)
		return active.Meta.Total == services
	}, "all services are active")
}

// minute is the processor time that the program takes in a minute.
func (h *hosting) minute() time.Duration {
	before := h.spent()
	time.Sleep(time.Minute) // sleeps: what is measured is what happens meanwhile
	return h.spent() - before
}

// spent is the processor time of the program since it started.
func (h *hosting) spent() time.Duration { return nodetest.Spent(h.b, h.server.Process.Pid) }
