package webui_test

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"stead.dev/stead/internal/front/webui"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
)

// clients has links to service 10 of account 1, each of which works once.
type clients struct {
	mu     sync.Mutex
	links  map[string]bool
	visits map[string]webui.ClientVisit
}

var samarkand = brand.Brand{
	Name: "Samarkand <Web>", Color: "#0f5fa8", Support: "help@reseller.example", Terms: "https://reseller.example/terms", Privacy: "https://reseller.example/privacy",
	Logo: "/client/brand/logo-1.png", Icon: "data:image/svg+xml;base64,PHN2Zy8+", Style: "/client/brand/style-0f5fa8.css",
}

func (c *clients) Link(_ context.Context, link string) (brand.Brand, bool, error) {
	if link == "branded" {
		return samarkand, c.links[link], nil
	}
	return brand.Brand{}, c.links[link], nil
}

func (c *clients) VisitBrand(_ context.Context, visit string) (brand.Brand, error) {
	if visit == "visit-of-branded" {
		return samarkand, nil
	}
	return brand.Brand{}, nil
}

func (c *clients) Enter(_ context.Context, link string) (string, error) {
	if !c.links[link] {
		return "", fault.NotFound.New()
	}
	delete(c.links, link)
	visit := "visit-of-" + link
	b, _ := c.VisitBrand(context.Background(), visit)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.visits[visit] = webui.ClientVisit{ID: int64(len(c.visits)) + 1, AccountID: 1, ServiceID: 10, Name: "Blog <1>", Domain: "blog.example.com", Status: "active", Brand: b}
	return visit, nil
}

func (c *clients) Visit(_ context.Context, visit string) (webui.ClientVisit, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.visits[visit]
	if !ok {
		return v, fault.NotFound.New()
	}
	return v, nil
}

func (c *clients) Leave(_ context.Context, visit string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.visits, visit)
	return nil
}

func TestAResellersClientComesInByALinkOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
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
	if a := b.get("/client/panel/"); a.status != http.StatusNotFound || strings.Contains(a.body, "Blog") {
		t.Errorf("before coming in: %d", a.status)
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

	if a := b.get("/client/panel/"); a.status != http.StatusOK || !strings.Contains(html.UnescapeString(a.body), "blog.example.com") || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := other.get("/client/panel/"); a.status != http.StatusNotFound {
		t.Errorf("somebody else: %d", a.status)
	}

	// The visit opens nothing of the account whose service it is.
	for _, path := range []string{"/panel/", "/panel/services/10/passwords", "/panel/reseller/keys"} {
		if a := b.get(path); a.status != http.StatusSeeOther || !strings.HasPrefix(a.to, "/login") {
			t.Errorf("%s: %d to %s", path, a.status, a.to)
		}
	}
	if a := b.post("/client/leave", nil); a.status != http.StatusOK {
		t.Errorf("leaving: %d", a.status)
	}
	if a := b.get("/client/panel/"); a.status != http.StatusNotFound {
		t.Errorf("after leaving: %d", a.status)
	}
}

// TestAResellersClientIsNotLedToOurShop: whom the reseller sells to under its own name is shown neither our name nor our prices.
func TestAResellersClientIsNotLedToOurShop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.clients.links["one"] = true
	b, from := s.browser(t), []string{"Referer", s.url + "/client/panel/"}
	outward := regexp.MustCompile(`(?:href|action)="/(?:"|docs|login|register|account|logout)|mailto:|Stead`)
	for _, a := range []answer{
		b.get("/client/one"), b.post("/client/one", nil, from...), b.get("/client/panel/"),
		b.post("/client/leave", nil, from...), b.get("/client/panel/"), b.get("/client/one"), b.post("/client/one", nil, from...),
	} {
		if found := outward.FindString(a.body); found != "" {
			t.Errorf("%d with %q: %s", a.status, found, a.body)
		}
	}
	if a := b.get("/login"); outward.FindString(a.body) == "" {
		t.Error("the shop's own pages lead nowhere either")
	}
}

// TestAResellersClientSeesTheResellersBrand: on each page, from the link to the end of the visit.
func TestAResellersClientSeesTheResellersBrand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.clients.links["branded"] = true
	b := s.browser(t)
	link := b.get("/client/branded")
	b.post("/client/branded", nil)
	for name, a := range map[string]answer{
		"the link": link, "the panel": b.get("/client/panel/"), "the used link": b.get("/client/branded"), "the used link again": b.post("/client/branded", nil),
		"the end": b.post("/client/leave", nil), "after the end": b.get("/client/panel/"),
	} {
		body := html.UnescapeString(a.body)
		for _, part := range []string{samarkand.Name, samarkand.Logo, samarkand.Icon, samarkand.Terms, samarkand.Privacy, samarkand.Support} {
			if !strings.Contains(body, part) {
				t.Errorf("%s has no %s: %s", name, part, a.body)
			}
		}
		if name != "the panel" && !strings.Contains(body, samarkand.Style) {
			t.Errorf("%s has not its colours", name)
		}
		if strings.Contains(body, "Stead") || strings.Contains(a.body, "<Web>") {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}
