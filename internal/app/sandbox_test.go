package app

import (
	"fmt"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// TestTheSandboxPanelSellsAndFailsOnRequest: integrators try what they cannot
// try on a real machine, such as an order that fails and gives its money back.
func TestTheSandboxPanelSellsAndFailsOnRequest(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "panel": "sandbox", "node_listen": "off"}, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_00)
		w.plan = w.aPlan()
		type state struct {
			Status     string  `json:"status"`
			FailureKey *string `json:"failure_key"`
			ServiceID  int64   `json:"service_id"`
		}
		order := func(id int64) (o state) {
			a.get(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d", id)).decode(t, &o)
			return o
		}
		buy := func(domain string) int64 {
			id := w.newOrder(w.owner, domain)
			if paid := a.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", id), ""); paid.status != 200 {
				t.Fatalf("pay for %s: %v", domain, paid)
			}
			return id
		}
		before := w.balance(w.owner)
		failed := buy("disk-full.example.com")
		testkit.Eventually(t, time.Minute, func() bool { return order(failed).Status == "refunded" }, "the money comes back")
		if o := order(failed); o.FailureKey == nil || *o.FailureKey != "disk_full" || w.balance(w.owner) != before {
			t.Errorf("%+v, balance %d, before %d", o, w.balance(w.owner), before)
		}
		good := buy("shop.example.com")
		testkit.Eventually(t, time.Minute, func() bool { return order(good).Status == "completed" }, "the order is completed")
		w.service = order(good).ServiceID
		if put := a.do(t, request{
			method: "PUT", path: w.files("/content"), token: w.owner.token, body: `{"path":"/public_html/index.html","content":"hello"}`,
		}); put.status != 200 {
			t.Errorf("files of the sandbox: %v", put)
		}
	})
}
