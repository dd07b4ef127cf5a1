package webui_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"stead.dev/stead/internal/front/webui"
	"stead.dev/stead/internal/platform/fault"
)

// clients has links to service 10 of account 1, each of which works once.
type clients struct {
	links  map[string]bool
	visits map[string]webui.ClientVisit
}

func (c *clients) Waits(_ context.Context, link string) (bool, error) { return c.links[link], nil }

func (c *clients) Enter(_ context.Context, link string) (string, error) {
	if !c.links[link] {
		return "", fault.NotFound.New()
	}
	delete(c.links, link)
	visit := "visit-of-" + link
	c.visits[visit] = webui.ClientVisit{AccountID: 1, ServiceID: 10, Name: "Blog <1>", Domain: "blog.example.com", Status: "active"}
	return visit, nil
}

func (c *clients) Visit(_ context.Context, visit string) (webui.ClientVisit, error) {
	v, ok := c.visits[visit]
	if !ok {
		return v, fault.NotFound.New()
	}
	return v, nil
}

func (c *clients) Leave(_ context.Context, visit string) error {
	delete(c.visits, visit)
	return nil
}

var clientForm = regexp.MustCompile(`action="(/client/credentials/\d+/(?:reveal|reset))"`)

func TestAResellersClientComesInByALinkOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	made := s.hasPassword(t)
	s.clients.links["one"] = true
	b, other := s.browser(t), s.browser(t)

	// A program that looks at links, and another site's form, open nothing.
	for range 2 {
		if a := b.get("/client/one"); a.status != http.StatusOK || !strings.Contains(a.body, `action="/client/one"`) || strings.Contains(a.body, "Blog") {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if a := b.post("/client/one", nil, "Sec-Fetch-Site", "cross-site"); a.status != http.StatusForbidden {
		t.Errorf("from another site: %d", a.status)
	}
	for path, status := range map[string]int{"/client": http.StatusNotFound, "/client/credentials/1/reveal": http.StatusMethodNotAllowed} {
		if a := b.get(path); a.status != status || strings.Contains(a.body, made) {
			t.Errorf("%s before coming in: %d", path, a.status)
		}
	}
	if a := b.post("/client/one", nil); a.status != http.StatusSeeOther || a.to != "/client/panel/" || !strings.Contains(a.header.Get("Set-Cookie"), "HttpOnly") {
		t.Fatalf("%d to %s, %v", a.status, a.to, a.header)
	}
	if a := other.post("/client/one", nil); a.status != http.StatusNotFound {
		t.Errorf("the same link again: %d", a.status)
	}
	if a := other.get("/client/one"); a.status != http.StatusNotFound {
		t.Errorf("the same link again: %d", a.status)
	}

	page := b.get("/client")
	found := clientForm.FindStringSubmatch(page.body)
	if page.status != http.StatusOK || found == nil || !strings.Contains(page.body, "Blog &lt;1&gt;") || !strings.Contains(page.body, "s10_anna") || strings.Contains(page.body, made) {
		t.Fatalf("%d %s", page.status, page.body)
	}
	if a := other.post(found[1], nil); a.status != http.StatusNotFound || strings.Contains(a.body, made) {
		t.Errorf("somebody else: %d", a.status)
	}
	if a := b.post(found[1], nil, "Sec-Fetch-Site", "cross-site"); a.status != http.StatusForbidden || strings.Contains(a.body, made) {
		t.Errorf("from another site: %d", a.status)
	}
	if a := b.post(found[1], nil); a.status != http.StatusOK || strings.Count(a.body, made) != 1 || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := b.post(found[1], nil); a.status != http.StatusNotFound || strings.Contains(a.body, made) {
		t.Errorf("shown twice: %d", a.status)
	}
	reset := clientForm.FindStringSubmatch(b.get("/client").body)
	if reset == nil || !strings.HasSuffix(reset[1], "/reset") {
		t.Fatalf("%v", reset)
	}
	if a := b.post(reset[1], nil); a.status != http.StatusSeeOther || a.to != "/client" || s.password(t) == made {
		t.Errorf("%d to %s", a.status, a.to)
	}

	// The visit opens nothing of the account whose service it is.
	for _, path := range []string{"/panel/", credentialsPage, "/account/keys"} {
		if a := b.get(path); a.status != http.StatusSeeOther || !strings.HasPrefix(a.to, "/login") {
			t.Errorf("%s: %d to %s", path, a.status, a.to)
		}
	}
	if a := b.post("/client/leave", nil); a.status != http.StatusOK {
		t.Errorf("leaving: %d", a.status)
	}
	if a := b.get("/client"); a.status != http.StatusNotFound {
		t.Errorf("after leaving: %d", a.status)
	}
}

// TestAResellersClientIsNotLedToOurShop: whom the reseller sells to under its own name is shown neither our name nor our prices.
func TestAResellersClientIsNotLedToOurShop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.hasPassword(t)
	s.clients.links["one"] = true
	b, from := s.browser(t), []string{"Referer", s.url + "/client"}
	outward := regexp.MustCompile(`(?:href|action)="/(?:"|docs|login|register|account|logout)|mailto:|Stead`)
	for _, a := range []answer{
		b.get("/client/one"), b.post("/client/one", nil, from...), b.get("/client"), b.post("/client/credentials/1/reveal", nil, from...),
		b.post("/client/leave", nil, from...), b.get("/client"), b.get("/client/one"), b.post("/client/one", nil, from...),
	} {
		if found := outward.FindString(a.body); found != "" {
			t.Errorf("%d with %q: %s", a.status, found, a.body)
		}
	}
	if a := b.get("/login"); outward.FindString(a.body) == "" {
		t.Error("the shop's own pages lead nowhere either")
	}
}
