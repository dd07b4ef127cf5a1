package app

import (
	"fmt"
	"html"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/identity/account"
)

// signedIn is the cookie of a new customer's session, and the customer's account.
func (a *App) signedIn(t *testing.T) (cookie string, id int64) {
	t.Helper()
	email := unique("anna") + "@example.com"
	made, err := a.accounts.Create(t.Context(), account.NewAccount{Email: email, Name: "Anna", Password: "correct horse battery", Verified: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.accounts.SignIn(t.Context(), email, "correct horse battery", account.Client{Address: netip.MustParseAddr("203.0.113.7")})
	if err != nil {
		t.Fatal(err)
	}
	return "stead_session=" + out.Token, made.ID
}

// pageHolders are what pages of the panel send of themselves, by the cookie for which they were made.
var pageHolders sync.Map

// holder opens the panel at base and answers what its page sends of itself; "0" where nobody is signed in.
func (a *App) holder(t testing.TB, base, cookie string) string {
	t.Helper()
	if known, ok := pageHolders.Load(cookie); ok {
		return known.(string)
	}
	page := a.do(t, request{method: http.MethodGet, path: base, header: map[string]string{"Cookie": cookie}})
	found := regexp.MustCompile(`"holder":"([^"]+)"`).FindStringSubmatch(html.UnescapeString(string(page.body)))
	if found == nil {
		return "0"
	}
	pageHolders.Store(cookie, found[1])
	return found[1]
}

// panel sends a request as a page of the panel does.
func (a *App) panel(t *testing.T, cookie, method, path, body string) answer {
	t.Helper()
	base := "/panel/"
	if strings.HasPrefix(path, "/client/") {
		base = "/client/panel/"
	}
	return a.do(t, request{method: method, path: path, body: body, header: map[string]string{
		"Cookie": cookie, "X-Stead-Panel": a.holder(t, base, cookie), "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json",
	}})
}

func TestThePanelCallsTheInterfaceForItsSession(t *testing.T) {
	a := start(t, nil)
	cookie, id := a.signedIn(t)
	var me struct {
		ID int64 `json:"id"`
	}
	a.panel(t, cookie, http.MethodGet, "/panel/api/v1/me", "").decode(t, &me)
	if me.ID != id {
		t.Errorf("it called for account %d instead of %d", me.ID, id)
	}
	changed := a.panel(t, cookie, http.MethodPatch, "/panel/api/v1/me", `{"locale": "ru"}`)
	if changed.status != http.StatusOK || changed.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s; other origins: %q", changed, changed.header.Get("Access-Control-Allow-Origin"))
	}
	if r := a.panel(t, cookie, http.MethodGet, "/panel/api/v1/nothing", ""); r.status != http.StatusNotFound || r.key() != "not_found" {
		t.Errorf("an unknown operation: %s", r)
	}
	for what, r := range map[string]answer{
		"without a session":       a.panel(t, "", http.MethodGet, "/panel/api/v1/me", ""),
		"with an invented one":    a.panel(t, "stead_session=st_se_invented", http.MethodGet, "/panel/api/v1/me", ""),
		"of a reseller's, wallet": a.panel(t, cookie, http.MethodGet, "/panel/api/v1/reseller/wallet", ""),
	} {
		if r.status != http.StatusUnauthorized && r.status != http.StatusForbidden {
			t.Errorf("%s: %s", what, r)
		}
	}
}

// TestNoOtherSiteCallsThePanel: the browser sends the session's cookie with every request, whoever makes it.
func TestNoOtherSiteCallsThePanel(t *testing.T) {
	a := start(t, nil)
	cookie, _ := a.signedIn(t)
	for name, header := range map[string]map[string]string{
		"a form":                       {"Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"},
		"a script":                     {"Sec-Fetch-Site": "cross-site", "X-Stead-Panel": "1"},
		"a subdomain":                  {"Sec-Fetch-Site": "same-site", "X-Stead-Panel": "1"},
		"an old browser":               {"Origin": "https://evil.example", "X-Stead-Panel": "1"},
		"a form of ours":               {"Sec-Fetch-Site": "same-origin", "Content-Type": "text/plain"},
		"what says nothing of itself":  {},
		"an address that was typed in": {"Sec-Fetch-Site": "none"},
	} {
		header["Cookie"] = cookie
		r := a.do(t, request{method: http.MethodPatch, path: "/panel/api/v1/me", body: `{"locale": "uz"}`, header: header})
		if r.status != http.StatusForbidden {
			t.Errorf("%s: %s", name, r)
		}
	}
	r := a.do(t, request{method: http.MethodOptions, path: "/panel/api/v1/me", header: map[string]string{"Origin": "https://evil.example"}})
	if r.header.Get("Access-Control-Allow-Headers") != "" || r.status < 400 {
		t.Errorf("a preflight is answered: %s", r)
	}
}

// TestWhatAResellerDoesInThePanelIsInTheirTrail: in the world that the request names, without a key.
func TestWhatAResellerDoesInThePanelIsInTheirTrail(t *testing.T) {
	a := start(t, nil)
	cookie, id := a.signedIn(t)
	if _, err := a.reseller.Appoint(t.Context(), id, "gold", 2000); err != nil {
		t.Fatal(err)
	}
	call := func(world, method, path, body string) answer {
		t.Helper()
		return a.do(t, request{method: method, path: "/panel/api/v1/reseller" + path, body: body, header: map[string]string{
			"Cookie": cookie, "X-Stead-Panel": a.holder(t, "/panel/", cookie), "X-Stead-World": world, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json",
		}})
	}
	if r := call("sandbox", http.MethodPatch, "/me", `{"auto_renew": false}`); r.status != http.StatusOK {
		t.Fatalf("%s", r)
	}
	for world, want := range map[string]int{"sandbox": 1, "live": 0} {
		var trail struct {
			Data []struct {
				KeyID     *int64 `json:"key_id"`
				Operation string `json:"operation"`
				Status    int    `json:"status"`
			} `json:"data"`
		}
		call(world, http.MethodGet, "/audit-log", "").decode(t, &trail)
		if len(trail.Data) != want || want == 1 && (trail.Data[0].KeyID != nil || trail.Data[0].Operation != "reseller.me.update" || trail.Data[0].Status != http.StatusOK) {
			t.Errorf("%s: %+v", world, trail.Data)
		}
	}
}

// TestAClientOfAResellerHasOneServiceInThePanel: a visit is for the management of its service, and for no money.
func TestAClientOfAResellerHasOneServiceInThePanel(t *testing.T) {
	a := start(t, simulated)
	w := &world{App: a, t: t}
	w.owner = a.customer(t, a.application(t, false), 100_000)
	w.ownersKey = w.aKey(w.owner, reseller.NewKey{})
	w.plan = w.aPlan()
	order := func() int64 {
		id := w.id(w.post(t, w.ownersKey, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": "%s.example.com"}`, w.plan, unique("client"))))
		w.rests(fmt.Sprintf("/api/v1/reseller/services/%d", id), "active")
		return id
	}
	mine, other := order(), order()
	change := func(body string) answer {
		return a.do(t, request{method: http.MethodPut, path: "/api/v1/reseller/brand", token: w.ownersKey, body: body})
	}
	var brand struct {
		Logo string `json:"logo"`
		ETag string `json:"etag"`
	}
	changed := change(`{"name": "Samarkand Web", "color": "#0F5FA8", "support_email": "help@reseller.example", "terms_url": "https://reseller.example/terms", ` +
		`"logo": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="}`)
	if changed.status != http.StatusOK {
		t.Fatalf("the brand: %s", changed)
	}
	changed.decode(t, &brand)
	for _, wrong := range []string{
		`{"color": "red"}`, `{"name": "a\nb"}`, `{"support_email": "nobody"}`, `{"terms_url": "javascript:alert(1)"}`, `{"logo": "!"}`, `{"logo": "PHNjcmlwdD4="}`,
		`{"name": "` + strings.ToUpper(a.cfg.CompanyName) + `"}`,
	} {
		if r := change(wrong); r.status != http.StatusUnprocessableEntity {
			t.Errorf("the brand %s: %s", wrong, r)
		}
	}
	if r := change(`{"name": "Other", "etag": "of another time"}`); r.status != http.StatusConflict {
		t.Errorf("a version that is not there: %s", r)
	}
	if r := a.do(t, request{method: http.MethodGet, path: brand.Logo}); r.status != http.StatusOK || r.header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the logo: %s", r)
	}
	var link struct {
		URL string `json:"url"`
	}
	a.post(t, w.ownersKey, fmt.Sprintf("/api/v1/reseller/services/%d/login-link", mine), "{}").decode(t, &link)
	door := string(a.do(t, request{method: http.MethodGet, path: link.URL[strings.Index(link.URL, "/client/"):]}).body)
	for _, part := range []string{"Samarkand Web", brand.Logo, "/client/brand/style-0f5fa8.css", "https://reseller.example/terms", "help@reseller.example"} {
		if !strings.Contains(door, part) {
			t.Errorf("the page of the link lacks %s of the brand", part)
		}
	}
	entered := a.do(t, request{method: http.MethodPost, path: link.URL[strings.Index(link.URL, "/client/"):], header: map[string]string{"Sec-Fetch-Site": "same-origin"}})
	cookie := regexp.MustCompile(`stead_client=[^;]+`).FindString(entered.header.Get("Set-Cookie"))
	if cookie == "" {
		t.Fatalf("no visit: %s", entered)
	}
	shell := string(a.do(t, request{method: http.MethodGet, path: "/client/panel/", header: map[string]string{"Cookie": cookie}}).body)
	for _, part := range []string{"Samarkand Web", "#0f5fa8", "help@reseller.example", brand.Logo, "https://reseller.example/terms", "data:image/svg"} {
		if !strings.Contains(html.UnescapeString(shell), part) {
			t.Errorf("the page lacks %s of the brand", part)
		}
	}
	if strings.Contains(shell+door, a.cfg.CompanyName) || strings.Contains(shell+door, `"/brand/`) {
		t.Errorf("the pages name our company: %s %s", door, shell)
	}
	get := func(path string) answer { return a.panel(t, cookie, http.MethodGet, "/client/panel/api/v1"+path, "") }
	for _, path := range []string{"/databases", "/mailboxes", "/domains", "/usage", "/dns", "/files"} {
		if r := get(fmt.Sprintf("/services/%d%s", mine, path)); r.status != http.StatusOK {
			t.Errorf("%s: %s", path, r)
		}
		if r := get(fmt.Sprintf("/services/%d%s", other, path)); r.status != http.StatusNotFound {
			t.Errorf("%s of another service: %s", path, r)
		}
	}
	for _, path := range []string{
		"/services", "/wallet", "/me", "/orders", "/invoices", "/notifications", "/me/sessions",
		fmt.Sprintf("/services/%d", mine), fmt.Sprintf("/services/%d/tariffs", mine), fmt.Sprintf("/services/%d/addons", mine),
		"/reseller/services", fmt.Sprintf("/reseller/services/%d", mine),
	} {
		if r := get(path); r.status != http.StatusNotFound && r.status != http.StatusForbidden {
			t.Errorf("%s: %s", path, r)
		}
	}
	if r := a.panel(t, cookie, http.MethodPost, fmt.Sprintf("/client/panel/api/v1/services/%d/renew", mine), "{}"); r.status != http.StatusNotFound {
		t.Errorf("a renewal: %s", r)
	}
}

func TestThePanelIsServedWithItsFiles(t *testing.T) {
	a := start(t, nil)
	if r := a.do(t, request{method: http.MethodGet, path: "/panel/services/7"}); r.status != http.StatusSeeOther || r.header.Get("Location") != "/login?next=%2Fpanel%2Fservices%2F7" {
		t.Errorf("without a session: %s to %q", r, r.header.Get("Location"))
	}
	cookie, _ := a.signedIn(t)
	shell := a.do(t, request{method: http.MethodGet, path: "/panel/services/7", header: map[string]string{"Cookie": cookie}})
	policy := shell.header.Get("Content-Security-Policy")
	if shell.status != http.StatusOK || shell.header.Get("Cache-Control") != "no-store" || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "script-src 'self';") {
		t.Errorf("%d, kept for %q, policy %q", shell.status, shell.header.Get("Cache-Control"), policy)
	}
	files := regexp.MustCompile(`(?:src|href)="(/panel/assets/[^"]+)"`).FindAllStringSubmatch(string(shell.body), -1)
	if len(files) < 2 {
		t.Fatalf("the page names %d files:\n%s", len(files), shell.body)
	}
	for _, f := range files {
		r := a.do(t, request{method: http.MethodGet, path: f[1], header: map[string]string{"Accept-Encoding": "gzip"}})
		if r.status != http.StatusOK || !strings.Contains(r.header.Get("Cache-Control"), "immutable") || r.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d, %v", f[1], r.status, r.header)
		}
	}
	// During an upgrade another replica may have it.
	if r := a.do(t, request{method: http.MethodGet, path: "/panel/assets/main-gone.js"}); r.status != http.StatusNotFound || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a file that is gone: %d, kept for %q", r.status, r.header.Get("Cache-Control"))
	}
}
