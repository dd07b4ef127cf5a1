package app

import (
	"context"
	"fmt"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// TestRenewalsThatMeetAreEachPaidOnce has the queue renew many services at the same time: of customers with one each, of
// some who have no money, and of one whose money is enough for the first three of eight.
func TestRenewalsThatMeetAreEachPaidOnce(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		const price, customers, poor, hot = money.USDCents(300), 40, 3, 8
		expires := a.clock.Now().Add(24 * time.Hour).Truncate(time.Microsecond)
		due := map[int64]bool{} // whether the renewal is paid, by service
		add := func(account int64, paid bool, later time.Duration) {
			due[a.dueService(t, account, price, expires.Add(later))] = paid
		}
		for n := range customers {
			id := a.account(t)
			if n >= poor {
				a.credit(t, id, price)
			}
			add(id, n >= poor, 0)
		}
		many := a.account(t)
		a.credit(t, many, 3*price+price/2)
		for n := range hot { // the later it was made, the earlier it expires
			add(many, n >= hot-3, time.Duration(hot-n)*time.Second)
		}
		if err := a.services.Steps(t.Context()); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			return a.number(t, `SELECT COUNT(*) FROM services WHERE expires_at > $1 OR renewal_failure = 'insufficient_funds'`, expires.Add(time.Hour)) == len(due)
		}, "each is renewed or was refused")

		for id, paid := range due {
			orders := a.number(t, `SELECT COUNT(*) FROM orders o JOIN orders_items i ON i.order_id = o.id WHERE i.service_id = $1 AND o.status = 'completed'
				AND o.invoice_id = (SELECT v.id FROM invoices v WHERE v.order_id = o.id AND v.service_id = i.service_id)`, id)
			periods := a.number(t, `SELECT COUNT(*) FROM services_periods WHERE service_id = $1`, id)
			renewed := a.number(t, `SELECT COUNT(*) FROM outbox_events WHERE subject = 'service' AND subject_id = $1 AND type = 'service.renewed'`, id)
			failed := a.number(t, `SELECT COUNT(*) FROM outbox_events WHERE subject = 'service' AND subject_id = $1 AND type = 'service.renewal_failed'`, id)
			want := [4]int{1, 1, 1, 0}
			if !paid {
				want = [4]int{0, 0, 0, 1}
			}
			if got := [4]int{orders, periods, renewed, failed}; got != want {
				t.Errorf("service %d, paid %v: orders, periods, events and failures %v, want %v", id, paid, got, want)
			}
		}
		if n := a.number(t, `SELECT COUNT(*) FROM invoices WHERE kind = 'invoice'`); n != customers-poor+3 {
			t.Errorf("%d invoices", n)
		}
		if err := a.invoices.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if found, err := a.wallet.Recompute(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the books: %v, %v", found, err)
		}
		if b, err := a.wallet.Balance(t.Context(), a.db, many); err != nil || b.Spendable != price/2 || b.Held != 0 {
			t.Errorf("%+v is left, %v", b, err)
		}
	})
}

// dueService makes a service that expires then and whose renewal is due.
func (a *App) dueService(t *testing.T, account int64, price money.USDCents, expires time.Time) (id int64) {
	t.Helper()
	name := unique("due") + ".example.com"
	err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return tx.QueryRow(ctx, `INSERT INTO services (account_id, order_id, type, label, status, domain, search, plan_id, plan_slug, plan_name,
				limits, period_months, auto_renew, renew_price, panel, panel_ref, username, created_at, provisioning_at, provisioned_at, expires_at,
				next_renewal_attempt_at, step_at)
			SELECT $1, 0, 'hosting', $2, 'active', $2, $2, MIN(id), 'start', 'Start', '{}', 1, TRUE, $3, 'sandbox', $2, $2, $4, $4, $4, $5, $4, $4
			FROM catalog_plans RETURNING id`, account, name, price, tx.Now, expires).Scan(&id)
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// number is what a query counts.
func (a *App) number(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := a.db.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	return n
}
