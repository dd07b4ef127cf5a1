package catalog

import (
	"errors"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

func withPromise(sla string) string {
	return `categories: [{slug: hosting, name: Hosting}]
products:
  - slug: web
    category: hosting
    type: hosting
    name: Web
    plans:
      - slug: small
        name: Small
        prices: [{months: 1, usd_cents: 100}]
        limits: {disk_mb: 100}
` + sla
}

func TestAPromiseIsImportedAndExportedExactly(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		promised := func() *Promise {
			t.Helper()
			products, err := listProducts(t.Context(), d, filter{}, noLimit, 0)
			if err != nil || len(products) != 1 {
				t.Fatal(err, products)
			}
			p, err := s.Promise(t.Context(), d, products[0].Plans[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		imported(t, d, s, withPromise("")) // a catalogue from before there were promises
		if p := promised(); p != nil {
			t.Errorf("nothing is promised, but %+v", p)
		}
		imported(t, d, s, withPromise("        sla: {uptime: 99.95, credits: [{below: 99.95, percent: 10}, {below: 99, percent: 25}], most_percent: 50}\n"))
		for range 2 {
			p := promised()
			if p == nil || p.Uptime != 99_950 || len(p.Credits) != 2 || p.Credits[1] != (CreditTier{99_000, 25}) || p.Most() != 50 {
				t.Fatalf("%+v", p)
			}
			exported, err := s.Export(t.Context(), d)
			if err != nil || !strings.Contains(string(exported), "uptime: 99.95\n") || !strings.Contains(string(exported), "below: 99\n") {
				t.Fatalf("%v\n%s", err, exported)
			}
			imported(t, d, s, string(exported))
		}
		if p, err := s.Promise(t.Context(), d, 9999); p != nil || err != nil {
			t.Errorf("of no plan: %v, %v", p, err)
		}
	})
}

func TestWrongPromisesAreRefused(t *testing.T) {
	t.Parallel()
	for sla, want := range map[string]string{
		"{uptime: 100.5, credits: [{below: 99, percent: 10}]}":    "uptime is 100.500",
		"{uptime: 0, credits: [{below: 99, percent: 10}]}":        "uptime is 0.000",
		"{uptime: 99.99999, credits: [{below: 99, percent: 10}]}": "no percentage",
		"{uptime: -1, credits: [{below: 99, percent: 10}]}":       "no percentage",
		"{uptime: [99], credits: [{below: 99, percent: 10}]}":     "no percentage",
		"{uptime: 99.9}": "credits has 0 tiers",
		"{uptime: 99, credits: [{below: 99.5, percent: 10}]}":                         "below is 99.500",
		"{uptime: 99, credits: [{below: 99, percent: 101}]}":                          "percent is 101",
		"{uptime: 99, credits: [{below: 99, percent: 0}]}":                            "percent is 0",
		"{uptime: 99, credits: [{below: 95, percent: 10}, {below: 96, percent: 20}]}": "credits[1]: each tier",
		"{uptime: 99, credits: [{below: 95, percent: 10}, {below: 90, percent: 10}]}": "credits[1]: each tier",
		"{uptime: 99, credits: [{below: 95, percent: 10}], most_percent: 101}":        "most_percent is 101",
		"{uptime: 99, credits: [{below: 95, percent: 10}], reward: 101}":              "field reward not found",
	} {
		_, err := parse([]byte(withPromise("        sla: " + sla + "\n")))
		var problems Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sla, err, want)
		}
	}
}
