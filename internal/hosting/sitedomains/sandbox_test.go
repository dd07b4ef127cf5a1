package sitedomains

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

func TestASandboxHasNamesOfItsOwn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Claim(ctx, tx, owner, 10, false, "shop.example") })
		for accountID, want := range map[int64]error{owner: fault.DomainUnavailable, stranger: fault.DomainUnavailable, sitetest.SandboxAccount: nil} {
			if err := w.Check(t.Context(), w.DB, accountID, "shop.example"); !errors.Is(err, want) {
				t.Errorf("account %d: %v", accountID, err)
			}
		}
		if err := w.Check(t.Context(), w.DB, sitetest.SandboxAccount, "blog.shop.example"); err != nil {
			t.Errorf("below a real name: %v", err)
		}
		w.Tx(func(ctx context.Context, tx *db.Tx) error {
			return w.Claim(ctx, tx, sitetest.SandboxAccount, 11, true, "shop.example")
		})
		if err := w.Check(t.Context(), w.DB, sitetest.SandboxAccount, "shop.example"); !errors.Is(err, fault.DomainUnavailable) {
			t.Errorf("twice in the sandbox: %v", err)
		}
	})
}
