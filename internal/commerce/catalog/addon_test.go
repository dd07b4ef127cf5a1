package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

const withAddons = `
categories:
  - {slug: hosting, name: Hosting}
addons:
  - key: extra_disk
    name: {en: Disk, ru: Диск, uz: Disk}
    prices: [{months: 1, usd_cents: 100}, {months: 6, usd_cents: 500}, {months: 12, usd_cents: 900}]
    raises: {disk_mb: 1024}
    max_quantity: 5
  - key: own_ip
    name: Own address
    prices: [{months: 1, usd_cents: 200}]
    manual: true
products:
  - slug: web
    category: hosting
    type: hosting
    name: Web
    plans:
      - slug: one
        name: One
        prices: [{months: 1, usd_cents: 500}]
        limits: {disk_mb: 1000}
        addons: [extra_disk]
`

func TestAddonsAreWhatTheFileSays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		s := newService(d)
		imported(t, d, s, withAddons)
		all, err := s.Addons(t.Context(), d)
		if err != nil || len(all) != 2 || all[0].Key != "extra_disk" || all[0].Name["ru"] != "Диск" || all[0].MaxQuantity != 5 ||
			all[0].Raises["disk_mb"] != 1024 || !all[1].Manual || all[1].MaxQuantity != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		keys, err := s.PlanAddons(t.Context(), d, planID(t, d, "one"))
		if err != nil || !slices.Equal(keys, []string{"extra_disk"}) {
			t.Errorf("of the plan: %v, %v", keys, err)
		}

		exported, err := s.Export(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		imported(t, d, s, string(exported))
		again, err := s.Export(t.Context(), d)
		if err != nil || string(again) != string(exported) {
			t.Errorf("an export, imported, is exported as\n%s", again)
		}

		// What the file no longer names is off sale, and stays known.
		imported(t, d, s, small)
		if all, err := s.Addons(t.Context(), d); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
		if a, ok, err := s.Addon(t.Context(), d, "extra_disk"); err != nil || !ok || a.OnSale || len(a.Prices) != 3 {
			t.Errorf("%+v, %v, %v", a, ok, err)
		}
		if _, ok, err := s.Addon(t.Context(), d, "nothing"); err != nil || ok {
			t.Errorf("an unknown one: %v, %v", ok, err)
		}
	})
}

func TestAnAddonIsRefusedWithAllItsProblems(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		text := strings.NewReplacer(
			"key: extra_disk", "key: Extra-Disk", "disk_mb: 1024", "colour: 0", "max_quantity: 5", "max_quantity: 5000",
			"[{months: 1, usd_cents: 200}]", "[{months: 3, usd_cents: -1}, {months: 3, usd_cents: 1}]",
		).Replace(withAddons)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := newService(d).Import(ctx, tx, []byte(text))
			return err
		})
		var problems Problems
		if !errors.As(err, &problems) {
			t.Fatalf("%v", err)
		}
		for _, want := range []string{
			`key "Extra-Disk" must be`, `"colour" is no limit of plans`, "colour by 0", "max_quantity is 5000", "the price of one month is needed",
			"-1 cents", "each is priced once", `plan one: addons name add-ons of the file, "extra_disk" is none`,
		} {
			if !strings.Contains(problems.Error(), want) {
				t.Errorf("no word of %q in\n%s", want, problems)
			}
		}
	})
}
