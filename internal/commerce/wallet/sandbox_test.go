package wallet

import (
	"context"
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

func TestPlayMoneyNeverStandsAmongRealMoney(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for range 2 {
			w.must(func(ctx context.Context, tx *db.Tx) error { return w.OpenSandbox(ctx, tx, 7, 5000) })
		}
		w.has(7, Balance{Spendable: 5000})
		w.credit(1, 1000)
		for account, id := range map[int64]int64{7: 70, 1: 10} {
			if err := w.charge(account, 300, id); err != nil {
				t.Fatal(err)
			}
			w.must(func(ctx context.Context, tx *db.Tx) error { return w.Capture(ctx, tx, order(id)) })
		}
		for name, want := range map[string]money.USDCents{"": 300, "sandbox:": 300} {
			var sum money.USDCents
			err := w.DB.QueryRow(t.Context(), `SELECT CAST(SUM(p.amount) AS BIGINT) FROM wallet_postings p
				JOIN wallet_ledger_accounts a ON a.id = p.ledger_account_id WHERE a.kind = 'revenue' AND a.name = $1`, name).Scan(&sum)
			if err != nil || sum != want {
				t.Errorf("revenue %q is %d, %v", name, sum, err)
			}
		}
		// An account with real money does not become a sandbox.
		err := w.do(func(ctx context.Context, tx *db.Tx) error { return w.OpenSandbox(ctx, tx, 1, 5000) })
		if err == nil {
			t.Error("real money became play money")
		}
		w.sound()
	})
}
