package domains

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/registrar"
)

// TestANameThatTheRegistrarHoldsIsAdopted by its owner: nothing is paid, and the registry is asked for nothing but what it has.
func TestANameThatTheRegistrarHoldsIsAdopted(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		for range 3 { // the sandbox may lose an answer
			_, err := w.registry.Registry.PutContact(t.Context(), "H1", registrar.Contact{
				Name: "Anna", Email: "anna@example.com", Phone: "+998901234567", Street: "Navoi 1", City: "Tashkent", PostalCode: "100000", Country: "UZ",
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.registry.Registry.Register(t.Context(), registrar.Registration{
				TransactionID: "elsewhere", Name: "old.com", Years: 2, Nameservers: []string{"ns1.stead.test"}, Contacts: everyRole("H1"),
			})
			if kind := registrar.KindOf(err); err != nil && kind != registrar.Unknown && kind != registrar.Exists {
				t.Fatal(err)
			}
		}
		adopt := func(account int64, h Held) (id int64, err error) {
			err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				id, err = w.Adopt(ctx, tx, account, h, true)
				return err
			})
			return id, err
		}
		h, err := w.Held(t.Context(), "OLD.com")
		if err != nil {
			t.Fatal(err)
		}
		id, err := adopt(1, h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := get(t.Context(), d, id)
		if err != nil {
			t.Fatal(err)
		}
		w.same("status", Active, got.status)
		w.same("until", clk.Now().AddDate(2, 0, 0), *got.expiresAt)
		w.same("whether it renews", true, got.autoRenew)
		w.same("name servers", []string{"ns1.stead.test"}, got.nameservers)
		live, owner, ok, err := w.Live(t.Context(), d, "old.com")
		w.same("who has it", []any{id, int64(1), true, error(nil)}, []any{live, owner, ok, err})
		if _, err := adopt(2, h); !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("a second account: %v", err)
		}
		if err := w.Step(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.same("after the registry was read again", Active, w.status(id))
		for name, want := range map[string]*fault.Def{
			"taken-it.com": fault.DomainUnavailable, "nobody.com": fault.DomainUnavailable, "old.aero": ErrTLDUnsupported, "old..com": fault.DomainInvalid,
			"stead.example": fault.DomainUnavailable,
		} {
			if _, err := w.Held(t.Context(), name); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %s", name, err, want.Key)
			}
		}
	})
}
