package app

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// orderJobs is the most jobs that an order may take, from its payment until all of its service is in place.
const orderJobs = 5

// TestAnOrderTakesFewJobs counts them. Each one more delays what customers wait for when orders are many.
func TestAnOrderTakesFewJobs(t *testing.T) {
	engines(t, map[string]string{"panel": "sandbox", "demo": "true"}, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_000)
		w.plan = w.aPlan()
		id := w.newOrder(w.owner, "few-jobs.example.com")
		before := w.number(t, `SELECT COALESCE(MAX(id), 0) FROM river_job`)
		if r := a.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", id), "{}"); r.status != 200 {
			t.Fatal(r)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			return w.number(t, `SELECT COUNT(*) FROM certificates WHERE issued_at IS NOT NULL`) == 1
		}, "the service has its certificate")
		w.settled()
		took := w.jobsSince(before)
		n := 0
		for _, k := range took {
			n += k
		}
		if n > orderJobs || took["services.provision"] != 1 {
			t.Errorf("an order took %d jobs, and may take %d: %v", n, orderJobs, took)
		}
		for _, kind := range slices.Sorted(maps.Keys(took)) {
			t.Log(kind, took[kind])
		}
	})
}

// jobsSince counts jobs by their kind, without those that the clock brings.
func (w *world) jobsSince(id int) map[string]int {
	w.t.Helper()
	all := map[string]int{}
	_, err := db.Collect(w.t.Context(), w.db, func(row db.Row) (struct{}, error) {
		var kind string
		err := row.Scan(&kind)
		all[kind]++
		return struct{}{}, err
		// Queue.Every has jobs tried three times; services.share comes of one of them.
	}, `SELECT kind FROM river_job WHERE id > $1 AND max_attempts <> 3 AND kind <> 'services.share'`, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}
