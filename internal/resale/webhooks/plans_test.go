package webhooks

import (
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		ctx, now, yes := t.Context(), clk.Now(), true
		first := page.Params{Page: 1, PerPage: 20}
		since := now.Add(-time.Hour)
		for name, ask := range map[string]func(q db.Querier) error{
			"endpoints":  func(q db.Querier) error { _, err := endpointsOf(ctx, q, 1, ""); return err },
			"deliveries": func(q db.Querier) error { _, err := deliveriesOf(ctx, q, 1); return err },
			"next":       func(q db.Querier) error { _, _, err := nextDue(ctx, q, 1, now); return err },
			"unsettled":  func(q db.Querier) error { _, err := unsettled(ctx, q, 1, now); return err },
			"waiting":    func(q db.Querier) error { _, err := waiting(ctx, q, now); return err },
			"events":     func(q db.Querier) error { _, _, err := listEvents(ctx, q, 1, filter{}, first); return err },
			"of a type": func(q db.Querier) error {
				_, _, err := listEvents(ctx, q, 1, filter{typ: "order.paid"}, first)
				return err
			},
			"of a client": func(q db.Querier) error {
				_, _, err := listEvents(ctx, q, 1, filter{clientRef: "client-7", since: &since, delivered: &yes}, first)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) { testkit.Indexed(t, d, ask) })
		}
	})
}
