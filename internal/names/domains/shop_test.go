package domains

import (
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// A visitor who types a word sees it in the zones that are sold, and one who types a name sees that one first.
func TestTheShopOffersANameAndItsLabelInOtherZones(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		zones, err := w.Zones(t.Context())
		if err != nil || len(zones) == 0 {
			t.Fatalf("%v %v", zones, err)
		}
		word, err := w.Offers(t.Context(), " Free ")
		if err != nil {
			t.Fatal(err)
		}
		w.same("zones", min(len(zones), 6), len(word))
		w.same("first", "free."+zones[0].Name, word[0].Name)
		name, err := w.Offers(t.Context(), "free."+zones[len(zones)-1].Name)
		if err != nil {
			t.Fatal(err)
		}
		w.same("what was typed stands first", "free."+zones[len(zones)-1].Name, name[0].Name)
		seen := map[string]bool{}
		for _, o := range name {
			if seen[o.Name] || o.Free && (o.Price.USDCents <= 0 || o.Renew.USDCents <= 0) {
				t.Errorf("%+v", o)
			}
			seen[o.Name] = true
		}
		for _, bad := range []string{"", "..", "a b", "-.-"} {
			offers, err := w.Offers(t.Context(), bad)
			for _, o := range offers {
				if o.Free {
					t.Errorf("%q is sold: %+v", bad, o)
				}
			}
			if err != nil {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}
