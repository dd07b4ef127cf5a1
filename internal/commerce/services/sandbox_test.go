package services

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// The same names live in both worlds, and neither is in the way of the other.
func TestASandboxHasNamesOfItsOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.prov.SandboxPanel = "bare"
		served := w.active(servicestest.Ask("shop.test"))
		n := servicestest.Ask("shop.test")
		n.AccountID = servicestest.SandboxAccount
		simulated := w.provisioning(n)
		if r := w.record(simulated); !r.Sandbox || r.panel != "bare" || r.Status != Provisioning {
			t.Errorf("in the sandbox: %+v", r)
		}
		if r := w.record(served); r.Sandbox || r.panel != "node" {
			t.Errorf("the real one: %+v", r)
		}
		n.Domain = "blog.shop.test" // below a name of the other world's
		w.reserve(n)
		again := func(accountID int64) error {
			return w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				n := servicestest.Ask("shop.test")
				n.AccountID = accountID
				_, err := w.Reserve(ctx, tx, n)
				return err
			})
		}
		for _, accountID := range []int64{2, servicestest.SandboxAccount} {
			if err := again(accountID); !errors.Is(err, fault.DomainUnavailable) {
				t.Errorf("account %d gets a name of its world twice: %v", accountID, err)
			}
		}
	})
}
