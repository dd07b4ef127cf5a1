package app

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/doctor"
	"stead.dev/stead/internal/front/reseller"
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

// TestSandboxesWithoutAnEmbeddedNode: the only process of a SQLite database has the machine that simulates their services. Replicas
// have none, and an order there is refused at once.
func TestSandboxesWithoutAnEmbeddedNode(t *testing.T) {
	engines(t, map[string]string{"panel": "nodes", "node_listen": "off"}, func(t *testing.T, a *App) {
		if _, err := a.admin.ImportCatalog(t.Context(), []byte(soldNowhere)); err != nil {
			t.Fatal(err)
		}
		w := &world{App: a, t: t}
		key := w.aKey(a.customer(t, a.application(t, false), 0), reseller.NewKey{Sandbox: true})
		var plan int64
		if err := a.db.QueryRow(t.Context(), `SELECT id FROM catalog_plans WHERE slug = 'everything'`).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		r := a.post(t, key, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "shop.example.com"}`, plan))
		warned := slices.ContainsFunc(Examine(t.Context(), a.cfg, "test").Checks, func(c doctor.Check) bool {
			return c.Name == "sandboxes" && c.Status == doctor.Warn && strings.HasPrefix(c.Found, "1 sandboxes ")
		})
		if warned == a.cfg.SQLite() {
			t.Errorf("the doctor warns: %v", warned)
		}
		if !a.cfg.SQLite() {
			var refusal struct{ Missing []string }
			r.decode(t, &refusal)
			if r.status != http.StatusUnprocessableEntity || r.key() != "out_of_stock" || !slices.Equal(refusal.Missing, []string{"sandbox"}) {
				t.Errorf("an order: %s", r)
			}
			return
		}
		path := fmt.Sprintf("/api/v1/reseller/services/%d", w.id(r))
		testkit.Eventually(t, time.Minute, func() bool {
			var s struct{ Status string }
			a.get(t, key, path).decode(t, &s)
			return s.Status == "active"
		}, "the service is active")
	})
}
