package bench

import (
	"io"
	"net/http"
	"testing"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/front/demo"
)

// BenchmarkListServices is the way of every call with a token: throttle, token, scope, language,
// one list from the database, JSON. It goes over HTTP with as many clients as processors; the
// client's work is in it.
func BenchmarkListServices(b *testing.B) {
	onEachEngine(b, func(b *testing.B, a *app.App) {
		client, err := demo.Authorize(b.Context(), demo.Options{URL: a.URL(), Out: io.Discard, JSON: true})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, a.URL()+"/api/v1/services", nil)
				if err != nil {
					b.Error(err)
					return
				}
				res, err := client.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK {
					b.Errorf("answered %d, %v", res.StatusCode, err)
					return
				}
			}
		})
		b.StopTimer()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	})
}
