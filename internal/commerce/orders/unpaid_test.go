package orders

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// TestUnpaidOrdersAreBounded: they cost nothing and are kept. Cancelling one makes no room for another at once, and what is paid at
// once needs none.
func TestUnpaidOrdersAreBounded(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		w.give(5000)
		ids := make([]int64, maxUnpaid)
		for i := range ids {
			ids[i] = w.order(fmt.Sprintf("shop%d.test", i))
		}
		again := func(token, what string, want int) {
			t.Helper()
			status, body := w.call(token, "POST", "/api/v1/orders", `{"plan_id":1,"domain":"more.test"}`)
			if status != want || want != http.StatusCreated && (key(body) != "limit_reached" || !strings.Contains(string(body), "100 orders that are not paid")) {
				t.Errorf("%s: %d %s", what, status, body)
			}
		}
		again("own", "one more", http.StatusUnprocessableEntity)
		again("other", "of another account", http.StatusCreated)
		w.in(func(ctx context.Context, tx *db.Tx) error {
			_, err := w.Buy(ctx, tx, Provision{AccountID: 1, PlanID: 1, Domain: "bought.test"})
			return err
		})
		if status, body := w.call("own", "POST", fmt.Sprintf("/api/v1/orders/%d/cancel", ids[0]), ""); status != http.StatusOK {
			t.Fatalf("cancel: %d %s", status, body)
		}
		again("own", "instead of a cancelled one", http.StatusUnprocessableEntity)
		w.paid(ids[1])
		again("own", "when one is paid", http.StatusCreated)
		again("own", "and one more", http.StatusUnprocessableEntity)
		clk.Advance(25 * time.Hour)
		again("own", "a day after one was cancelled", http.StatusCreated)
		again("own", "while the others wait", http.StatusUnprocessableEntity)
	})
}
