package invoices

import (
	"errors"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

func TestTaxesOfStaffHoldFromTheirTimeOn(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, clk *clock.Fake) {
		ctx := w.t.Context()
		rate := func(want int) {
			w.t.Helper()
			taxes, err := w.Taxes(ctx, w.DB, []int64{1})
			if err != nil || taxes[1].BasisPoints != want {
				w.t.Errorf("%+v, %v, want %d", taxes, err, want)
			}
		}
		file := func(rate string) string { return "home: UZ\ncountries:\n  UZ: {name: QQS, rate: \"" + rate + "\"}\n" }
		rate(1200) // of the configuration
		later, past := clk.Now().Add(time.Hour), clk.Now().Add(-time.Hour)
		if err := w.SetRules(ctx, file("15"), &later, "the law"); err != nil {
			w.t.Fatal(err)
		}
		rate(1200)
		if err := w.SetRules(ctx, file("13"), nil, "the law"); err != nil {
			w.t.Fatal(err)
		}
		rate(1300)
		if err := w.SetRules(ctx, file("14"), &past, "the law"); !errors.Is(err, fault.Validation) {
			w.t.Errorf("rules of the past: %v", err)
		}
		for _, wrong := range []string{"home: XX", "countries: {UZ: {rate: \"12\"}}", "rates: {}", ":"} {
			if err := w.SetRules(ctx, wrong, nil, "the law"); !errors.Is(err, fault.Validation) {
				w.t.Errorf("%q is taken: %v", wrong, err)
			}
		}
		clk.Advance(time.Hour)
		rate(1500)
		shown, err := w.taxRules()
		if err != nil || shown.Source != "staff" || shown.File != file("15") || len(shown.Versions) != 2 || shown.Versions[0].State != "in_force" || shown.Versions[1].State != "past" {
			w.t.Errorf("%+v, %v", shown, err)
		}
		if err := w.TakeBackRules(ctx, shown.Versions[0].ID, "a mistake"); !errors.Is(err, fault.NotFound) {
			w.t.Errorf("what holds is taken back: %v", err)
		}
		later = clk.Now().Add(time.Hour)
		if err := w.SetRules(ctx, "", &later, "no taxes"); err != nil {
			w.t.Fatal(err)
		}
		if shown, err = w.taxRules(); err != nil || shown.Versions[0].State != "ahead" {
			w.t.Fatalf("%+v, %v", shown, err)
		}
		if err := w.TakeBackRules(ctx, shown.Versions[0].ID, "a mistake"); err != nil {
			w.t.Error(err)
		}
		clk.Advance(2 * time.Hour)
		rate(1500)
		other := New(w.Config) // another replica
		if err := other.versions.Read(ctx); err != nil || other.now().none() {
			w.t.Errorf("another replica taxes nobody: %v", err)
		}
	})
}

func TestAPriceIsComparedByCountryAndBuyer(t *testing.T) {
	t.Parallel()
	was, err := ReadRules([]byte(rulesFile))
	if err != nil {
		t.Fatal(err)
	}
	now, err := ReadRules([]byte("home: UZ\ncountries:\n  UZ: {name: QQS, rate: \"15\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := compared(was, now, 1000)
	if err != nil || len(all) != 8 {
		t.Fatalf("%+v, %v", all, err)
	}
	type sums struct{ was, net, now money.USDCents }
	want := map[string]sums{
		"UZ": {1120, 1000, 1150}, "UZ business": {1120, 1000, 1150}, "DE": {1000, 840, 1000}, "DE business": {1000, 1000, 1000},
		"CH": {1081, 1000, 1000}, "CH business": {1000, 1000, 1000}, "": {1000, 1000, 1000}, " business": {1000, 1000, 1000},
	}
	for _, x := range all {
		name := x.Country
		if x.Business {
			name += " business"
		}
		if got := (sums{x.Was.Total, x.Was.Net, x.Now.Total}); got != want[name] {
			t.Errorf("%q: %+v, want %+v", name, got, want[name])
		}
	}
}
