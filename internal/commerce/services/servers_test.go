package services

import (
	"encoding/json"
	"net/http"
	"testing"

	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
)

func TestServersAreTheMachinesThatAnAccountHasToItself(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Edge = apitest.NewEdge(t, w.DB, w.Clk, apitest.Tokens{
			"own": {AccountID: 1, ApplicationID: 1, Scopes: []string{"profile"}}, "other": {AccountID: 2, ApplicationID: 1, Scopes: []string{"profile"}},
		}, w.Operations())
		place := func(typ, domain string) int64 {
			n := servicestest.Ask(domain)
			n.Type, n.Limits = typ, json.RawMessage(`{"disk_mb":81920,"memory_mb":4096,"cpu_percent":200,"bandwidth_gb":-1}`)
			return w.active(n)
		}
		place("hosting", "site.test")
		vps := place("vps", "one.test")
		dedicated := place("dedicated", "two.test")
		over := place("vps", "three.test")
		w.Exec(`UPDATE services SET status = 'terminated' WHERE id = $1`, over)
		n := servicestest.Ask("unpaid.test")
		n.Type = "vps"
		w.reserve(n)

		ids, total := w.ids("/api/v1/servers")
		w.Same("servers", []int64{dedicated, vps}, ids)
		w.Same("total", 2, total)
		ids, total = w.ids("/api/v1/servers?per_page=1&page=2")
		w.Same("the second page", []int64{vps}, ids)
		w.Same("its total", 2, total)
		status, body := w.Call("own", http.MethodGet, "/api/v1/servers?per_page=1", "")
		var list struct {
			Data []serverWire `json:"data"`
		}
		if err := json.Unmarshal(body, &list); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s: %v", status, body, err)
		}
		s := list.Data[0]
		if s.Type != "dedicated" || *s.Hostname != "two.test" || *s.Resources.MemoryMB != 4096 || *s.Resources.BandwidthGB != -1 || s.ExpiresAt == nil {
			t.Errorf("%+v", s)
		}
		if status, body := w.Call("other", http.MethodGet, "/api/v1/servers", ""); status != http.StatusOK || string(body[:10]) != `{"data":[]` {
			t.Errorf("another's: %d %s", status, body)
		}
		testkit.Indexed(t, w.DB, func(q db.Querier) error {
			_, _, err := servers(t.Context(), q, 1, page.Params{})
			return err
		})
	})
}
