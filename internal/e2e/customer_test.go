package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// customer is the demo customer with a token of the demo application.
type customer struct {
	t     *testing.T
	base  string
	token string
}

const (
	demoEmail    = "demo@stead.example"
	demoPassword = "stead-demo-password"
	demoClient   = "stead-demo"
	demoRedirect = "http://127.0.0.1/callback"
)

var consentRequest = regexp.MustCompile(`name="request" value="([^"]+)"`)

// signIn takes a customer through sign-in page, consent page, code and token.
func (p *process) signIn(t *testing.T) *customer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), demoRedirect) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	post := func(path string, form url.Values) *http.Response {
		r, err := browser.PostForm(p.url+path, form)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r
	}
	if r := post("/login", url.Values{"email": {demoEmail}, "password": {demoPassword}}); r.StatusCode != http.StatusOK {
		t.Fatalf("sign in: %s", r.Status)
	}
	config := oauth2.Config{
		ClientID: demoClient, RedirectURL: demoRedirect,
		Endpoint: oauth2.Endpoint{AuthURL: p.url + "/oauth/authorize", TokenURL: p.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams},
		Scopes: []string{
			"profile", "orders:read", "orders:write", "wallet:read", "services:read", "services:write", "domains:read", "domains:write",
			"monitors:read", "monitors:write",
		},
	}
	verifier := oauth2.GenerateVerifier()
	r, err := browser.Get(config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)))
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if found := consentRequest.FindSubmatch(page); found != nil {
		r = post("/oauth/authorize", url.Values{"request": {html.UnescapeString(string(found[1]))}, "decision": {"allow"}})
	}
	back, err := r.Location()
	if err != nil {
		t.Fatalf("no redirect to the application: %s", r.Status)
	}
	token, err := config.Exchange(t.Context(), back.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	return &customer{t: t, base: p.url, token: token.AccessToken}
}

// at is the same customer at a restarted server.
func (c *customer) at(p *process) *customer { return &customer{c.t, p.url, c.token} }

// call makes one call; a missing server is an error.
func (c *customer) call(method, path, body, key string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, bytes.NewBufferString(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = r.Body.Close() }()
	answer, err = io.ReadAll(r.Body)
	return r.StatusCode, answer, err
}

// must makes a call that must succeed.
func (c *customer) must(method, path, body string, into any) {
	c.t.Helper()
	status, answer, err := c.call(method, path, body, "")
	if err != nil || status >= 300 {
		c.t.Fatalf("%s %s: %d %v %s", method, path, status, err, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		c.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
}

// plan is the first hosting plan on sale.
func (c *customer) plan() int64 { return c.planWith(1) }

// planWith is the first hosting plan on sale with that many databases.
func (c *customer) planWith(databases int) int64 {
	c.t.Helper()
	var catalog struct {
		Data []struct {
			Type  string `json:"type"`
			Plans []struct {
				ID     int64 `json:"id"`
				Limits struct {
					Databases int `json:"databases"`
				} `json:"limits"`
			} `json:"plans"`
		} `json:"data"`
	}
	c.must(http.MethodGet, "/api/v1/catalog", "", &catalog)
	for _, p := range catalog.Data {
		for _, plan := range p.Plans {
			if p.Type == "hosting" && plan.Limits.Databases >= databases {
				return plan.ID
			}
		}
	}
	c.t.Fatal("nothing is on sale")
	return 0
}

type amount struct {
	Cents int64 `json:"usd_cents"`
}

// order creates an order and returns its id and its price.
func (c *customer) order(plan int64, domain string) (id, cents int64) {
	c.t.Helper()
	var o struct {
		ID    int64  `json:"id"`
		Total amount `json:"total"`
	}
	c.must(http.MethodPost, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, plan, domain), &o)
	return o.ID, o.Total.Cents
}

// charges counts the charges of each order, and reads the balance and the held money.
func (c *customer) charges() (byOrder map[int64]int, balance, held int64) {
	c.t.Helper()
	byOrder = map[int64]int{}
	for page := 1; ; page++ {
		var w struct {
			Balance amount `json:"balance"`
			Held    amount `json:"held"`
			Data    []struct {
				Type      string `json:"type"`
				Reference struct {
					Type string `json:"type"`
					ID   int64  `json:"id"`
				} `json:"reference"`
			} `json:"data"`
			Meta struct {
				LastPage int `json:"last_page"`
			} `json:"meta"`
		}
		c.must(http.MethodGet, fmt.Sprintf("/api/v1/wallet?per_page=50&page=%d", page), "", &w)
		for _, tx := range w.Data {
			if tx.Type == "charge" && tx.Reference.Type == "order" {
				byOrder[tx.Reference.ID]++
			}
		}
		balance, held = w.Balance.Cents, w.Held.Cents
		if page >= w.Meta.LastPage {
			return byOrder, balance, held
		}
	}
}

// isActive reports whether there is an active service of that domain.
func (c *customer) isActive(domain string) bool {
	var services struct {
		Data []struct{ Domain, Status string }
	}
	c.must(http.MethodGet, "/api/v1/services", "", &services)
	for _, s := range services.Data {
		if s.Domain == domain && s.Status == "active" {
			return true
		}
	}
	return false
}
