package rdap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/registrar"
)

func TestLookup(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(media string, code int, body string) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		}
		const own = "application/rdap+json; charset=utf-8"
		switch r.URL.Path {
		case "/domain/free.example":
			answer(own, 404, `{"errorCode": 404}`)
		case "/domain/taken.example":
			answer(own, 200, `{"objectClassName": "domain", "ldhName": "TAKEN.EXAMPLE"}`)
		case "/domain/other.example":
			answer(own, 200, `{"objectClassName": "domain", "ldhName": "another.example"}`)
		case "/domain/broken.example":
			answer(own, 200, `{"objectClassName"`)
		case "/domain/busy.example":
			answer(own, 429, `{}`)
		case "/domain/web.example":
			answer("text/html", 404, `not here`)
		}
	}))
	defer srv.Close()
	s := New(srv.Client(), func(_ context.Context, name string) string {
		if name == "nowhere.example" {
			return ""
		}
		return srv.URL + "/"
	})
	yes, no := true, false
	for name, want := range map[string]*bool{
		"free.example": &yes, "taken.example": &no, "other.example": nil, "broken.example": nil, "busy.example": nil,
		"web.example": nil, "nowhere.example": nil,
	} {
		got, err := s.Lookup(t.Context(), name)
		if (got.Available == nil) != (want == nil) || want != nil && *want != *got.Available {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestTheEndOfARegistration(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/rdap+json")
		switch r.URL.Path {
		case "/domain/taken.example":
			_, _ = fmt.Fprint(w, `{"objectClassName": "domain", "ldhName": "taken.example", "events": [
				{"eventAction": "registration", "eventDate": "2001-02-03T04:05:06Z"},
				{"eventAction": "expiration", "eventDate": "2027-02-03T06:05:06+02:00"}]}`)
		case "/domain/silent.example":
			_, _ = fmt.Fprint(w, `{"objectClassName": "domain", "ldhName": "silent.example"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer srv.Close()
	s := New(srv.Client(), func(_ context.Context, name string) string {
		if name == "nowhere.example" {
			return ""
		}
		return srv.URL
	})
	if at, registered, err := s.Expires(t.Context(), "taken.example"); err != nil || !registered || at.Format(time.RFC3339) != "2027-02-03T04:05:06Z" {
		t.Error(at, registered, err)
	}
	if at, registered, err := s.Expires(t.Context(), "free.example"); err != nil || registered {
		t.Error(at, registered, err)
	}
	for _, name := range []string{"silent.example", "nowhere.example"} {
		if at, registered, err := s.Expires(t.Context(), name); !errors.Is(err, registrar.ErrNoExpiry) || registered {
			t.Error(name, at, registered, err)
		}
	}
}

// TestServersAreFoundInTheList of IANA, which is read once a day, and again soon after it could not be read.
func TestServersAreFoundInTheList(t *testing.T) {
	asked, broken := 0, true
	list := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; broken {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = fmt.Fprint(w, `{"version": "1.0", "services": [
			[["com", "NET"], ["http://insecure.example/", "https://rdap.example/v1/"]], [["co.uk"], ["https://uk.example/"]],
			[["uk"], ["https://above.example/"]], [["org"], ["http://insecure.example/"]], []]}`)
	}))
	defer list.Close()
	clk := clock.NewFake(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	b := NewBootstrap(list.Client(), list.URL, clk)
	expect := func(name, want string, calls int) {
		t.Helper()
		if got := b.Server(t.Context(), name); got != want || asked != calls {
			t.Errorf("%s: %q after %d calls, want %q after %d", name, got, asked, want, calls)
		}
	}
	expect("shop.com", "", 1)
	broken = false
	expect("shop.com", "", 1)
	clk.Advance(pauseFor)
	expect("shop.com", "https://rdap.example/v1/", 2)
	expect("shop.net", "https://rdap.example/v1/", 2)
	expect("shop.co.uk", "https://uk.example/", 2)
	expect("shop.uk", "https://above.example/", 2)
	expect("shop.org", "", 2)
	expect("com", "", 2)
	broken = true
	clk.Advance(listFor)
	expect("shop.com", "https://rdap.example/v1/", 3)
}
