package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAnImportSaysWhatChanges(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		if r := imported(t, d, s, string(demo)); len(r.Changes) == 0 || r.Changes[0].What != "plan_new" {
			t.Errorf("the first import says %+v", r.Changes)
		}
		text, err := s.Export(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if r := imported(t, d, s, string(text)); len(r.Changes) != 0 {
			t.Errorf("the same again says %+v", r.Changes)
		}
		head, products, _ := strings.Cut(string(text), "\nproducts:\n")
		r := imported(t, d, s, head+"\nproducts:\n"+strings.Replace(products, "disk_mb: ", "disk_mb: 9", 1))
		if len(r.Changes) != 1 || r.Changes[0].What != "limit" || r.Changes[0].Name != "disk_mb" || r.Changes[0].Now != "9"+r.Changes[0].Was {
			t.Errorf("another limit is %+v", r.Changes)
		}
	})
}

func TestPricesAreComparedByTheirPeriods(t *testing.T) {
	t.Parallel()
	cents := func(n int64) *money.USDCents { c := money.USDCents(n); return &c }
	was := []price{{PeriodMonths: 1, Price: 300}, {PeriodMonths: 12, Price: 3000, FirstPeriodPrice: cents(2000)}, {PeriodMonths: 24, Price: 5000}}
	now := []price{{PeriodMonths: 1, Price: 350, Setup: 100}, {PeriodMonths: 12, Price: 3000}, {PeriodMonths: 36, Price: 7000}}
	want := []Change{
		{Plan: "s", What: "price", PeriodMonths: 1, WasCents: cents(300), NowCents: cents(350)},
		{Plan: "s", What: "setup", PeriodMonths: 1, WasCents: cents(0), NowCents: cents(100)},
		{Plan: "s", What: "first_period_price", PeriodMonths: 12, WasCents: cents(2000)},
		{Plan: "s", What: "price_new", PeriodMonths: 36, NowCents: cents(7000)},
		{Plan: "s", What: "price_withdrawn", PeriodMonths: 24, WasCents: cents(5000)},
	}
	if diff := cmp.Diff(want, diffPrices("s", was, now)); diff != "" {
		t.Error(diff)
	}
	gone := diff([]product{{Slug: "p", Plans: []plan{{Slug: "s"}}}}, []product{{Slug: "p", Terms: Terms{}}})
	if len(gone) != 1 || gone[0].What != "plan_withdrawn" || gone[0].Plan != "s" {
		t.Errorf("a plan that is left out is %+v", gone)
	}
}
