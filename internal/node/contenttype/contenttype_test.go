package contenttype

import "testing"

func TestTypeIsToldByName(t *testing.T) {
	for _, c := range []struct {
		name, want   string
		compressible bool
	}{
		{"index.html", "text/html; charset=utf-8", true},
		{"A/INDEX.HTM", "text/html; charset=utf-8", true},
		{"app.mjs", "text/javascript; charset=utf-8", true},
		{"feed.atom", "application/atom+xml; charset=utf-8", true},
		{"data.json", "application/json", true},
		{"logo.svg", "image/svg+xml", true},
		{"photo.JPG", "image/jpeg", false},
		{"font.woff2", "font/woff2", false},
		{"backup.tar.gz", "application/gzip", false},
		{"LICENSE", Unknown, false},
		{"x.no-such-extension", Unknown, false},
	} {
		if got := ByName(c.name); got != c.want {
			t.Errorf("ByName(%q) = %q, want %q", c.name, got, c.want)
		}
		if got := Compressible(ByName(c.name)); got != c.compressible {
			t.Errorf("Compressible of %q = %v", c.name, got)
		}
	}
}
