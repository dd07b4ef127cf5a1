package demo

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

const formPage = `<!doctype html><title> Sign
 in </title><body><p>outside</p><main><style>p{}</style><p>Welcome &amp; hello</p><code>app_12345678</code>
<form action="/search"><input name="q"></form>
<form method="post" action="?step=2">
 <input type="hidden" name="request" value="abc"><input name="email" type="email" value="a@b"><input type="password" name="password">
 <input type="checkbox" name="remember" checked><input type="checkbox" name="news" value="yes">
 <input type="radio" name="kind" value="public" checked><input type="radio" name="kind" value="confidential">
 <select name="lang"><option value="uz">Uzbek</option><option selected>ru</option></select>
 <select name="size"><option value="s">S</option><option value="l">L</option></select>
 <textarea name="note">some
 text</textarea>
 <button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button><button type="button" name="x" value="y">no</button>
</form></main>`

func TestFormsAreFilledInAsTheyStandOnThePage(t *testing.T) {
	at, _ := url.Parse("http://shop.test/login?next=/")
	p, err := parsePage(at, strings.NewReader(formPage))
	if err != nil {
		t.Fatal(err)
	}
	if p.title != "Sign in" || !strings.HasPrefix(p.text, "Welcome & hello") {
		t.Errorf("title %q, text %q", p.title, p.text)
	}
	f, err := p.form("email", "password")
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{
		"request": {"abc"}, "email": {"a@b"}, "password": {""}, "remember": {"on"}, "kind": {"public"}, "lang": {"ru"}, "size": {"s"}, "note": {"some text"},
	}
	if !reflect.DeepEqual(f.values, want) || f.method != http.MethodPost || f.action.String() != "http://shop.test/login?step=2" {
		t.Errorf("%s %s %v", f.method, f.action, f.values)
	}
	if !reflect.DeepEqual(f.buttons, []button{{"decision", "allow"}, {"decision", "deny"}}) {
		t.Errorf("buttons %v", f.buttons)
	}
	if _, err := p.form("iban"); err == nil {
		t.Error("a form with a field that is not there was found")
	}
	if g, err := p.button("deny"); err != nil || g != f {
		t.Errorf("button: %v", err)
	}
	if _, err := p.button("perhaps"); err == nil {
		t.Error("a button that is not there was found")
	}
}

func TestTheBrowserKeepsCookiesAndStopsAtTheApplication(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /start", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		http.Redirect(w, r, "/form", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /form", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<form method=post action=/form><input type=hidden name=a value=1><button name=decision value=deny>No</button><button name=decision value=allow>Yes</button></form>`))
	})
	mux.HandleFunc("POST /form", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err != nil || c.Value != "1" || r.PostFormValue("decision") != "allow" || r.PostFormValue("a") != "1" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("<main>Who are you?</main>"))
			return
		}
		w.Header().Set("Location", redirectURI+"?code=x")
		w.WriteHeader(http.StatusFound)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(&http.Client{Jar: jar})
	p, err := b.open(t.Context(), server.URL+"/start")
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.button("allow")
	if err != nil {
		t.Fatal(err)
	}
	if p, err = b.submit(t.Context(), f, "allow", nil); err != nil || p.location == nil || p.location.Query().Get("code") != "x" {
		t.Errorf("%v, %v", err, p)
	}
	if _, err = b.submit(t.Context(), f, "deny", nil); err == nil || !strings.Contains(err.Error(), "Who are you?") {
		t.Errorf("a refusal is no error: %v", err)
	}
}
