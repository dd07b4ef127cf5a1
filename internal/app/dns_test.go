package app

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stead.dev/stead/internal/platform/testkit"
)

func TestTheNameServerServesWhatCustomersChange(t *testing.T) {
	engines(t, map[string]string{"demo": "true"}, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		lookUp := func(name string) string {
			c := dns.Client{Timeout: 2 * time.Second}
			m, _, err := c.Exchange(new(dns.Msg).SetQuestion(name+"."+w.domain+".", dns.TypeTXT), a.nameserver.Addr())
			if err != nil || len(m.Answer) != 1 {
				return ""
			}
			return m.Answer[0].(*dns.TXT).Txt[0]
		}
		path := fmt.Sprintf("/api/v1/services/%d/dns", w.service)
		w.id(a.post(t, w.owner.token, path, `{"name": "news", "type": "TXT", "value": "good"}`))
		testkit.Eventually(t, time.Minute, func() bool { return lookUp("news") == "good" }, "the record is served")

		// A further domain has a zone of its own.
		second := "second-" + w.domain
		w.id(a.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/domains", w.service), fmt.Sprintf(`{"name": %q, "kind": "addon"}`, second)))
		testkit.Eventually(t, time.Minute, func() bool {
			c := dns.Client{Timeout: 2 * time.Second}
			m, _, err := c.Exchange(new(dns.Msg).SetQuestion(second+".", dns.TypeSOA), a.nameserver.Addr())
			return err == nil && len(m.Answer) == 1
		}, "the zone of the further domain is served")
	})
}

// TestRecordsAreRevalidated: they are a list, unless the zone is asked for as a file.
func TestRecordsAreRevalidated(t *testing.T) {
	engines(t, map[string]string{"demo": "true"}, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		get := func(query, etag string) answer {
			t.Helper()
			return a.do(t, request{
				method: http.MethodGet, path: fmt.Sprintf("/api/v1/services/%d/dns", w.service) + query, token: w.owner.token,
				header: map[string]string{"If-None-Match": etag},
			})
		}
		first := get("", `"x"`)
		etag := first.header.Get("ETag")
		if first.status != http.StatusOK || etag == "" || first.header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%v %s", first.header, first)
		}
		if again := get("", etag); again.status != http.StatusNotModified || len(again.body) > 0 {
			t.Errorf("with its ETag: %s", again)
		}
		if file := get("?format=bind", etag); file.status != http.StatusOK || file.header.Get("Cache-Control") != "no-store" {
			t.Errorf("a zone file: %v", file.header)
		}
	})
}
