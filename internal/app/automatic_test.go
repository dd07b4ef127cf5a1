package app

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// TestAWalletTopsItselfUp goes the whole way, through the queue: a card is kept, money is spent, and the wallet is full
// again.
func TestAWalletTopsItselfUp(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		app := a.application(t, false)
		w := &world{App: a, t: t, client: app, owner: a.customer(t, app, 4000)}
		w.keepACard() // 10 dollars
		w.plan = w.aPlan()
		order := w.newOrder(w.owner, unique("site")+".example.com")
		r := a.do(t, request{
			method: http.MethodPatch, path: "/api/v1/wallet", token: w.owner.token,
			body: `{"low_balance_threshold_usd_cents": 5000, "auto_topup": {"enabled": true, "gateway": "demo", "amount_usd_cents": 6000, "threshold_usd_cents": 5000}}`,
		})
		if r.status != http.StatusOK {
			t.Fatalf("the choice: %s", r)
		}
		var paid struct {
			Total struct {
				Cents int64 `json:"usd_cents"`
			} `json:"total"`
		}
		a.post(t, w.owner.token, "/api/v1/orders/"+strconv.FormatInt(order, 10)+"/pay", "{}").decode(t, &paid)
		testkit.Eventually(t, time.Minute, func() bool {
			b, err := a.wallet.Balance(t.Context(), a.db, w.owner.id)
			return err == nil && int64(b.Spendable) == 4000+1000-paid.Total.Cents+6000
		}, "the wallet has topped itself up")
		testkit.Eventually(t, time.Minute, func() bool {
			var list struct {
				Data []struct {
					Kind string `json:"kind"`
				} `json:"data"`
			}
			a.get(t, w.owner.token, "/api/v1/notifications").decode(t, &list)
			low := 0
			for _, n := range list.Data {
				if n.Kind == "low_balance" {
					low++
				}
			}
			return low == 1
		}, "the low balance is notified, once")
	})
}
