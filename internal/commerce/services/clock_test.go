package services

import (
	"context"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/servicestest"
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
		w.Exec(`INSERT INTO test_purse (account_id, balance) VALUES (1, 10000)`)
		clocks := moved{}
		w.Clocks = clocks
		w.Keeper = &keeper{kept: true}
		served := w.active(servicestest.Ask("a.test"))
		n := servicestest.Ask("b.test")
		n.AccountID = servicestest.SandboxAccount
		clocks[servicestest.SandboxAccount] = w.Clk.Now().AddDate(0, 6, 0)
		began := clocks[servicestest.SandboxAccount]
		simulated := w.active(n)
		if r := w.record(simulated); !r.ProvisionedAt.Equal(began) || !r.ExpiresAt.Equal(sale.AddMonths(began, 1)) {
			t.Errorf("bought at %v: %v until %v", began, r.ProvisionedAt, r.ExpiresAt)
		}
		if sum, err := w.sold.DueRenewals(t.Context(), w.DB, servicestest.SandboxAccount, 31); err != nil || sum != 499 {
			t.Errorf("%d are due within a month of its time, %v", sum, err)
		}
		clocks[1] = w.Clk.Now().AddDate(1, 0, 0) // a clock that the live world must not have
		before := w.record(served)
		for range 4 * 60 {
			clocks[servicestest.SandboxAccount] = clocks[servicestest.SandboxAccount].Add(6 * time.Hour)
			if _, err := w.Due(t.Context(), servicestest.SandboxAccount); err != nil {
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
		w.Same("the simulated one", Terminating, w.record(simulated).Status)
		w.Same("the real one", before.Status, w.record(served).Status)
		w.Same("the real one's end", before.ExpiresAt, w.record(served).ExpiresAt)
		if busy, err := w.Due(t.Context(), servicestest.SandboxAccount); err != nil || !busy {
			t.Errorf("while an account is being removed: %v, %v", busy, err)
		}
		events, err := w.Events.Of(t.Context(), "service", simulated)
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
		w.Clocks = moved{servicestest.SandboxAccount: w.Clk.Now().AddDate(1, 0, 0)}
		w.In(func(ctx context.Context, tx *db.Tx) error {
			before := tx.Now
			if err := w.Paid(ctx, tx, outbox.Stored{Type: "wallet.topup_succeeded", AccountID: servicestest.SandboxAccount}); err != nil {
				return err
			}
			if !tx.Now.Equal(before) {
				t.Errorf("the transaction goes on at %v, not at %v", tx.Now, before)
			}
			return nil
		})
	})
}
