package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/testkit"
)

// TestAResellersDomains: a reseller registers at wholesale prices under its clients' tags, gets back what the registry
// refuses, and tries everything in a sandbox whose registry and money are not the real ones.
func TestAResellersDomains(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_00)
		live, sandboxed := w.aKey(w.owner, reseller.NewKey{}), w.aKey(w.owner, reseller.NewKey{Sandbox: true})
		type domain struct {
			ID            int64
			Name, Status  string
			ClientRef     *string `json:"client_ref"`
			LastOperation struct {
				OrderID int64  `json:"order_id"`
				Status  string `json:"status"`
			} `json:"last_operation"`
		}
		const base = "/api/v1/reseller/domains"
		order := func(key, name, ref string) int64 {
			t.Helper()
			return w.id(w.post(t, key, base, strings.Replace(registrationRequest(name), "{", fmt.Sprintf(`{"client_ref": %q, `, ref), 1)))
		}
		get := func(key string, id int64) (d domain) {
			t.Helper()
			a.get(t, key, fmt.Sprintf("%s/%d", base, id)).decode(t, &d)
			return d
		}
		settled := func(key string, id int64) domain {
			t.Helper()
			testkit.Eventually(t, time.Minute, func() bool { return get(key, id).LastOperation.Status != "pending" }, "the operation ends")
			return get(key, id)
		}
		total := func(key, query string) (n int) {
			t.Helper()
			var list struct{ Meta struct{ Total int } }
			a.get(t, key, base+"?"+query).decode(t, &list)
			return list.Meta.Total
		}

		before := w.balance(w.owner)
		refused := order(live, "refused-shop.example", "anna")
		good, same := order(live, "shop.example", "anna"), order(sandboxed, "shop.example", "anna")
		if d := settled(live, refused); d.Status != "failed" {
			t.Errorf("refused: %+v", d)
		}
		if d, s := settled(live, good), settled(sandboxed, same); d.Status != "active" || s.Status != "active" || *d.ClientRef != "anna" || d.ID == s.ID {
			t.Errorf("live %+v, sandbox %+v", d, s)
		}
		const wholesale = 80 // of the demonstration's price book; retail is 100
		if got := before - w.balance(w.owner); got != wholesale {
			t.Errorf("%d cents were paid, want %d", got, wholesale)
		}
		for _, c := range []struct {
			key, query string
			want       int
		}{
			{live, "client_ref=anna", 2},
			{live, "client_ref=anna&status=active", 1},
			{live, "client_ref=bob", 0},
			{sandboxed, "", 1},
			{live, "expires_before=" + a.clock.Now().AddDate(1, 1, 0).UTC().Format(time.RFC3339), 1},
		} {
			if got := total(c.key, c.query); got != c.want {
				t.Errorf("%s shows %d domains, want %d", c.query, got, c.want)
			}
		}
		var o struct {
			Kind, Status string
			ClientRef    *string `json:"client_ref"`
		}
		a.get(t, live, fmt.Sprintf("/api/v1/reseller/orders/%d", get(live, good).LastOperation.OrderID)).decode(t, &o)
		if o.Kind != "domain_register" || o.Status != "completed" || o.ClientRef == nil || *o.ClientRef != "anna" {
			t.Errorf("order: %+v", o)
		}
		for _, c := range []struct{ key, method, path, body, want string }{
			{live, "PATCH", "", `{"locked": true, "privacy": true, "client_ref": "bob"}`, `"client_ref":"bob"`},
			{live, "PUT", "/nameservers", `{"nameservers": ["ns1.example.net", "ns2.example.net"]}`, `"ns2.example.net"`},
			{live, "PUT", "/contacts", fmt.Sprintf(`{"owner": %s, "tech": %s}`, registrant, registrant), `"tech":"`},
			{live, "POST", "/renew", `{"years": 2}`, `"status":"pending"`},
			{live, "POST", "/auth-code", "", "domain_locked"},
			{sandboxed, "PATCH", "", `{"locked": true}`, "not_found"},
		} {
			r := a.do(t, request{method: c.method, path: fmt.Sprintf("%s/%d%s", base, good, c.path), token: c.key, body: c.body})
			if !strings.Contains(string(r.body), c.want) {
				t.Errorf("%s %s: %s, want %s", c.method, c.path, r, c.want)
			}
			if strings.Contains(string(r.body), "Anna") {
				t.Errorf("%s shows a contact: %s", c.path, r)
			}
		}
		settled(live, good)
		if got := before - w.balance(w.owner); got != wholesale+2*120 {
			t.Errorf("%d cents were paid with the renewal", got)
		}
		if err := auditLedger(t.Context(), a.wallet); err != nil {
			t.Error(err)
		}
	})
}
