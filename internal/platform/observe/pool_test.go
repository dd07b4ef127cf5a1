package observe_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/platform/testkit"
)

func TestBothEnginesTellOfTheirPoolUnderTheSameNames(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		m := observe.NewMetrics("test")
		m.Database(d)
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		for _, name := range []string{"stead_db_connections", "stead_db_connections_in_use", "stead_db_connections_max", "stead_db_connection_waits_total"} {
			if !strings.Contains(w.Body.String(), "\n"+name+" ") {
				t.Errorf("no %s", name)
			}
		}
	})
}
