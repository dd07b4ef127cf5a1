package sitedomains

import (
	"context"
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
)

func TestASandboxHasNamesOfItsOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Claim(ctx, tx, owner, 10, false, "shop.example") })
		for accountID, want := range map[int64]bool{owner: false, stranger: false, sitetest.SandboxAccount: true} {
			if ok, err := w.Available(t.Context(), w.DB, accountID, "shop.example"); err != nil || ok != want {
				t.Errorf("account %d: %v, %v", accountID, ok, err)
			}
		}
		if ok, err := w.Available(t.Context(), w.DB, sitetest.SandboxAccount, "blog.shop.example"); err != nil || !ok {
			t.Errorf("below a real name: %v, %v", ok, err)
		}
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			return w.Claim(ctx, tx, sitetest.SandboxAccount, 11, true, "shop.example")
		})
		if ok, err := w.Available(t.Context(), w.DB, sitetest.SandboxAccount, "shop.example"); err != nil || ok {
			t.Errorf("twice in the sandbox: %v, %v", ok, err)
		}
	})
}
