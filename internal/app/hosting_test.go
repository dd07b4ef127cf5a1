package app

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// A further domain as integrators and visitors see it: added over the API, its site written over the
// API, served by the embedded node, and gone after its removal.
func TestAFurtherDomainIsServedByTheNode(t *testing.T) {
	engines(t, demo, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		host := "blog." + w.domain
		put := a.do(t, request{
			method: http.MethodPut, path: w.files("/content"), token: w.owner.token,
			body: fmt.Sprintf(`{"path": "/sites/%s/index.html", "content": "<h1>blog</h1>"}`, host),
		})
		if put.status >= 300 {
			t.Fatalf("write the page: %s", put)
		}
		if status, body := visit(t, a.NodeURL(), host); status != http.StatusOK || body != "<h1>blog</h1>" {
			t.Errorf("%s: %d %q", host, status, body)
		}
		if status, body := visit(t, a.NodeURL(), w.domain); status != http.StatusOK || body != "<h1>mine</h1>" {
			t.Errorf("%s: %d %q", w.domain, status, body)
		}

		// Nobody can order what is a further name already.
		order := a.post(t, w.stranger.token, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, host))
		if order.status != http.StatusUnprocessableEntity || order.key() != "domain_unavailable" {
			t.Errorf("another orders %s: %s", host, order)
		}

		path := fmt.Sprintf("/api/v1/services/%d/domains/%d", w.service, w.hostedDomain)
		if r := a.do(t, request{method: http.MethodDelete, path: path, token: w.owner.token}); r.status != http.StatusOK {
			t.Fatalf("remove: %s", r)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			status, _ := visit(t, a.NodeURL(), host)
			return status == http.StatusNotFound
		}, "the removed domain is not served")
	})
}

// visit asks the node for the front page of a host.
func visit(t *testing.T, node, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, node+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	res, err := noRedirect.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
