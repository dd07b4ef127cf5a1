package account

import (
	"context"
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

func TestAnAccountHasOneSandboxToWhichNobodySignsIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		made, err := w.Create(t.Context(), NewAccount{Email: "ann@stead.test", Name: "Ann", Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		owner := made.ID
		var first, second int64
		for _, id := range []*int64{&first, &second} {
			err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				*id, err = w.EnsureSandbox(ctx, tx, owner)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if first != second || first == owner {
			t.Errorf("sandboxes %d and %d of %d", first, second, owner)
		}
		for id, want := range map[int64]bool{owner: false, first: true} {
			if got, err := w.Sandbox(t.Context(), w.DB, id); err != nil || got != want {
				t.Errorf("account %d is a sandbox: %v, %v", id, got, err)
			}
		}
		p, err := w.Profile(t.Context(), w.DB, first)
		if err != nil || !p.Sandbox {
			t.Errorf("%+v, %v", p, err)
		}
		if id, hash, err := passwordOf(t.Context(), w.DB, p.Email); id != 0 || hash != "" || err != nil {
			t.Errorf("a password of a sandbox: %d %q %v", id, hash, err)
		}
		all, total, err := listProfiles(t.Context(), w.DB, page.Params{})
		if err != nil || total != 1 || len(all) != 1 {
			t.Errorf("the list has %d of %d, %v", len(all), total, err)
		}
	})
}
