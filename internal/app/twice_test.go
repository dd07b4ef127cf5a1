package app

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// onceOnly are the tables whose rows a repeated job must not add to: what was paid, issued, made, told and sent.
var onceOnly = []string{
	"addons", "backups", "certificates", "coupons_redemptions", "cron_jobs", "databases", "dns_records", "dns_zones", "domains", "domains_operations",
	"hosting_domains", "invoices", "loyalty_rewards", "mail_boxes", "nodes_placements", "notifications", "orders", "orders_items", "outbox_events",
	"services", "services_history", "services_periods", "wallet_postings", "wallet_topups", "wallet_transactions", "webhooks_deliveries", "webhooks_events",
}

// TestAJobMayRunTwice has every job run once more that was done while a customer bought and set up one of everything, and a
// service was renewed: jobs run again when a process dies between their work and the note that it is done.
func TestAJobMayRunTwice(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		var calls atomic.Int64
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
		t.Cleanup(receiver.Close)
		w.id(w.post(t, w.ownersKey, "/api/v1/reseller/webhooks", fmt.Sprintf(`{"url": %q, "events": ["*"]}`, receiver.URL)))

		const price = money.USDCents(300)
		due := a.dueService(t, w.owner.id, price, a.clock.Now().Add(24*time.Hour).Truncate(time.Microsecond))
		if err := a.services.Steps(t.Context()); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			return a.number(t, `SELECT COUNT(*) FROM services_periods WHERE service_id = $1`, due) == 1 && calls.Load() > 0
		}, "the service is renewed, which the reseller is told of")
		w.settled()

		before, left := w.snapshot(), w.left(&calls)
		kinds := w.again()
		w.settled()
		w.unchanged(before, "after each job a second time")
		for name, now := range w.left(&calls) {
			if now != left[name] {
				t.Errorf("after each job a second time: %s %d, before %d", name, now, left[name])
			}
		}
		if found, err := a.wallet.Recompute(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the books: %v, %v", found, err)
		}
		if err := a.invoices.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		for _, kind := range []string{
			"backups.make", "databases.apply", "domains.work", "hosting.apply", "mail.apply", "services.provision", "services.share", "webhooks.deliver",
		} {
			if !slices.Contains(kinds, kind) {
				t.Errorf("%s did not run twice", kind)
			}
		}
	})
}

// settled waits until all that was begun is done: jobs, deliveries of events and of webhooks, numbers of invoices.
func (w *world) settled() {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		return w.number(w.t, `SELECT (SELECT COUNT(*) FROM river_job WHERE state IN ('available', 'running', 'retryable'))
			+ (SELECT COUNT(*) FROM outbox_events WHERE fan_out AND fanned_at IS NULL)
			+ (SELECT COUNT(*) FROM webhooks_deliveries WHERE status IN ('pending', 'sending'))
			+ (SELECT COUNT(*) FROM invoices WHERE sequence IS NULL)`) == 0
	}, "everything is done")
}

// left counts what the jobs have left behind: rows, mails, calls of a webhook's receiver.
func (w *world) left(calls *atomic.Int64) map[string]int {
	w.t.Helper()
	counts := map[string]int{"calls of the receiver": int(calls.Load())}
	for _, table := range onceOnly {
		counts["rows of "+table] = w.number(w.t, `SELECT COUNT(*) FROM `+table)
	}
	mails, err := os.ReadDir(mailDir(w.cfg))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	counts["mails"] = len(mails)
	return counts
}

// again queues a copy of each job that is done, and waits until the copies are. It answers their kinds.
func (w *world) again() []string {
	w.t.Helper()
	last := w.number(w.t, `SELECT MAX(id) FROM river_job`)
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO river_job (args, kind, max_attempts, priority, queue, scheduled_at, state)
			SELECT args, kind, max_attempts, priority, queue, scheduled_at, 'available' FROM river_job WHERE state = 'completed' ORDER BY id`)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	testkit.Eventually(w.t, time.Minute, func() bool {
		return w.number(w.t, `SELECT COUNT(*) FROM river_job WHERE id > $1 AND state IN ('available', 'running')`, last) == 0
	}, "the copies are done")
	kinds := map[string]bool{}
	rows, err := db.Collect(w.t.Context(), w.db, func(r db.Row) (one [2]string, err error) { return one, r.Scan(&one[0], &one[1]) },
		`SELECT kind, state FROM river_job WHERE id > $1`, last)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rows {
		if kinds[r[0]] = true; r[1] != "completed" && r[1] != "scheduled" {
			w.t.Errorf("%s is %s the second time", r[0], r[1])
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}
