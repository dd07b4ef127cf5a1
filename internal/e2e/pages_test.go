package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"
	"golang.org/x/oauth2"

	"stead.dev/stead/internal/platform/clock"
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

// atHome is where a visitor comes who has signed in; from there it goes to the account's page.
func (v *visitor) atHome() {
	v.t.Helper()
	v.at("/panel/")
	v.open("/account")
}

func TestThePagesInARealBrowser(t *testing.T) {
	t.Parallel()
	p := newInstallation(t).serve(t, "--demo")
	t.Run("a customer comes, goes and comes again", func(t *testing.T) { aCustomerComesAndGoes(newVisitor(t, p), "scripts@example.com") })
	t.Run("without JavaScript", func(t *testing.T) { aCustomerComesAndGoes(newVisitor(t, p).withoutScripts(), "no-scripts@example.com") })
	t.Run("a second factor", func(t *testing.T) { aSecondFactorGuardsTheAccount(t, p) })
	t.Run("a passkey", func(t *testing.T) { aPasskeySignsIn(t, p) })
	t.Run("passkeys need a name", func(t *testing.T) { passkeysNeedAName(t, p) })
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
	v.shows("Anna Karimova", email, english("webui.flash.registered"))
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
	v.fill("password", visitorPassword)
	v.send("/login")
	v.atHome()

	for _, lang := range []string{i18n.Uzbek, i18n.Russian, i18n.English} {
		v.open("/account/profile")
		v.click(`footer a[hreflang="` + lang + `"]`)
		v.shows(i18n.T(lang, "webui.nav.overview", nil))
		v.click(`.tabs a[href="/account/security"]`)
		v.shows(i18n.T(lang, "webui.security.sessions", nil))
		if is := ask[string](v, "document.documentElement.lang"); is != lang {
			v.t.Errorf("the page is in %q instead of %q", is, lang)
		}
	}

	// The answer to a form has no address of its own, and can be read in another language nevertheless.
	v.fill("current", "not the password", "password", visitorPassword+"!")
	if status := v.send("/account/password"); status != http.StatusUnprocessableEntity {
		v.t.Errorf("a wrong password: status %d", status)
	}
	if status := v.click(`footer a[hreflang="ru"]`); status != http.StatusOK {
		v.t.Errorf("the refused form in Russian: status %d", status)
	}
	v.at("/account/security")
}

func aSecondFactorGuardsTheAccount(t *testing.T, p *process) {
	v := newVisitor(t, p)
	v.register("second-factor@example.com")
	v.open("/account/security")
	v.click(`a[href="/account/totp"]`)
	key := strings.TrimSpace(v.list("main code")[0])
	// A code works once, so later ones belong to later periods; the server accepts the next one.
	code := func(ahead time.Duration) string {
		c, err := totp.GenerateCode(key, clock.System(ahead).Now())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	v.fill("code", code(0))
	v.send("/account/totp")
	recovery := v.list(".codes code")
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes", len(recovery))
	}

	enter := func(code string) (status int) {
		v.send("/logout")
		v.open("/login")
		v.signIn("second-factor@example.com", visitorPassword)
		v.at("/login/code")
		v.fill("code", code)
		return v.send("/login/code")
	}
	enter(code(30 * time.Second))
	v.atHome()
	enter(recovery[3])
	v.atHome()
	if status := enter(recovery[3]); status != http.StatusUnprocessableEntity {
		t.Errorf("a used recovery code: status %d", status)
	}
	v.at("/login/code")
	v.fill("code", recovery[4])
	v.send("/login/code")
	v.atHome()
}

// withAuthenticator gives the browser a device with a fingerprint sensor that always succeeds.
func (v *visitor) withAuthenticator() {
	v.t.Helper()
	device := &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}
	v.do(call(webauthn.Enable, webauthn.EnableParams{}),
		call(webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: device}))
}

func aPasskeySignsIn(t *testing.T, p *process) {
	v := newVisitor(t, p)
	v.withAuthenticator()
	v.register("passkey@example.com")
	v.open("/account/security")
	v.fill("passkey_name", "My phone")
	v.click(`[data-passkey="register"] button`)
	v.at("/account/security")
	v.shows(english("webui.flash.passkey_added"), "My phone")
	v.send("/logout")
	v.open("/login?next=%2Faccount%2Fsecurity")
	v.click(`[data-passkey="login"] button`)
	v.at("/account/security")
	v.shows("My phone")

	// A passkey that was removed here has no effect; the browser does not know that and offers it.
	v.click(`form[action^="/account/passkeys/"] button`)
	v.shows(english("webui.flash.passkey_removed"))
	v.send("/logout")
	v.open("/login")
	v.do(chromedp.Click(chromedp.CSS(`[data-passkey="login"] button`)), chromedp.WaitVisible(chromedp.CSS(`[data-passkey="login"] [role=alert]`)))
	v.at("/login")
	v.shows(english("error.passkey_invalid"))
}

// passkeysNeedAName checks the page at the address that `make run` prints: it has no name, so the page names the
// address where passkeys work.
func passkeysNeedAName(t *testing.T, p *process) {
	v := newVisitor(t, p)
	name := v.site
	v.site = p.url
	v.register("address@example.com")
	v.open("/account/security")
	if n := len(v.list("[data-passkey]")); n != 0 {
		t.Error("a passkey is offered that cannot be made here")
	}
	v.shows(english("webui.security.passkeys_at"), name)
	v.click(`main a[href="` + name + `/account/security"]`)
	v.at("/login") // the name has sessions of its own
	v.signIn("address@example.com", visitorPassword)
	v.at("/account/security")
	v.shows(english("webui.security.add_passkey"))
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
	integrator := newVisitor(t, p)
	integrator.register("integrator@example.com")
	integrator.open("/account/applications")
	integrator.click(`main a[href="/account/applications/new"]`)
	integrator.fill("name", "Phone app", "redirect_uris", "http://127.0.0.1/callback")
	if status := integrator.send("/account/applications"); status != http.StatusCreated {
		t.Errorf("registered with status %d", status)
	}
	clientID := strings.TrimSpace(integrator.list("main dl code")[0])

	client := newProgram(t)
	config := p.oauth(clientID, client.url, "profile", "wallet:read")
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

	v.open("/account/connections")
	v.shows("Phone app", english("oauth.scope.wallet:read"))
	v.click(`form[action$="/disconnect"] button`)
	v.shows(english("webui.flash.application_disconnected"))
	testkit.Eventually(t, time.Minute, func() bool {
		return p.api(t, token, http.MethodGet, "/api/v1/me", "", nil) == http.StatusUnauthorized
	}, "the token ends")
	if strings.Contains(v.text(), "Phone app") {
		t.Error("the application is still connected")
	}
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
		pages(customer, "/", "/account", "/account/profile", "/account/security", "/account/totp", "/account/confirm",
			"/account/connections", "/account/applications", "/account/applications/new")
	}
}
