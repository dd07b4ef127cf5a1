package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/oauth2"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/testkit"
)

const visitorPassword = "correct horse battery"

// english is a text of the catalogue.
func english(id string) string { return i18n.T(i18n.English, id, nil) }

// register creates an account on the pages and stays signed in.
func (v *visitor) register(email string) {
	v.t.Helper()
	v.open("/register")
	v.fill("name", "Anna Karimova", "email", email, "password", visitorPassword)
	v.send("/register")
	v.atHome()
}

// atHome is where a visitor comes who has signed in; from there it goes to a page that needs no script.
func (v *visitor) atHome() {
	v.t.Helper()
	v.at("/panel/")
	v.open("/")
}

// signedIn is a client with a session, as the panel's scripts have one.
func (p *process) signedIn(t *testing.T, email, password string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: time.Minute}
	res, err := c.PostForm(p.url+"/login", url.Values{"email": {email}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("signing in: %s", res.Status)
	}
	return c
}

// panel calls an operation as the panel does, and decodes its answer.
func (p *process) panel(t *testing.T, c *http.Client, method, path, body string, out any) {
	t.Helper()
	var me struct {
		ID json.Number `json:"id"`
	}
	p.panelCall(t, c, http.MethodGet, "/me", "", "", &me)
	p.panelCall(t, c, method, path, body, "account/"+me.ID.String(), out)
}

// panelCall is panel for a page that was made for holder; without one, as by a link.
func (p *process) panelCall(t *testing.T, c *http.Client, method, path, body, holder string, out any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.url+"/panel/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if holder != "" {
		r.Header.Set("X-Stead-Panel", holder)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s, %v: %s", method, path, res.Status, err, answer)
	}
}

func TestThePagesInARealBrowser(t *testing.T) {
	t.Parallel()
	p := newInstallation(t).serve(t, "--demo")
	t.Run("a customer comes, goes and comes again", func(t *testing.T) { aCustomerComesAndGoes(newVisitor(t, p), "scripts@example.com") })
	t.Run("without JavaScript", func(t *testing.T) { aCustomerComesAndGoes(newVisitor(t, p).withoutScripts(), "no-scripts@example.com") })
	t.Run("an application is registered and allowed", func(t *testing.T) { anApplicationIsRegisteredAndAllowed(t, p) })
	t.Run("the checkout of the demo gateway", func(t *testing.T) { theDemoGatewayIsPaid(t, p) })
	t.Run("the reference of the API", func(t *testing.T) { theReferenceAsksNobodyElse(t, p) })
	t.Run("every page in every language", func(t *testing.T) { everyPageInEveryLanguage(t, p) })
}

// aCustomerComesAndGoes registers, leaves, mistypes the password, signs in and changes the language.
func aCustomerComesAndGoes(v *visitor, email string) {
	v.open("/")
	v.click(`header a[href="/register"]`)
	v.fill("name", "Anna Karimova", "email", email, "password", visitorPassword)
	v.send("/register")
	v.atHome()
	v.shows(english("webui.flash.registered"))
	v.send("/logout")
	v.at("/")
	v.shows(english("webui.flash.signed_out"))

	v.click(`header a[href="/login"]`)
	if status := v.signIn(email, "not the password"); status != http.StatusUnprocessableEntity {
		v.t.Errorf("a wrong password: status %d", status)
	}
	v.shows(english("error.credentials_invalid"))
	if kept := ask[string](v, `document.querySelector("#f-email").value`); kept != email {
		v.t.Errorf("the address became %q", kept)
	}
	if kept := ask[string](v, `document.querySelector("#f-password").value`); kept != "" {
		v.t.Error("the page has the password in it")
	}
	// The answer to a form can be read in another language, and what the form has to say is kept.
	for _, lang := range []string{i18n.Uzbek, i18n.Russian, i18n.English} {
		if status := v.click(`footer a[hreflang="` + lang + `"]`); status != http.StatusOK {
			v.t.Errorf("the refused form in %q: status %d", lang, status)
		}
		v.at("/login")
		v.shows(i18n.T(lang, "webui.login.title", nil))
		if is := ask[string](v, "document.documentElement.lang"); is != lang {
			v.t.Errorf("the page is in %q instead of %q", is, lang)
		}
	}
	v.signIn(email, visitorPassword)
	v.atHome()
}

// tokens exchanges a code at the token endpoint.
func (p *process) tokens(t *testing.T, config oauth2.Config, code, verifier string) *oauth2.Token {
	t.Helper()
	token, err := config.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (p *process) oauth(client, redirect string, scopes ...string) oauth2.Config {
	return oauth2.Config{
		ClientID: client, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.url + "/oauth/authorize", TokenURL: p.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams},
	}
}

// api calls the API with a token and returns the status; it decodes the body into out when that is given.
func (p *process) api(t *testing.T, token, method, path, body string, out any) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
	return res.StatusCode
}

func anApplicationIsRegisteredAndAllowed(t *testing.T, p *process) {
	newVisitor(t, p).register("integrator@example.com")
	var app struct {
		ClientID string `json:"client_id"`
	}
	p.panel(t, p.signedIn(t, "integrator@example.com", visitorPassword), http.MethodPost, "/apps",
		`{"name": "Phone app", "redirect_uris": ["http://127.0.0.1/callback"], "scopes": ["profile", "wallet:read", "orders:write"]}`, &app)

	client := newProgram(t)
	config := p.oauth(app.ClientID, client.url, "profile", "wallet:read")
	verifier := oauth2.GenerateVerifier()
	to := func(v *visitor, state string) string {
		return strings.Replace(config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), p.url, v.site, 1)
	}

	// The customer is not signed in, so the sign-in page comes first.
	v := newVisitor(t, p)
	v.register("customer@example.com")
	v.send("/logout")
	v.open(to(v, "first"))
	v.at("/login")
	v.signIn("customer@example.com", visitorPassword)
	v.at("/oauth/authorize")
	v.shows("Phone app", "customer@example.com", english("oauth.scope.profile"), english("oauth.scope.wallet:read"))
	if strings.Contains(v.text(), english("oauth.scope.orders:write")) {
		t.Error("the page names a scope that is not asked for")
	}
	v.click(`button[value="allow"]`)
	came := client.answer(t)
	if came.Get("state") != "first" || came.Get("iss") != p.url || came.Get("code") == "" {
		t.Fatalf("the program got %v", came)
	}
	token := p.tokens(t, config, came.Get("code"), verifier).AccessToken
	if status := p.api(t, token, http.MethodGet, "/api/v1/me", "", nil); status != http.StatusOK {
		t.Errorf("the token is answered with %d", status)
	}

	v.open(to(v, "second"))
	v.click(`button[value="deny"]`)
	if came := client.answer(t); came.Get("error") != "access_denied" || came.Get("state") != "second" || came.Get("iss") != p.url || came.Has("code") {
		t.Errorf("after a refusal the program got %v", came)
	}

	customer := p.signedIn(t, "customer@example.com", visitorPassword)
	var connected struct {
		Data []struct {
			Application struct{ ID int64 }
			Scopes      []string
		}
	}
	p.panel(t, customer, http.MethodGet, "/me/connections", "", &connected)
	if len(connected.Data) != 1 || !slices.Contains(connected.Data[0].Scopes, "wallet:read") {
		t.Fatalf("connected: %+v", connected)
	}
	p.panel(t, customer, http.MethodDelete, fmt.Sprintf("/me/connections/%d", connected.Data[0].Application.ID), "", nil)
	testkit.Eventually(t, time.Minute, func() bool {
		return p.api(t, token, http.MethodGet, "/api/v1/me", "", nil) == http.StatusUnauthorized
	}, "the token ends")
}

func theDemoGatewayIsPaid(t *testing.T, p *process) {
	client := newProgram(t)
	config := p.oauth(demoClient, client.url, "wallet:read", "wallet:write")
	verifier := oauth2.GenerateVerifier()
	v := newVisitor(t, p)
	v.open(strings.Replace(config.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier)), p.url, v.site, 1))
	v.signIn(demoEmail, demoPassword)
	v.click(`button[value="allow"]`)
	token := p.tokens(t, config, client.answer(t).Get("code"), verifier).AccessToken

	type topup struct {
		ID          int64  `json:"id"`
		Status      string `json:"status"`
		CheckoutURL string `json:"checkout_url"`
	}
	begin := func(more string) (made topup) {
		body := `{"gateway": "demo", "amount_usd_cents": 1234` + more + `}`
		if status := p.api(t, token, http.MethodPost, "/api/v1/wallet/topups", body, &made); status != http.StatusCreated {
			t.Fatalf("a top-up is answered with %d", status)
		}
		return made
	}
	for action, status := range map[string]string{"pay": "succeeded", "decline": "failed", "cancel": "cancelled"} {
		made := begin("")
		v.open(made.CheckoutURL)
		v.shows("$12.34")
		v.click(`button[value="` + action + `"]`)
		v.shows(english("wallet.pay.status." + status))
		var now topup
		p.api(t, token, http.MethodGet, fmt.Sprintf("/api/v1/wallet/topups/%d", made.ID), "", &now)
		if now.Status != status {
			t.Errorf("after %s the top-up is %s", action, now.Status)
		}
		if status := v.open(made.CheckoutURL); status != http.StatusOK || len(v.list("button")) != 0 {
			t.Errorf("after %s it can be paid again", action)
		}
	}

	// The page returns by itself.
	v.open(begin(`, "return_url": "` + client.url + `?from=checkout"`).CheckoutURL)
	v.click(`button[value="pay"]`)
	if came := client.answer(t); came.Get("from") != "checkout" || !came.Has("topup") {
		t.Errorf("the program got %v", came)
	}
}

func theReferenceAsksNobodyElse(t *testing.T, p *process) {
	v := newVisitor(t, p)
	v.open("/docs/")
	v.do(chromedp.WaitVisible(chromedp.CSS("#search")))
	v.look()
	v.shows("Orders")
	v.do(chromedp.SendKeys(chromedp.CSS("#search"), "tariff"), chromedp.WaitNotVisible(chromedp.CSS(`[data-text^="orders.list"]`)))
	v.look()
	v.open("/docs/services#reseller")
	v.do(chromedp.WaitVisible(chromedp.CSS(".call")), chromedp.Click(chromedp.CSS(".call details summary")))
	v.look()
}

// everyPageInEveryLanguage opens the pages that the other tests do not, and the rest in the other languages.
func everyPageInEveryLanguage(t *testing.T, p *process) {
	stranger, customer := newVisitor(t, p), newVisitor(t, p)
	customer.open("/login")
	customer.signIn(demoEmail, demoPassword)
	refused := map[string]int{"/nowhere": http.StatusNotFound, "/oauth/authorize?client_id=nobody": http.StatusBadRequest, "/pay/nothing": http.StatusNotFound}
	for _, lang := range []string{i18n.Uzbek, i18n.Russian, i18n.English} {
		pages := func(v *visitor, paths ...string) {
			for _, path := range paths {
				separator := "?"
				if strings.Contains(path, "?") {
					separator = "&"
				}
				want := http.StatusOK
				if status, ok := refused[path]; ok {
					want = status
				}
				if status := v.open(path + separator + url.Values{"lang": {lang}}.Encode()); status != want {
					t.Errorf("%s in %s: status %d", path, lang, status)
				}
				if is := ask[string](v, "document.documentElement.lang"); is != lang {
					t.Errorf("%s is in %q instead of %q", path, is, lang)
				}
				if page := v.text(); slices.ContainsFunc([]string{"webui.", "oauth.consent", "oauth.apps", "<no value>", "{{"}, func(s string) bool { return strings.Contains(page, s) }) {
					t.Errorf("%s in %s lacks a text:\n%s", path, lang, page)
				}
			}
		}
		pages(stranger, "/", "/login", "/register", "/recover", "/nowhere", "/oauth/authorize?client_id=nobody", "/pay/nothing")
		pages(customer, "/")
	}
}
