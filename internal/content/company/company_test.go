package company

import (
	"bytes"
	"context"
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
		v, err := s.Change(t.Context(), Settings{Name: " Bulut ", Color: "#FFCC00", Terms: "https://bulut.example/terms"}, "new")
		if err != nil {
			t.Fatal(err)
		}
		b := s.Current()
		if b != v.Brand || len(v.Uploaded) != 0 || b.Name != "Bulut" || b.Sender != "Bulut" || b.Color != "#ffcc00" || b.Support != "help@stead.test" || b.Terms != "https://bulut.example/terms" || sent.sent != 1 {
			t.Errorf("after the change: %+v, %d signals", b, sent.sent)
		}
		if _, err := s.SetImage(t.Context(), Logo, pngOf(t, 40, 20), "new"); err != nil {
			t.Fatal(err)
		}
		other, _ := newSection(t, s.DB) // another replica
		if b := other.Current(); !strings.HasPrefix(b.Logo, "/brand/logo-") || !b.MailLogo || b.Name != "Bulut" {
			t.Errorf("another replica: %+v", b)
		}
		if _, err := s.RemoveImage(t.Context(), Logo); err != nil || s.Current().Logo != "" {
			t.Errorf("the logo is %q, %v", s.Current().Logo, err)
		}
		if _, err := s.Change(t.Context(), Settings{}, "back"); err != nil || s.Current().Name != "Stead" {
			t.Errorf("nothing set: %+v, %v", s.Current(), err)
		}
	})
}

func TestSettingsThatAreNoneAreRefused(t *testing.T) {
	for _, set := range []Settings{
		{Name: "a\nb"},
		{Name: "a\u202eb"},
		{Color: "red"},
		{Color: "#12345g"},
		{Color: "#+12345"},
		{Support: "Anna <a@b.example>"},
		{Support: "nobody"},
		{Terms: "/terms"},
		{Privacy: "javascript:alert(1)"},
		{Imprint: "https://user@host.example/"},
		{Imprint: "https://host.example/ \"x"},
		{Terms: "https:///x"},
	} {
		if got, err := set.checked(); err == nil {
			t.Errorf("%+v is taken as %+v", set, got)
		}
	}
}

func TestPicturesAreKnownByTheirContent(t *testing.T) {
	const head, end = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">`, `</svg>`
	ico := append([]byte{0, 0, 1, 0, 1, 0}, make([]byte, 40)...)
	webp := append([]byte("RIFF\x20\x00\x00\x00WEBPVP8 "), make([]byte, 20)...)
	for name, c := range map[string]struct {
		kind    string
		content []byte
		want    string
	}{
		"a PNG":                      {Logo, pngOf(t, 100, 20), pngType},
		"a PNG that is too wide":     {Logo, pngOf(t, 4097, 1), ""},
		"a PNG without its head":     {Logo, []byte("\x89PNG\r\n\x1a\n<script>"), ""},
		"a WebP":                     {Logo, webp, webpType},
		"an ICO":                     {Icon, ico, icoType},
		"an ICO as the logo":         {Logo, ico, ""},
		"a page":                     {Logo, []byte("<!doctype html><script>alert(1)</script>"), ""},
		"nothing":                    {Logo, nil, ""},
		"too much for an icon":       {Icon, append(pngOf(t, 1, 1), make([]byte, maxIcon)...), ""},
		"an SVG":                     {Logo, []byte(`<?xml version="1.0"?>` + head + `<style>.a{fill:url(#g)}</style><path class="a" d="M0 0h9v9z"/><use href="#g"/>` + end), svgType},
		"an SVG with a script":       {Logo, []byte(head + `<script>alert(1)</script>` + end), ""},
		"with an event":              {Logo, []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), ""},
		"with a page in it":          {Logo, []byte(head + `<foreignObject><b xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>` + end), ""},
		"with a link":                {Logo, []byte(head + `<a xlink:href="https://evil.example/"><path/></a>` + end), ""},
		"with another picture":       {Logo, []byte(head + `<image href="https://evil.example/p.png"/>` + end), ""},
		"that uses another file":     {Logo, []byte(head + `<use xlink:href="https://evil.example/s.svg#a"/>` + end), ""},
		"that loads a style":         {Logo, []byte(head + `<style>@import url(https://evil.example/)</style>` + end), ""},
		"that loads by an attribute": {Logo, []byte(head + `<path fill="url( 'https://evil.example/' )"/>` + end), ""},
		"with entities":              {Logo, []byte(`<!DOCTYPE svg [<!ENTITY a "b">]>` + head + `&a;` + end), ""},
		"with a style of XML":        {Logo, []byte(`<?xml-stylesheet href="https://evil.example/"?>` + head + end), ""},
		"with an animation":          {Logo, []byte(head + `<set attributeName="href" to="javascript:alert(1)"/>` + end), ""},
		"that is cut off":            {Logo, []byte(head + `<path d="M0 0"`), ""},
		"of another namespace":       {Logo, []byte(`<svg xmlns="http://www.w3.org/1999/xhtml"/>`), ""},
	} {
		i, err := checkImage(c.kind, c.content)
		if (err == nil) != (c.want != "") || i.Type != c.want {
			t.Errorf("%s: %q, %v", name, i.Type, err)
		}
	}
}

func TestFilesOfTheBrandAreServedWithoutRights(t *testing.T) {
	engines(t, func(t *testing.T, s *Service, _ *signals) {
		get := func(path string) *http.Response {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			return w.Result()
		}
		if _, err := s.SetImage(t.Context(), Logo, pngOf(t, 4, 4), "new"); err != nil {
			t.Fatal(err)
		}
		b := s.Current()
		for path, want := range map[string]struct{ kind, cache string }{
			b.Logo:                {pngType, "immutable"},
			b.Icon:                {svgType, "immutable"},
			b.Style:               {"text/css; charset=utf-8", "immutable"},
			"/brand/logo-old.png": {pngType, "max-age=300"}, // in a mail from before the logo changed
			IconPath:              {svgType, "max-age=300"},
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

func TestTheInitialIsAPicture(t *testing.T) {
	for _, name := range []string{"stead", "Ўзбек", "<b>", "&co"} {
		i := initial(brand.Brand{Name: name})
		if what, err := checkSVG(i.Content); what != "" || err != nil {
			t.Errorf("%s: %q, %v: %s", name, what, err, i.Content)
		}
	}
}
