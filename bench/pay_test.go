package bench

import (
	"io"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/front/demo"
)

// BenchmarkPayToFirstByte is how long a customer waits: from the call that pays an order, through
// the job that provisions the account and the writing of a page, to that page being served. All of
// it goes over HTTP, as an integrator's program would do it.
func BenchmarkPayToFirstByte(b *testing.B) {
	onEachEngine(b, func(b *testing.B, a *app.App) {
		took, err := demo.Measure(b.Context(), demo.Options{URL: a.URL(), Out: io.Discard, JSON: true}, b.N)
		if err != nil {
			b.Fatal(err)
		}
		slices.Sort(took)
		at := func(percent int) float64 {
			return float64(took[(len(took)-1)*percent/100]) / float64(time.Millisecond)
		}
		b.ReportMetric(at(50), "p50-ms")
		b.ReportMetric(at(95), "p95-ms")
		b.ReportMetric(at(100), "max-ms")
		b.ReportMetric(0, "ns/op") // the preparation is in it, which nobody waits for
	})
}
