package monitors

import (
	"net/http"
	"testing"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func TestMonitorsAreListedByService(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		clk := clock.NewFake(testkit.Start)
		s := in.replica(t, clk, nil)
		for _, service := range []int64{0, 7, 8} {
			of := db.OrNull(service)
			if _, err := s.create(t.Context(), 1, wish{serviceID: &of, settings: func(set *settings) { set.Target.Type, set.IntervalS = "heartbeat", 60 }}); err != nil {
				t.Fatal(err)
			}
		}
		edge := apitest.NewEdge(t, s.DB, clk, apitest.Tokens{"own": {AccountID: 1, ApplicationID: 1, Scopes: []string{"monitors:read"}}}, s.Operations())
		for query, want := range map[string]int{"": 3, "?service_id=": 3, "?service_id=7": 1, "?service_id=9": 0, "?service_id=0": 1} {
			var got struct {
				Monitors []struct {
					ServiceID *int64 `json:"service_id"`
				} `json:"data"`
			}
			rec := apitest.Call(edge, "own", http.MethodGet, "/api/v1/monitors"+query, "")
			apitest.Answered(t, rec, http.StatusOK, &got)
			if len(got.Monitors) != want || query == "?service_id=0" && got.Monitors[0].ServiceID != nil {
				t.Errorf("%q: %s", query, rec.Body)
			}
		}
	})
}
