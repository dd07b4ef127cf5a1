package services

import (
	"context"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// moved are clocks of a test: it also answers for accounts that are no sandbox, which nobody may heed.
type moved map[int64]time.Time

func (m moved) Now(_ context.Context, _ db.Querier, accountID int64) (time.Time, bool, error) {
	now, ahead := m[accountID]
	return now, ahead, nil
}

func (m moved) Enter(_ context.Context, tx *db.Tx, accountID int64) (leave func(), err error) {
	return tx.Enter(accountID, m[accountID]), nil
}

func (m moved) Ahead(context.Context, db.Querier) (map[int64]time.Time, error) { return m, nil }

func TestASandboxLivesByItsOwnClock(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.openPurse()
		w.exec(`INSERT INTO test_purse (account_id, balance) VALUES (1, 10000)`)
		clocks := moved{}
		w.Clocks = clocks
		w.Keeper = &keeper{kept: true}
		served := w.active(ask("a.test"))
		n := ask("b.test")
		n.AccountID = sandboxAccount
		clocks[sandboxAccount] = w.clk.Now().AddDate(0, 6, 0)
		began := clocks[sandboxAccount]
		simulated := w.active(n)
		if r := w.record(simulated); !r.provisionedAt.Equal(began) || !r.expiresAt.Equal(addMonths(began, 1)) {
			t.Errorf("bought at %v: %v until %v", began, r.provisionedAt, r.expiresAt)
		}
		if sum, err := w.DueRenewals(t.Context(), w.db, sandboxAccount, 31); err != nil || sum != 499 {
			t.Errorf("%d are due within a month of its time, %v", sum, err)
		}
		clocks[1] = w.clk.Now().AddDate(1, 0, 0) // a clock that the live world must not have
		before := w.record(served)
		for range 4 * 60 {
			clocks[sandboxAccount] = clocks[sandboxAccount].Add(6 * time.Hour)
			if _, err := w.Due(t.Context(), sandboxAccount); err != nil {
				t.Fatal(err)
			}
			if err := w.Steps(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.live()
		if busy, err := w.Due(t.Context(), 1); err != nil || busy {
			t.Errorf("of the live world: %v, %v", busy, err)
		}
		w.same("the simulated one", Terminating, w.record(simulated).status)
		w.same("the real one", before.status, w.record(served).status)
		w.same("the real one's end", before.expiresAt, w.record(served).expiresAt)
		if busy, err := w.Due(t.Context(), sandboxAccount); err != nil || !busy {
			t.Errorf("while an account is being removed: %v, %v", busy, err)
		}
		events, err := w.events.Of(t.Context(), "service", simulated)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range events {
			if e.CreatedAt.Before(began) || (i > 0 && e.CreatedAt.Before(events[i-1].CreatedAt)) {
				t.Errorf("%s was told of at %v", e.Type, e.CreatedAt)
			}
		}
	})
}

// What hears of an event shares the transaction with a sandbox that hears of it too.
func TestASandboxsTimeIsNobodyElses(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Clocks = moved{sandboxAccount: w.clk.Now().AddDate(1, 0, 0)}
		w.in(func(ctx context.Context, tx *db.Tx) error {
			before := tx.Now
			if err := w.Paid(ctx, tx, outbox.Stored{Type: "wallet.topup_succeeded", AccountID: sandboxAccount}); err != nil {
				return err
			}
			if !tx.Now.Equal(before) {
				t.Errorf("the transaction goes on at %v, not at %v", tx.Now, before)
			}
			return nil
		})
	})
}
