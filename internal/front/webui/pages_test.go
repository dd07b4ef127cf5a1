package webui_test

import (
	"bytes"
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"stead.dev/stead/internal/front/webui"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/db"
)

func TestTheShopFrontShowsWhatIsSold(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	a := b.get("/")
	for _, want := range []string{
		"Stead &amp; Sons", "Hosting &lt;b&gt;", "$3.00", "for 1 month", "for 12 months", "$1.00", "then $3.00", "$2.50 a month", "Save 16%", "Quick &amp; quiet", "Disk: 512 MB", "Traffic a month: unlimited", "20 GB</td>", "99.900 %", "demo@example.com", `href="/register"`,
		`href="/register?next=%2Fpanel%2Forder%3Fplan%3Dstart"`, `href="/register?next=%2Fpanel%2Forder%3Fperiod%3D12%26plan%3Dstart"`, `action="/domains"`, `href="/login"`, `href="/docs"`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if a.status != 200 || strings.Contains(a.body, "webui.") || strings.Contains(a.body, "no value") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestEveryPageIsCompleteInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	in, out := s.browser(t), s.browser(t)
	in.register("anna@example.com")
	for _, lang := range []string{"en", "ru", "uz"} {
		pages := map[*browser][]string{
			out: {"/", "/domains", "/register", "/login", "/recover", "/recover/nothing", "/email/nothing"},
			in:  {"/"},
		}
		for b, paths := range pages {
			for _, path := range paths {
				a := b.get(path + "?lang=" + lang)
				if !strings.Contains(a.body, `<html lang="`+lang+`">`) || strings.Contains(a.body, "webui.") || strings.Contains(a.body, "no value") ||
					!strings.HasSuffix(strings.TrimSpace(a.body), "</html>") {
					t.Errorf("%s in %s: %d %s", path, lang, a.status, a.body)
				}
			}
		}
	}
}

func TestTheLanguageIsKept(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	b.get("/?lang=uz")
	if a := b.get("/login"); !strings.Contains(a.body, `<html lang="uz">`) {
		t.Error("the language was forgotten")
	}
}

func TestPagesForbidWhatTheyDoNotNeed(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	h := b.get("/login").header
	csp := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self';", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("%q is not in %q", want, csp)
		}
	}
	if strings.Contains(csp, "unsafe") || h.Get("Cache-Control") != "no-store" || h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", h)
	}
	if body := b.get("/login").body; regexp.MustCompile(`(?i)\son\w+=|<style|style=|<script>|https?://`).MatchString(body) {
		t.Errorf("the page needs what its policy forbids, or another site: %s", body)
	}
	if a := b.get("/no-such-page"); a.status != http.StatusNotFound || !strings.Contains(a.body, "</html>") {
		t.Errorf("%d", a.status)
	}
}

func TestStylesAreKeptForEverUnderTheirHash(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	path := regexp.MustCompile(`/static/\w+/style\.css`).FindString(b.get("/").body)
	if a := b.get(path); a.status != 200 || !strings.Contains(a.header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/css") {
		t.Errorf("%s: %d %v", path, a.status, a.header)
	}
	for _, path := range []string{"/static/x/pages.go", "/static/", "/static/..%2f..%2fetc/passwd"} {
		if a := b.get(path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

func TestAFormKeepsItsInputAndSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	a := b.post("/register", url.Values{"name": {`"><script>alert(1)</script>`}, "email": {"nonsense"}, "password": {"a secret"}, "locale": {"ru"}})
	if a.status != http.StatusUnprocessableEntity {
		t.Fatalf("%d", a.status)
	}
	for _, want := range []string{`value="nonsense"`, `aria-invalid="true"`, `id="e-email"`, `id="e-password"`, `<option value="ru" selected>`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "a secret") {
		t.Error("the page repeats what it must not")
	}
}

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	if a := b.get("/panel/"); a.status != 200 || !strings.Contains(a.body, "anna@example.com") {
		t.Errorf("%d %s", a.status, a.body)
	}
	token := b.cookie("stead_session")
	if a := b.post("/logout", nil); a.status != http.StatusSeeOther || b.cookie("stead_session") != "" {
		t.Errorf("%d", a.status)
	}
	if _, err := s.accounts.Authenticate(t.Context(), token); err == nil {
		t.Error("the session lives on after signing out")
	}
	if a := b.get("/panel/account/security?x=1"); a.to != "/login?next="+url.QueryEscape("/panel/account/security?x=1") {
		t.Errorf("to %q", a.to)
	}
	if a := b.login("anna@example.com", "wrong password", "/panel/"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `value="anna@example.com"`) || b.cookie("stead_session") != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := b.login("anna@example.com", password, "/panel/account/security?x=1"); a.to != "/panel/account/security?x=1" {
		t.Errorf("%d to %q", a.status, a.to)
	}
}

func TestTheSessionCookieIsOutOfReach(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	a := b.post("/register", url.Values{"name": {"Anna"}, "email": {"anna@example.com"}, "password": {password}})
	for _, line := range a.header.Values("Set-Cookie") {
		if !strings.Contains(line, "HttpOnly") || !strings.Contains(line, "SameSite=Lax") || !strings.Contains(line, "Path=/") {
			t.Errorf("%s", line)
		}
	}
}

func TestASessionThatWasKnownBeforeIsNotSignedIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	victim, attacker := s.browser(t), s.browser(t)
	attacker.register("eve@example.com")
	planted := attacker.cookie("stead_session")
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	s.browser(t).register("anna@example.com")
	victim.client.Jar.SetCookies(at, []*http.Cookie{{Name: "stead_session", Value: planted, Path: "/"}})
	victim.login("anna@example.com", password, "")
	if now := victim.cookie("stead_session"); now == planted || now == "" {
		t.Errorf("the token is %q", now)
	}
	if session, err := s.accounts.Authenticate(t.Context(), planted); err == nil {
		t.Errorf("the planted token is signed in as %s", session.Account.Email)
	}
}

func TestNoRedirectLeavesTheSite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.browser(t).register("anna@example.com")
	for _, next := range []string{
		"https://evil.example/", "//evil.example", `/\evil.example`, `\\evil.example`, "/\t/evil.example", "javascript:alert(1)", "http:evil.example",
		"/%0d%0aSet-Cookie:x=y\r\nX: y", "///evil.example", "evil.example", "/ /evil.example", "",
	} {
		s.clk.Advance(time.Minute) // for so many browsers at one address
		b := s.browser(t)
		b.get("/login?next=" + url.QueryEscape(next))
		if a := b.login("anna@example.com", password, next); a.to != "/panel/" {
			t.Errorf("%q leads to %q", next, a.to)
		}
		if a := b.get("/login?next=" + url.QueryEscape(next)); a.to != "/panel/" {
			t.Errorf("already signed in, %q leads to %q", next, a.to)
		}
	}
	s.clk.Advance(time.Minute)
	b := s.browser(t)
	if a := b.login("anna@example.com", password, "/oauth/authorize?client_id=x&state=%2F%2F"); a.to != "/oauth/authorize?client_id=x&state=%2F%2F" {
		t.Errorf("%q", a.to)
	}
}

// TestFormerAddressesLeadToThePanel: they stand in mails, bookmarks and articles elsewhere.
func TestFormerAddressesLeadToThePanel(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	for path, to := range map[string]string{
		"/account": "/panel/", "/account/keys": "/panel/reseller/keys", "/account/confirm": "/panel/", "/client": "/client/panel/",
		"/account/services/10/credentials": "/panel/services/10/passwords", "/account/services/10/terminal": "/panel/services/10/terminal",
		"/account/services/%2F%2Fevil.example/credentials": "/panel/services/%2F%2Fevil.example/passwords",
	} {
		if a := b.get(path); a.status != http.StatusSeeOther || a.to != to {
			t.Errorf("%s: %d to %q", path, a.status, a.to)
		}
	}
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	for _, path := range []string{"/logout", "/login", "/register", "/panel/confirm", "/recover", "/login/passkey/options"} {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"}} {
			if a := b.post(path, nil, headers...); a.status != http.StatusForbidden {
				t.Errorf("%s with %v: %d", path, headers, a.status)
			}
		}
	}
	if a := b.get("/panel/"); a.status != 200 {
		t.Errorf("signed out by another site: %d", a.status)
	}
}

func TestSigningInForAClientMayEndAtTheClient(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	policyOf := func(redirect string) string {
		next := "/oauth/authorize?client_id=x&redirect_uri=" + url.QueryEscape(redirect)
		_, after, _ := strings.Cut(b.get("/login?next="+url.QueryEscape(next)).header.Get("Content-Security-Policy"), "form-action ")
		directive, _, _ := strings.Cut(after, ";")
		return directive
	}
	for redirect, want := range map[string]string{
		"https://app.example/cb?x=1":                       "'self' https://app.example",
		"http://127.0.0.1:4321/cb":                         "'self' http://127.0.0.1:4321",
		"com.example.app:/cb":                              "'self' com.example.app:",
		"https://app.example; script-src *":                "'self'",
		"https://app.example/; script-src 'unsafe-inline'": "'self' https://app.example",
		"https://*/cb":                                     "'self'",
		"javascript:alert(1)":                              "'self'",
		"/cb":                                              "'self'",
	} {
		if got := policyOf(redirect); got != want {
			t.Errorf("%q gives %q, want %q", redirect, got, want)
		}
	}
}

// secondFactor switches two-factor sign-in on for the account of b, and answers what makes codes, and the recovery codes.
func (b *browser) secondFactor() (code func() string, recovery []string) {
	b.t.Helper()
	s := b.site
	session, err := s.accounts.Authenticate(b.t.Context(), b.cookie("stead_session"))
	if err != nil {
		b.t.Fatal(err)
	}
	e, err := s.accounts.EnrolTOTP(b.t.Context(), session)
	if err != nil {
		b.t.Fatal(err)
	}
	code = func() string {
		c, err := totp.GenerateCode(e.Key, s.clk.Now())
		if err != nil {
			b.t.Fatal(err)
		}
		return c
	}
	if recovery, err = s.accounts.ConfirmTOTP(b.t.Context(), session, code(), account.Client{}); err != nil {
		b.t.Fatal(err)
	}
	s.clk.Advance(time.Minute) // a code works once
	return code, recovery
}

func TestTwoFactorSignInThroughThePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	code, recovery := b.secondFactor()

	other := s.browser(t)
	if a := other.login("anna@example.com", password, "/panel/orders"); a.to != "/login/code?next=%2Fpanel%2Forders" {
		t.Fatalf("%d to %q", a.status, a.to)
	}
	if a := other.get("/panel/"); a.status != http.StatusSeeOther {
		t.Errorf("the password alone opens the account: %d", a.status)
	}
	if a := other.get("/login/code?next=%2Fpanel%2Forders"); a.status != 200 {
		t.Errorf("%d", a.status)
	}
	used := code()
	if a := other.post("/login/code", url.Values{"code": {used}, "next": {"/panel/orders"}}); a.to != "/panel/orders" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	third := s.browser(t)
	third.login("anna@example.com", password, "")
	if a := third.post("/login/code", url.Values{"code": {used}}); a.status != http.StatusUnprocessableEntity || !strings.Contains(html.UnescapeString(a.body), "already used") {
		t.Errorf("a replayed code: %d", a.status)
	}
	if a := third.post("/login/code", url.Values{"code": {recovery[0]}}); a.to != "/panel/" {
		t.Errorf("a recovery code: %d %s", a.status, a.body)
	}
	if a := s.browser(t).get("/login/code"); a.to != "/login?next=%2Fpanel%2F" {
		t.Errorf("without a pending sign-in: %d to %q", a.status, a.to)
	}
}

func TestFormerPagesLeadToThePanel(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	for path, want := range map[string]string{
		"/account": "/panel/", "/account/profile": "/panel/account/profile", "/account/security": "/panel/account/security",
		"/account/applications/7": "/panel/account/applications/7", "/account/applications/new": "/panel/account/applications",
		"/account/connections": "/panel/account/connections", "/account/services": "/panel/services",
		"/account/services/10/terminal": "/panel/services/10/terminal", "/account/services/%2F%2Fevil.example/terminal": "/panel/services/%2F%2Fevil.example/terminal",
	} {
		if a := b.get(path); a.status != http.StatusSeeOther || a.to != want {
			t.Errorf("%s: %d to %q", path, a.status, a.to)
		}
	}
}

func TestAPasswordIsRecoveredThroughThePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	signedIn := s.browser(t)
	signedIn.register("anna@example.com")
	b := s.browser(t)
	known, unknown := b.post("/recover", url.Values{"email": {"anna@example.com"}}), b.post("/recover", url.Values{"email": {"nobody@example.com"}})
	if known.status != 200 || known.body != unknown.body {
		t.Error("the page tells whether there is such an account")
	}
	link := s.post.link(t, s.url, "/recover/")
	for range 2 { // as a mail scanner and then the person do
		if a := b.get(link); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if a := b.post(link, url.Values{"password": {"a whole other password"}}); a.to != "/login" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := b.get(link); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the link works twice: %d", a.status)
	}
	if a := signedIn.get("/panel/"); a.status != http.StatusSeeOther {
		t.Errorf("a session of before lives on: %d", a.status)
	}
	if a := b.login("anna@example.com", "a whole other password", ""); a.to != "/panel/" {
		t.Errorf("%d", a.status)
	}
}

func TestAnAddressIsConfirmedByAButtonNotByALink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	link := s.post.link(t, s.url, "/email/")
	b.get(link)
	if !strings.Contains(html.UnescapeString(b.get("/panel/").body), `"verified":false`) {
		t.Error("opening the link was enough")
	}
	// Whoever reads the mail and is not signed in to the account proves to hold it.
	reader := s.browser(t)
	if a := reader.get(link); !strings.Contains(a.body, `name="password"`) || !strings.Contains(a.body, `href="/recover"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := reader.post(link, url.Values{"password": {"wrong password"}}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong password: %d", a.status)
	}
	if a := b.post(link, nil); a.to != "/panel/" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if !strings.Contains(html.UnescapeString(b.get("/panel/").body), `"verified":true`) {
		t.Error("the address is not confirmed")
	}
}

func TestTheLanguageOfTheNewAccountIsSpoken(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	b.get("/register?lang=en")
	b.post("/register", url.Values{"name": {"Anna"}, "email": {"anna@example.com"}, "password": {password}, "locale": {"uz"}})
	if a := b.get("/panel/"); !strings.Contains(a.body, `<html lang="uz">`) {
		t.Errorf("%s", a.body)
	}
}

func TestAVisitorChoosesTheCurrencyOfPrices(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	const chosen, present = `href="/?currency=UZS"`, ` rel="nofollow" aria-current="true"`
	b.get("/?currency=EUR") // which has no rate
	if a := b.get("/"); !strings.Contains(a.body, `href="/?currency=USD"`+present) || strings.Contains(a.body, "EUR") {
		t.Errorf("at first: %s", a.body)
	}
	b.get("/domains?currency=uzs")
	if a := b.get("/"); !strings.Contains(a.body, chosen+present) {
		t.Errorf("the choice was forgotten: %s", a.body)
	}
	b.register("anna@example.com")
	if a := b.get("/panel/"); !strings.Contains(html.UnescapeString(a.body), `"currency":"UZS"`) {
		t.Errorf("the account has another currency: %s", a.body)
	}
	b.get("/?currency=USD")
	if a := b.get("/"); strings.Contains(a.body, "currency=") || b.cookie("stead_currency") != "" {
		t.Error("an account, whose profile has its currency, is offered another")
	}
}

func TestWhereTheVisitorGoesOnOutlivesRefusals(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	b.register("anna@example.com")
	b.post("/logout", nil)
	fields := url.Values{"email": {"anna@example.com"}, "password": {"wrong password"}, "next": {"/panel/orders?x=1"}}
	for _, from := range []string{"/login?next=%2Fpanel%2Forders%3Fx%3D1", "/login"} {
		if a := b.post("/login", fields, "Referer", b.site.url+from); !strings.Contains(html.UnescapeString(a.body), `href="/login?lang=ru&next=%2Fpanel%2Forders%3Fx%3D1"`) {
			t.Errorf("after %s: %s", from, a.body)
		}
	}
}

func TestOversizedAndBrokenFormsAreRefusedPolitely(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	for name, fields := range map[string]url.Values{
		"huge":      {"email": {strings.Repeat("a", 1<<20)}},
		"not UTF-8": {"email": {"\xff\xfe"}, "password": {"\xff"}, "name": {"\x00"}},
		"empty":     nil,
	} {
		for _, path := range []string{"/login", "/register", "/recover", "/login/code"} {
			if a := b.post(path, fields); a.status >= 500 {
				t.Errorf("%s %s: %d", name, path, a.status)
			}
		}
	}
	for _, path := range []string{"/login/passkey", "/login/passkey/options"} {
		for _, body := range []string{"", "{", "null", `{"credential":{}}`} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.address(path), strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			if a := b.do(r); a.status >= 500 {
				t.Errorf("%s %q: %d", path, body, a.status)
			}
		}
	}
}

func TestPasskeysAreOfferedWhereTheyWork(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	named := strings.Replace(b.site.url, "127.0.0.1", "localhost", 1)
	if page := b.get("/login").body; strings.Contains(page, "data-passkey") {
		t.Errorf("under an address without a name: %s", page)
	}
	if page := b.get(named + "/login").body; !strings.Contains(page, "data-passkey") {
		t.Errorf("under a name: %s", page)
	}
}

func TestALinkOfAMailIsInNoLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var log bytes.Buffer
	mux := http.NewServeMux()
	webui.New(webui.Deps{
		Accounts: s.accounts, Clock: s.clk, Log: slog.New(slog.NewTextHandler(&log, nil)), BaseURL: s.url, Brand: brand.Fixed(brand.Brand{Name: "Stead"}), Language: "en",
		ClientAddr: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.7") },
	}).Routes(mux)
	err := s.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `ALTER TABLE account_tokens RENAME TO out_of_order`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/recover/", "/email/"} {
		log.Reset()
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path+"st_ln_of-a-mail", nil))
		if w.Code != http.StatusInternalServerError || !strings.Contains(log.String(), path+"{token}") || strings.Contains(log.String(), "st_ln_") {
			t.Errorf("%d %s", w.Code, log.String())
		}
	}
}

// lateBody is a form that is on its way when something happens.
type lateBody struct {
	happens func()
	form    io.Reader
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.happens != nil {
		b.happens()
		b.happens = nil
	}
	return b.form.Read(p)
}

// TestAFormOfASessionThatHasEndedDoesNothing: a thief could keep one open for days, and prove who they are or
// allow an application long after its owner has thrown the thief out.
func TestAFormOfASessionThatHasEndedDoesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.browser(t)
	b.register("anna@example.com")
	// The body is asked for once the server reads it, and not before.
	patient := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer patient.CloseIdleConnections()
	b.client.Transport = patient
	form := `{"password": "` + password + `"}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/panel/confirm", &lateBody{func() {
		if err := s.accounts.SignOut(t.Context(), b.cookie("stead_session")); err != nil {
			t.Error(err)
		}
	}, strings.NewReader(form)})
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(form))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue")
	if a := b.do(r); a.status != http.StatusUnauthorized || a.header.Get("Set-Cookie") != "" && strings.Contains(a.header.Get("Set-Cookie"), "st_") {
		t.Errorf("%d %v: %s", a.status, a.header, a.body)
	}
}

// A visitor sees what a name costs now and later, and comes to the order with it.
func TestAVisitorFindsADomain(t *testing.T) {
	t.Parallel()
	b := newSite(t).browser(t)
	page := b.get("/domains?name=shop.net")
	for _, want := range []string{
		"shop.com", "$12.00 for the first year, then $14.00 a year", "Taken", "The registry does not answer now",
		`href="/register?next=%2Fpanel%2Forder%3Fregister%3D1%26domain%3Dshop.com"`, `value="shop.net"`, "noindex",
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %q in %s", want, page.body)
		}
	}
	if page := b.get("/domains"); !strings.Contains(page.body, "Each year after") || strings.Contains(page.body, "noindex") {
		t.Errorf("%s", page.body)
	}
	if page := b.get("/domains?name=" + strings.Repeat("a", 254)); page.status != 404 {
		t.Errorf("a name that is too long: %d", page.status)
	}
}
