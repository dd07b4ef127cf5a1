package insights

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// TestAddressesInAnyEncodingAreAudited: pages in windows-1251 name addresses by bytes that are no UTF-8.
func TestAddressesInAnyEncodingAreAudited(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" || r.URL.RawQuery != "" {
				rw.WriteHeader(http.StatusNotFound)
				return
			}
			rw.Header().Set("Content-Type", "text/html")
			_, _ = rw.Write([]byte(strings.Replace(cleanPage, "/about.html", "/?tag=\xd7\xe0\xe9", 1)))
		}))
		broken := "broken_link /?tag=%D7%E0%E9"
		for range 2 {
			var a answered
			w.call("own", "POST", "audit", "", 200, &a)
			if !slices.Contains(a.found(), broken) {
				t.Errorf("found %q, and not %s", a.found(), broken)
			}
		}
	})
}

// TestWhatASourceNamesIsStored: names of files are bytes, and machines could say anything.
func TestWhatASourceNamesIsStored(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, http.NotFoundHandler())
		for _, name := range []string{"/\xd7\xe0\xe9", "/a\x00b\nc", strings.Repeat("\xd7", 2000), strings.Repeat("ya ", 2000)} {
			var first, again int
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				r := Report{Findings: []Finding{{Check: "htaccess", Subject: name, Kind: Security, Severity: Low}}, Judged: func(string, string) bool { return false }}
				if first, _, err = w.Report(ctx, tx, owner, 7, r); err != nil {
					return err
				}
				again, _, err = w.Report(ctx, tx, owner, 7, r)
				return err
			})
			if err != nil || first != 1 || again != 0 {
				t.Errorf("%.20q: %d and then %d insights, %v", name, first, again, err)
			}
		}
	})
}
