package company

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	stdimage "image"

	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/mailer"
)

type signals struct{ sent int }

func (s *signals) Send(context.Context, *db.Tx, string, string) error { s.sent++; return nil }
func (*signals) Subscribe(string, func(string))                       {}

// unrecorded is a Recorder that keeps nothing; a test of app covers the audit log.
type unrecorded struct{}

func (unrecorded) RecordCompany(ctx context.Context, _, _, _ string, _ func(context.Context, db.Querier) (any, error)) context.Context {
	return ctx
}

func newSection(t *testing.T, d *db.DB) (*Service, *signals) {
	t.Helper()
	sent := &signals{}
	s := New(Config{
		DB: d, Signals: sent, Log: slog.New(slog.DiscardHandler), Configured: brand.Brand{Name: "Stead", Color: "#0b5cad", Support: "help@stead.test"},
	})
	s.Connect(Needs{Audit: unrecorded{}, Kinds: []mailer.Kind{}})
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, sent
}

func engines(t *testing.T, f func(t *testing.T, s *Service, sent *signals)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s, sent := newSection(t, d)
		f(t, s, sent)
	})
}

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, stdimage.NewGray(stdimage.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatStaffSetWinsOverTheConfiguration(t *testing.T) {
	engines(t, func(t *testing.T, s *Service, sent *signals) {
		if b := s.Current(); b.Name != "Stead" || b.Support != "help@stead.test" || b.Style == "" || b.Logo != "" {
			t.Errorf("configured: %+v", b)
		}
		v, err := s.Change(t.Context(), Change{
			Settings: brand.Settings{Name: " Bulut ", Color: "#FFCC00", Terms: "https://bulut.example/terms"}, ETag: s.Get().ETag,
		}, "new")
		if err != nil {
			t.Fatal(err)
		}
		b := s.Current()
		if b != v.Brand || len(v.Uploaded) != 0 || b.Name != "Bulut" || b.Sender != "Bulut" || b.Color != "#ffcc00" || b.Support != "help@stead.test" || b.Terms != "https://bulut.example/terms" || sent.sent != 1 {
			t.Errorf("after the change: %+v, %d signals", b, sent.sent)
		}
		// A picture that is refused, or a version that is another one by now, changes nothing.
		set, page := brand.Settings{Name: "Bulut"}, []byte("<!doctype html>")
		if _, err := s.Change(t.Context(), Change{Settings: brand.Settings{Name: "Half"}, Pictures: brand.PicturesIn{Logo: &page}}, "new"); err == nil || s.Current().Name != "Bulut" {
			t.Errorf("with a page as the logo: %v, %+v", err, s.Current())
		}
		logo, none := pngOf(t, 40, 20), []byte{}
		changed, err := s.Change(t.Context(), Change{Settings: set, Pictures: brand.PicturesIn{Logo: &logo}, ETag: v.ETag}, "new")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Change(t.Context(), Change{Settings: set, ETag: v.ETag}, "late"); !errors.Is(err, fault.ETagMismatch) {
			t.Errorf("of the version before: %v", err)
		}
		other, _ := newSection(t, s.DB) // another replica
		if b := other.Current(); !strings.HasPrefix(b.Logo, "/brand/logo-") || !b.MailLogo || b.Name != "Bulut" {
			t.Errorf("another replica: %+v", b)
		}
		if _, err := s.Change(t.Context(), Change{Settings: set, ETag: changed.ETag}, "again"); err != nil || s.Current().Logo == "" {
			t.Errorf("the logo went: %v", err)
		}
		if _, err := s.Change(t.Context(), Change{Pictures: brand.PicturesIn{Logo: &none}}, "back"); err != nil || s.Current().Logo != "" {
			t.Errorf("the logo is %q, %v", s.Current().Logo, err)
		}
		if _, err := s.Change(t.Context(), Change{}, "back"); err != nil || s.Current().Name != "Stead" {
			t.Errorf("nothing set: %+v, %v", s.Current(), err)
		}
	})
}

func TestFilesOfTheBrandAreServedWithoutRights(t *testing.T) {
	engines(t, func(t *testing.T, s *Service, _ *signals) {
		get := func(path string) *http.Response {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			return w.Result()
		}
		logo := pngOf(t, 4, 4)
		if _, err := s.Change(t.Context(), Change{Pictures: brand.PicturesIn{Logo: &logo}}, "new"); err != nil {
			t.Fatal(err)
		}
		b := s.Current()
		for path, want := range map[string]struct{ kind, cache string }{
			b.Logo:                {brand.PNG, "immutable"},
			b.Icon:                {brand.SVG, "immutable"},
			b.Style:               {"text/css; charset=utf-8", "immutable"},
			"/brand/logo-old.png": {brand.PNG, "max-age=300"}, // in a mail from before the logo changed
			IconPath:              {brand.SVG, "max-age=300"},
		} {
			r := get(path)
			h := r.Header
			if r.StatusCode != http.StatusOK || h.Get("Content-Type") != want.kind || !strings.Contains(h.Get("Cache-Control"), want.cache) ||
				h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%s: %d %v", path, r.StatusCode, h)
			}
		}
		for _, path := range []string{"/brand/", "/brand/other-1.png", "/brand/.."} {
			if r := get(path); r.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", path, r.StatusCode)
			}
		}
	})
}
