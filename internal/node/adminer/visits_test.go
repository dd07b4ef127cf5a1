package adminer

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/databases"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/panel"
)

// shelf has databases by account and name.
type shelf struct {
	mu  sync.Mutex
	has map[string]panel.DatabaseEngine
}

func (s *shelf) Visitable(ref, name string) (panel.DatabaseEngine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.has[ref+"/"+name]; ok {
		return e, nil
	}
	return "", panel.ErrNotFound
}

func (s *shelf) remove(ref, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.has, ref+"/"+name)
}

func (*shelf) Visit(context.Context, panel.DatabaseEngine, net.Conn, databases.Visits) error {
	return errors.ErrUnsupported
}

func world(t *testing.T) (*Driver, *shelf, *clock.Fake) {
	t.Helper()
	s := &shelf{has: map[string]panel.DatabaseEngine{"1/a_shop": panel.MySQL, "1/a_blog": panel.PostgreSQL, "2/b_shop": panel.MariaDB}}
	c := clock.NewFake(time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC))
	d := New(Config{
		Dir: t.TempDir(), Databases: s, Now: c.Now, Log: slog.New(slog.DiscardHandler), Address: func() string { return "https://node.example:8443" },
	})
	d.engines, d.stop = []panel.DatabaseEngine{panel.MariaDB, panel.PostgreSQL}, func() {}
	t.Cleanup(func() { _ = d.Close() })
	return d, s, c
}

// ask asks the gate as a browser does that has these cookies.
func ask(d *Driver, address string, cookies []*http.Cookie, change ...func(*http.Request)) *http.Response {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	d.handler().ServeHTTP(w, r)
	return w.Result()
}

func open(t *testing.T, d *Driver, ref, name string) panel.OpenedDatabase {
	t.Helper()
	o, err := d.OpenDatabase(t.Context(), ref, name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAnAddressWorksOnceAndForAMinute(t *testing.T) {
	d, _, c := world(t)
	o := open(t, d, "1", "a_shop")
	if !strings.HasPrefix(o.URL, "https://node.example:8443/.stead/adminer/open/") || !o.ExpiresAt.Equal(c.Now().Add(time.Minute)) || !o.EndsAt.Equal(c.Now().Add(time.Hour)) {
		t.Errorf("%+v", o)
	}
	for _, wrong := range []string{
		o.URL + "x", o.URL[:len(o.URL)-1], strings.Replace(o.URL, "node.example", "evil.example", 1), o.URL[:strings.LastIndex(o.URL, "/")], "https://node.example:8443/.stead/adminer/open/",
	} {
		if r := ask(d, wrong, nil); r.StatusCode != 403 || len(r.Cookies()) > 0 {
			t.Errorf("%s: %d", wrong, r.StatusCode)
		}
	}
	r := ask(d, o.URL, nil)
	if len(r.Cookies()) != 1 || r.StatusCode != 303 {
		t.Fatalf("%d %v", r.StatusCode, r.Cookies())
	}
	cookie, home := r.Cookies()[0], r.Header.Get("Location")
	if !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != home || cookie.MaxAge != 3600 {
		t.Errorf("%+v", cookie)
	}
	if r := ask(d, o.URL, nil); r.StatusCode != 403 || len(r.Cookies()) > 0 {
		t.Errorf("a second time: %d", r.StatusCode)
	}
	late := open(t, d, "1", "a_shop")
	c.Advance(time.Minute)
	if r := ask(d, late.URL, nil); r.StatusCode != 403 {
		t.Errorf("after its minute: %d", r.StatusCode)
	}

	// PHP-FPM does not run here: who gets so far is let in.
	base := "https://node.example:8443" + home
	is := func(what string, want int, r *http.Response) {
		t.Helper()
		if r.StatusCode != want {
			t.Errorf("%s: %d, want %d", what, r.StatusCode, want)
		}
	}
	good := []*http.Cookie{cookie}
	is("the browser", 502, ask(d, base, good))
	is("beside one of another site's", 502, ask(d, base, []*http.Cookie{{Name: cookieName, Value: "x"}, cookie}))
	is("another cookie", 403, ask(d, base, []*http.Cookie{{Name: cookieName, Value: "x"}}))
	is("no cookie", 403, ask(d, base, nil))
	is("another name", 403, ask(d, strings.Replace(base, "node", "evil", 1), good))
	is("another path", 404, ask(d, base+"index.php", good))
	is("another method", 405, ask(d, base, good, func(r *http.Request) { r.Method = http.MethodDelete }))
	post := func(origin, site string) func(*http.Request) {
		return func(r *http.Request) {
			r.Method, r.ContentLength = http.MethodPost, 0
			r.Header.Set("Origin", origin)
			r.Header.Set("Sec-Fetch-Site", site)
		}
	}
	is("a form", 502, ask(d, base, good, post("https://node.example:8443", "same-origin")))
	is("a form of another site's", 403, ask(d, base, good, post("https://evil.example", "cross-site")))
	is("a form of a site below the same domain", 403, ask(d, base, good, post("https://x.node.example", "same-site")))
	is("a form of nobody's", 403, ask(d, base, good, post("null", "")))
	is("too large", 413, ask(d, base, good, post("https://node.example:8443", "same-origin"), func(r *http.Request) { r.ContentLength = mostBody + 1 }))
	is("of unknown length", 411, ask(d, base, good, post("https://node.example:8443", "same-origin"), func(r *http.Request) { r.ContentLength = -1 }))
	var taken []func()
	for range ofAccount {
		release, ok := d.asking.Acquire("1")
		if !ok {
			t.Fatal("a request is left")
		}
		taken = append(taken, release)
	}
	is("one request too many", 429, ask(d, base, good))
	for _, release := range taken {
		release()
	}
	is("one request less", 502, ask(d, base, good))
	c.Advance(59 * time.Minute)
	is("after its hour", 403, ask(d, base, good))
}

func TestVisitsEndAndAreBounded(t *testing.T) {
	d, s, c := world(t)
	in := func(o panel.OpenedDatabase) bool {
		t.Helper()
		return ask(d, o.URL, nil).StatusCode == 303
	}
	first := open(t, d, "1", "a_shop")
	c.Advance(time.Second)
	for range mostVisits {
		open(t, d, "1", "a_shop")
	}
	if in(first) || !in(open(t, d, "1", "a_blog")) {
		t.Error("the oldest of too many does not end")
	}
	other := open(t, d, "2", "b_shop")
	s.remove("1", "a_blog")
	if _, err := d.OpenDatabase(t.Context(), "1", "a_blog"); panel.KindOf(err) != panel.ErrNotFound {
		t.Errorf("%v", err)
	}
	blog := open(t, d, "1", "a_shop")
	s.remove("1", "a_shop")
	account := accounts.Account{Record: accounts.Record{Ref: "1"}}
	if err := d.Apply(t.Context(), account); err != nil || in(blog) {
		t.Errorf("the database is gone: %v", err)
	}
	gone := open(t, d, "2", "b_shop")
	if err := d.Remove(t.Context(), accounts.Account{Record: accounts.Record{Ref: "2"}}); err != nil || in(gone) || in(other) {
		t.Errorf("the account is gone: %v", err)
	}
	last := open(t, d, "2", "b_shop")
	if err := d.Close(); err != nil || in(last) {
		t.Errorf("the agent has ended: %v", err)
	}
	if _, err := d.OpenDatabase(t.Context(), "2", "b_shop"); panel.KindOf(err) != panel.ErrUnreachable {
		t.Errorf("%v", err)
	}
}

func TestADoorTakesTheSecretOfAVisitOfItsServer(t *testing.T) {
	d, s, c := world(t)
	o := open(t, d, "1", "a_shop")
	var v *visit
	for _, v = range d.visits.all { //nolint:revive // there is one
	}
	knocks := func(engine panel.DatabaseEngine, database, secret string) bool {
		_, ok := door{d, engine}.Visiting(database, func(own string) bool { return own == secret })
		return ok
	}
	if knocks(panel.MariaDB, "a_shop", v.secret) {
		t.Error("before the address was used")
	}
	ask(d, o.URL, nil)
	if !knocks(panel.MariaDB, "a_shop", v.secret) {
		t.Error("it is not let in")
	}
	for what, in := range map[string]bool{
		"another server": knocks(panel.PostgreSQL, "a_shop", v.secret), "another database": knocks(panel.MariaDB, "b_shop", v.secret),
		"another secret": knocks(panel.MariaDB, "a_shop", ""),
	} {
		if in {
			t.Error(what)
		}
	}
	s.remove("1", "a_shop")
	if knocks(panel.MariaDB, "a_shop", v.secret) {
		t.Error("the database is gone")
	}
	c.Advance(time.Hour)
	if knocks(panel.MariaDB, "a_shop", v.secret) {
		t.Error("its hour is over")
	}
	select {
	case <-v.ended:
	default:
		t.Error("conversations go on")
	}
}

func TestAnEngineWithoutItsExtension(t *testing.T) {
	d, _, _ := world(t)
	d.engines = []panel.DatabaseEngine{panel.MariaDB}
	open(t, d, "1", "a_shop")
	if _, err := d.OpenDatabase(t.Context(), "1", "a_blog"); panel.KindOf(err) != panel.ErrUnsupported {
		t.Errorf("%v", err)
	}
}
