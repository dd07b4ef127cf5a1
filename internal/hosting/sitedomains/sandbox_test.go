package sitedomains

import (
	"context"
	"testing"

	"stead.dev/stead/internal/platform/db"
)

func TestASandboxHasNamesOfItsOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.tx(func(ctx context.Context, tx *db.Tx) error { return w.Claim(ctx, tx, owner, 10, "shop.example") })
		for accountID, want := range map[int64]bool{owner: false, stranger: false, sandboxAccount: true} {
			if ok, err := w.Available(t.Context(), w.db, accountID, "shop.example"); err != nil || ok != want {
				t.Errorf("account %d: %v, %v", accountID, ok, err)
			}
		}
		if ok, err := w.Available(t.Context(), w.db, sandboxAccount, "blog.shop.example"); err != nil || !ok {
			t.Errorf("below a real name: %v, %v", ok, err)
		}
		w.tx(func(ctx context.Context, tx *db.Tx) error {
			return w.Claim(ctx, tx, sandboxAccount, 11, "shop.example")
		})
		if ok, err := w.Available(t.Context(), w.db, sandboxAccount, "shop.example"); err != nil || ok {
			t.Errorf("twice in the sandbox: %v, %v", ok, err)
		}
	})
}
