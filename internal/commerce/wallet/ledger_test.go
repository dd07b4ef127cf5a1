package wallet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/gateway"
)

func TestAChargeIsHeldUntilItIsCapturedOrReleased(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		capture := func(id int64) error {
			return w.do(func(ctx context.Context, tx *db.Tx) error { return w.Capture(ctx, tx, order(id)) })
		}
		release := func(id int64) error {
			return w.do(func(ctx context.Context, tx *db.Tx) error { return w.Release(ctx, tx, order(id), "sorry") })
		}
		for range 2 { // every movement repeated is the same one
			if err := w.charge(1, 300, 1); err != nil {
				t.Fatal(err)
			}
		}
		w.has(1, Balance{Spendable: 700, Held: 300})
		if err := w.charge(1, 301, 1); !errors.Is(err, ErrReferenceReused) {
			t.Errorf("another amount under the same reference: %v", err)
		}
		if err := w.charge(2, 300, 1); !errors.Is(err, ErrReferenceReused) {
			t.Errorf("another account under the same reference: %v", err)
		}
		for range 2 {
			if err := capture(1); err != nil {
				t.Fatal(err)
			}
		}
		w.has(1, Balance{Spendable: 700})
		if err := release(1); !errors.Is(err, ErrNothingHeld) {
			t.Errorf("release after capture: %v", err)
		}
		if err := w.charge(1, 200, 2); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := release(2); err != nil {
				t.Fatal(err)
			}
		}
		w.has(1, Balance{Spendable: 700})
		if err := capture(2); !errors.Is(err, ErrNothingHeld) {
			t.Errorf("capture after release: %v", err)
		}
		if err := capture(99); !errors.Is(err, ErrNothingHeld) {
			t.Errorf("capture of nothing: %v", err)
		}
		if err := w.charge(1, 0, 3); err != nil {
			t.Fatalf("a charge of zero: %v", err)
		}
		if err := capture(3); err != nil {
			t.Errorf("capture of zero: %v", err)
		}
		if err := w.charge(1, -5, 4); !errors.Is(err, ErrBadAmount) {
			t.Errorf("a negative charge: %v", err)
		}
		w.has(1, Balance{Spendable: 700})
		w.sound()
	})
}

func TestAPartOfAChargeIsCapturedAndTheRestComesBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		part := func(id int64, amount money.USDCents) error {
			return w.do(func(ctx context.Context, tx *db.Tx) error { return w.CapturePart(ctx, tx, order(id), amount, "unused") })
		}
		for id, c := range []struct{ used, left money.USDCents }{{120, 880}, {0, 880}, {300, 580}} {
			if err := w.charge(1, 300, int64(id+1)); err != nil {
				t.Fatal(err)
			}
			if err := part(int64(id+1), 301); !errors.Is(err, ErrBadAmount) {
				t.Errorf("more than is held: %v", err)
			}
			for range 2 {
				if err := part(int64(id+1), c.used); err != nil {
					t.Fatal(err)
				}
			}
			w.has(1, Balance{Spendable: c.left})
		}
		for name, err := range map[string]error{
			"another part": part(1, 121), "all of it after a part": part(1, 300), "nothing of it after a part": part(1, 0),
			"a part after nothing": part(2, 10), "a part after all": part(3, 10), "a part of nothing held": part(99, 10),
		} {
			if !errors.Is(err, ErrNothingHeld) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.has(1, Balance{Spendable: 580})
		w.sound()
	})
}

func TestARefusedChargeSaysWhatIsMissingAndWritesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 250)
		w.must(func(ctx context.Context, tx *db.Tx) error {
			err := w.Charge(ctx, tx, sale.Charge{AccountID: 1, Amount: 1000, Reference: order(1)})
			f := fault.From(err)
			if f.Def != ErrInsufficientFunds {
				t.Fatalf("got %v", err)
			}
			for name, want := range map[string]money.USDCents{"required": 1000, "balance": 250, "missing": 750} {
				if got := f.Fields[name].(money.Money).USDCents; got != want {
					t.Errorf("%s is %d, want %d", name, got, want)
				}
			}
			return nil // a caller may take the refusal and go on, as renewals do
		})
		w.has(1, Balance{Spendable: 250})
		w.has(7, Balance{})
		if err := w.charge(7, 1, 2); !errors.Is(err, ErrInsufficientFunds) {
			t.Errorf("a customer without a wallet: %v", err)
		}
		w.sound()
	})
}

// TestManyChargesArePaidInTheirOrder pays charges of two wallets with one call. What no longer fits is refused, and what
// is smaller and comes after it is paid.
func TestManyChargesArePaidInTheirOrder(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		w.credit(2, 100)
		var charges []sale.Charge
		for n, c := range []struct {
			account int64
			amount  money.USDCents
		}{{1, 600}, {2, 100}, {1, 500}, {1, 400}, {2, 1}, {1, 1}, {7, 5}, {1, 0}} {
			charges = append(charges, sale.Charge{AccountID: c.account, Amount: c.amount, Reference: sale.Order(int64(n + 1))})
		}
		w.must(func(ctx context.Context, tx *db.Tx) error {
			refused, err := w.Pay(ctx, tx, charges)
			for n, want := range []bool{false, false, true, false, true, true, true, false} {
				if err == nil && errors.Is(refused[n], ErrInsufficientFunds) != want {
					t.Errorf("charge %d: %v, want a refusal: %v", n+1, refused[n], want)
				}
			}
			return err
		})
		w.has(1, Balance{})
		w.has(2, Balance{})
		w.has(7, Balance{})
		w.sound()
	})
}

func TestACreditWithAReferenceIsGivenOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		sla := Credit{AccountID: 1, Amount: 50, Type: TypeSLACredit, Reference: sale.Reference{Type: "sla", ID: 4}, Reason: "outage"}
		for range 2 {
			w.must(func(ctx context.Context, tx *db.Tx) error { return w.Credit(ctx, tx, sla) })
		}
		w.has(1, Balance{Spendable: 50})
		w.credit(1, 5)
		w.credit(1, 5)
		w.has(1, Balance{Spendable: 60})
		for name, c := range map[string]Credit{
			"nothing":      {AccountID: 1, Type: TypeBonus},
			"negative":     {AccountID: 1, Amount: -1, Type: TypeBonus},
			"a charge":     {AccountID: 1, Amount: 1, Type: TypeCharge},
			"to nobody":    {Amount: 1, Type: TypeBonus},
			"out of range": {AccountID: 1, Amount: 1<<63 - 1, Type: TypeBonus},
		} {
			if err := w.do(func(ctx context.Context, tx *db.Tx) error { return w.Credit(ctx, tx, c) }); err == nil {
				t.Errorf("a credit of %s was given", name)
			}
		}
		if got := w.told.types(); got != "wallet.sla_credited wallet.adjusted wallet.adjusted" {
			t.Errorf("told: %s", got)
		}
		w.has(1, Balance{Spendable: 60})
		w.sound()
	})
}

// A credit that was a mistake goes back once, also when its owner has spent it.
func TestACreditIsTakenBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		transaction := func() (id int64) {
			t.Helper()
			err := w.DB.QueryRow(t.Context(), `SELECT max(id) FROM wallet_transactions WHERE type = 'adjustment' AND amount > 0`).Scan(&id)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		back := func(account, id int64) error {
			return w.do(func(ctx context.Context, tx *db.Tx) error { return w.TakeBack(ctx, tx, account, id, "a slip", "test") })
		}
		w.credit(1, 500)
		first := transaction()
		if err := back(2, first); !errors.Is(err, fault.NotFound) {
			t.Errorf("another account's credit: %v", err)
		}
		if err := back(1, first); err != nil {
			t.Fatal(err)
		}
		w.has(1, Balance{})
		if err := back(1, first); !errors.Is(err, fault.Conflict) {
			t.Errorf("a second time: %v", err)
		}
		w.has(1, Balance{})
		w.credit(1, 500)
		second := transaction()
		w.must(func(ctx context.Context, tx *db.Tx) error {
			_, err := w.Pay(ctx, tx, []sale.Charge{{AccountID: 1, Amount: 300, Reference: sale.Order(9)}})
			return err
		})
		if err := back(1, second); err != nil {
			t.Fatal(err)
		}
		w.has(1, Balance{Debt: 300})
		w.sound()
	})
}

// A slip of an operator's must not make sums of the books that no integer holds.
func TestACreditOfMoreThanAWalletMayHoldIsRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		for account := range int64(2) {
			err := w.do(func(ctx context.Context, tx *db.Tx) error {
				return w.Credit(ctx, tx, Credit{AccountID: account + 1, Amount: 9e18, Type: TypeAdjustment, Reason: "gift", Actor: "test"})
			})
			if !errors.Is(err, ErrBadAmount) {
				t.Errorf("account %d: %v", account+1, err)
			}
		}
		w.has(1, Balance{})
		w.credit(1, DefaultMaxBalance)
		w.sound()
	})
}

func TestThirtyChargesAtOnceFromABalanceThatCoversTenPayTen(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		var (
			wg       sync.WaitGroup
			paid     atomic.Int64
			negative atomic.Bool
			done     = make(chan struct{})
			watching = make(chan struct{})
		)
		go func() {
			defer close(watching)
			for {
				select {
				case <-done:
					return
				default:
					b, err := w.Balance(context.Background(), w.DB, 1)
					if err != nil || b.Spendable < 0 || b.Spendable+b.Held != 1000 {
						negative.Store(true)
					}
				}
			}
		}()
		for i := range 30 {
			wg.Go(func() {
				switch err := w.charge(1, 100, int64(i+1)); {
				case err == nil:
					paid.Add(1)
				case !errors.Is(err, ErrInsufficientFunds):
					t.Errorf("charge %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		close(done)
		<-watching
		if paid.Load() != 10 || negative.Load() {
			t.Errorf("%d charges were paid; a wrong balance was seen: %v", paid.Load(), negative.Load())
		}
		w.has(1, Balance{Held: 1000})
		w.sound()
	})
}

func TestTheSameChargeAtOnceIsOne(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		for round := range int64(8) { // the first opens the connections, the others meet
			var wg sync.WaitGroup
			start := make(chan struct{})
			for range 8 {
				wg.Go(func() {
					<-start
					if err := w.charge(1, 100, round+1); err != nil {
						t.Error(err)
					}
				})
			}
			close(start)
			wg.Wait()
		}
		w.has(1, Balance{Spendable: 200, Held: 800})
		w.sound()
	})
}

// model is the wallet of one customer in a few integers.
type model struct {
	balance, held, debt money.USDCents
	charges             map[int64]money.USDCents // held
	ended               []int64                  // captured or released
	topups              []*modelTopup
	rewards             []*modelReward
}

type modelReward struct {
	id         int64
	left, back money.USDCents
}

type modelTopup struct {
	id            int64
	total, amount money.USDCents
	taken         money.USDCents
	charged       bool
}

// comes is money that comes to the customer: a debt is repaid first.
func (m *model) comes(amount money.USDCents) {
	repaid := min(m.debt, amount)
	m.debt -= repaid
	m.balance += amount - repaid
}

func (m *model) goes(amount money.USDCents) {
	spent := min(m.balance, amount)
	m.balance -= spent
	m.debt += amount - spent
}

var nextID atomic.Int64

// walk makes random movements of one new customer, comparing with the model and
// looking at the books after every step.
func (w *world) walk(rt *rapid.T) {
	account := nextID.Add(1)
	m := &model{charges: map[int64]money.USDCents{}}
	cents := rapid.Custom(func(t *rapid.T) money.USDCents { return money.USDCents(rapid.Int64Range(1, 2000).Draw(t, "cents")) })
	do := func(f func(ctx context.Context, tx *db.Tx) error) {
		if err := w.do(f); err != nil {
			rt.Fatal(err)
		}
	}
	one := func(ids []int64) int64 {
		if len(ids) == 0 {
			rt.Skip("none")
		}
		return rapid.SampledFrom(ids).Draw(rt, "id")
	}
	heldIDs := func() []int64 { return slices.Sorted(maps.Keys(m.charges)) }
	oneTopup := func() *modelTopup {
		if len(m.topups) == 0 {
			rt.Skip("none")
		}
		return rapid.SampledFrom(m.topups).Draw(rt, "topup")
	}
	tell := func(e gateway.Event) {
		e.Currency = "USD"
		for range rapid.IntRange(1, 2).Draw(rt, "times") {
			if err := w.apply(context.Background(), "stripe", e); err != nil {
				rt.Fatal(err)
			}
		}
	}
	rt.Repeat(map[string]func(*rapid.T){
		"charge": func(rt *rapid.T) {
			amount, id := cents.Draw(rt, "amount"), nextID.Add(1)
			err := w.charge(account, amount, id)
			if covered := amount <= m.balance; covered != (err == nil) || (err != nil && !errors.Is(err, ErrInsufficientFunds)) {
				rt.Fatalf("charge of %d from %d: %v", amount, m.balance, err)
			}
			if err == nil {
				m.balance -= amount
				m.held += amount
				m.charges[id] = amount
			}
		},
		"capture": func(rt *rapid.T) {
			id := one(heldIDs())
			do(func(ctx context.Context, tx *db.Tx) error { return w.Capture(ctx, tx, order(id)) })
			m.held -= m.charges[id]
			delete(m.charges, id)
			m.ended = append(m.ended, id)
		},
		"release": func(rt *rapid.T) {
			id := one(heldIDs())
			do(func(ctx context.Context, tx *db.Tx) error { return w.Release(ctx, tx, order(id), "") })
			m.held -= m.charges[id]
			m.comes(m.charges[id])
			delete(m.charges, id)
			m.ended = append(m.ended, id)
		},
		"capture part": func(rt *rapid.T) {
			id := one(heldIDs())
			used := money.USDCents(rapid.Int64Range(0, int64(m.charges[id])).Draw(rt, "used"))
			for range rapid.IntRange(1, 2).Draw(rt, "times") {
				do(func(ctx context.Context, tx *db.Tx) error { return w.CapturePart(ctx, tx, order(id), used, "") })
			}
			m.held -= m.charges[id]
			m.comes(m.charges[id] - used)
			delete(m.charges, id)
			m.ended = append(m.ended, id)
		},
		"end again": func(rt *rapid.T) {
			id := one(m.ended)
			err := errors.Join(
				w.do(func(ctx context.Context, tx *db.Tx) error { return w.Capture(ctx, tx, order(id)) }),
				w.do(func(ctx context.Context, tx *db.Tx) error { return w.Release(ctx, tx, order(id), "") }),
			)
			if !errors.Is(err, ErrNothingHeld) { // the other way round is refused, the same way is a repetition
				rt.Fatalf("a charge ended both ways: %v", err)
			}
		},
		"reward": func(rt *rapid.T) {
			r := &modelReward{id: nextID.Add(1), left: cents.Draw(rt, "amount")}
			do(func(ctx context.Context, tx *db.Tx) error {
				return w.Credit(ctx, tx, Credit{AccountID: account, Amount: r.left, Type: TypeReferralReward, Reference: sale.Reference{Type: "referral", ID: r.id}})
			})
			m.comes(r.left)
			m.rewards = append(m.rewards, r)
		},
		"reclaim": func(rt *rapid.T) {
			if len(m.rewards) == 0 {
				rt.Skip("none")
			}
			r := rapid.SampledFrom(m.rewards).Draw(rt, "reward")
			if r.left == 0 {
				rt.Skip("nothing is left")
			}
			amount := money.USDCents(rapid.Int64Range(1, int64(r.left)).Draw(rt, "amount"))
			r.left, r.back = r.left-amount, r.back+amount
			for range rapid.IntRange(1, 2).Draw(rt, "times") {
				do(func(ctx context.Context, tx *db.Tx) error {
					return w.Reclaim(ctx, tx, Credit{AccountID: account, Amount: amount, Reference: sale.Reference{Type: "referral", ID: r.id}}, int64(r.back))
				})
			}
			m.goes(amount)
		},
		"credit": func(rt *rapid.T) {
			amount := cents.Draw(rt, "amount")
			do(func(ctx context.Context, tx *db.Tx) error {
				return w.Credit(ctx, tx, Credit{AccountID: account, Amount: amount, Type: TypeBonus})
			})
			m.comes(amount)
		},
		"top up": func(rt *rapid.T) {
			amount := cents.Draw(rt, "amount")
			x, err := w.paidTopup(account, amount)
			if err != nil {
				rt.Fatal(err)
			}
			m.topups = append(m.topups, &modelTopup{id: x.ID, total: x.total(), amount: amount})
			m.comes(amount)
		},
		"refund": func(rt *rapid.T) {
			x := oneTopup()
			sum := money.USDCents(rapid.Int64Range(1, int64(x.total)).Draw(rt, "sum"))
			tell(gateway.Event{Kind: gateway.Refunded, TopupID: x.id, Payment: payment(x.id), Total: sum})
			if sum > x.taken {
				m.goes(min(sum, x.amount) - min(x.taken, x.amount))
				x.taken = sum
			}
		},
		"charge back": func(rt *rapid.T) {
			x := oneTopup()
			tell(gateway.Event{Kind: gateway.ChargedBack, Payment: payment(x.id), Total: x.total})
			if !x.charged && x.taken < x.total {
				// A top-up that was refunded in full keeps that state, and what is
				// left is the fee.
				m.goes(x.amount - min(x.taken, x.amount))
				x.charged = x.taken < x.amount
				x.taken = x.total
			}
		},
		"": func(rt *rapid.T) {
			got, err := w.Balance(context.Background(), w.DB, account)
			if want := (Balance{m.balance, m.held, m.debt}); err != nil || got != want {
				rt.Fatalf("balance %+v (%v), want %+v", got, err, want)
			}
			if got.Spendable < 0 || got.Held < 0 || got.Debt < 0 || (got.Debt > 0 && got.Spendable > 0) {
				rt.Fatalf("an impossible balance: %+v", got)
			}
			if found, err := w.Recompute(context.Background()); err != nil || len(found) > 0 {
				rt.Fatalf("the books: %v, %v", found, err)
			}
		},
	})
}

func payment(id int64) string { return fmt.Sprintf("pi_%d", id) }

// paidTopup is a top-up by card that was paid, told twice.
func (w *world) paidTopup(account int64, amount money.USDCents) (x topup, err error) {
	err = w.do(func(ctx context.Context, tx *db.Tx) (err error) {
		x, err = w.create(ctx, tx, account, "stripe", amount, "", false)
		return err
	})
	if err != nil {
		return x, err
	}
	if x, _, err = w.start(context.Background(), x); err != nil {
		return x, err
	}
	e := gateway.Event{
		Kind: gateway.Succeeded, TopupID: x.ID, Reference: cardReference(x.ID), Payment: payment(x.ID), Total: x.total(), Currency: "USD",
	}
	return x, errors.Join(w.apply(context.Background(), "stripe", e), w.apply(context.Background(), "stripe", e))
}

func TestTheLedgerBehavesAsItsModel(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		clk := clock.NewFake(testkit.Start)
		w := newWorld(t, testkit.SQLite(t, clk), clk)
		checks(t, "15")
		rapid.Check(t, w.walk)
		w.sound()
	})
	t.Run("postgres", func(t *testing.T) {
		clk := clock.NewFake(testkit.Start)
		w := newWorld(t, testkit.Open(t, testkit.PostgresURL(t), clk), clk)
		checks(t, "5")
		rapid.Check(t, w.walk)
		w.sound()
	})
}

// checks sets how many walks are made, unless the command line does.
func checks(t *testing.T, n string) {
	f := flag.Lookup("rapid.checks")
	if was := f.Value.String(); was == f.DefValue {
		if err := flag.Set("rapid.checks", n); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set("rapid.checks", was) })
	}
}

func TestRecomputeFindsWhatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 1000)
		if _, err := w.paidTopup(1, 500); err != nil {
			t.Fatal(err)
		}
		w.sound()
		for kind, tamper := range map[string][2]string{
			"balance":     {`UPDATE wallet_ledger_accounts SET balance = balance + 7 WHERE kind = 'held'`, `UPDATE wallet_ledger_accounts SET balance = balance - 7 WHERE kind = 'held'`},
			"transaction": {`UPDATE wallet_postings SET amount = amount + 1 WHERE id = 1`, `UPDATE wallet_postings SET amount = amount - 1 WHERE id = 1`},
			"chain":       {`UPDATE wallet_postings SET balance_after = balance_after + 1 WHERE balance_after IS NOT NULL`, `UPDATE wallet_postings SET balance_after = balance_after - 1 WHERE balance_after IS NOT NULL`},
			"debt":        {`UPDATE wallet_ledger_accounts SET balance = balance - 1 WHERE kind = 'debt'`, `UPDATE wallet_ledger_accounts SET balance = balance + 1 WHERE kind = 'debt'`},
			"held":        {`UPDATE wallet_ledger_accounts SET balance = balance + 7 WHERE kind = 'held'`, `UPDATE wallet_ledger_accounts SET balance = balance - 7 WHERE kind = 'held'`},
			"world":       {`INSERT INTO wallet_sandboxes (account_id) VALUES (1)`, `DELETE FROM wallet_sandboxes`},
			"topup":       {`UPDATE wallet_topups SET status = 'failed'`, `UPDATE wallet_topups SET status = 'succeeded'`},
		} {
			exec := func(query string) {
				w.must(func(ctx context.Context, tx *db.Tx) error { _, err := tx.Exec(ctx, query); return err })
			}
			exec(tamper[0])
			found, err := w.Recompute(t.Context())
			if err != nil || !strings.Contains(fmt.Sprint(found), kind+" ") {
				t.Errorf("%s: found %v, %v", kind, found, err)
			}
			exec(tamper[1])
		}
		w.sound()
	})
}

func TestTheDatabaseItselfRefusesANegativeBalance(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.credit(1, 10)
		for _, kind := range []string{"customer", "held"} {
			err := w.do(func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `UPDATE wallet_ledger_accounts SET balance = -1 WHERE kind = $1`, kind)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "wallet_balance_not_negative") {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
}

// TestTheLedgerIsOnlyAppended: no statement of the section changes or deletes a
// transaction or a posting. (Triggers would say it in two dialects.)
func TestTheLedgerIsOnlyAppended(t *testing.T) {
	changing := regexp.MustCompile(`(?i)\b(UPDATE|DELETE\s+FROM|REPLACE\s+INTO)\s+wallet_(transactions|postings)\b|wallet_(transactions|postings)[^;` + "`" + `]*ON\s+CONFLICT`)
	sources, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sources {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if at := changing.FindString(string(b)); at != "" {
			t.Errorf("%s changes the ledger: %s", f.Name(), at)
		}
	}
}

func TestAMovementThatDoesNotSumToZeroIsRefused(t *testing.T) {
	ref := order(1)
	for name, m := range map[string]movement{
		"sum":       {typ: TypeBonus, ref: ref, legs: []leg{{customer, "", 5}, {adjustments, "", -4}}},
		"double":    {typ: TypeBonus, ref: ref, legs: []leg{{customer, "", 5}, {customer, "", -5}}},
		"empty leg": {typ: TypeBonus, ref: ref, legs: []leg{{customer, "", 0}}},
		"overflow":  {typ: TypeBonus, ref: ref, legs: []leg{{customer, "", 1<<63 - 1}, {held, "", 1}, {debt, "", -1 << 63}}},
		"reference": {typ: TypeBonus},
	} {
		if m.check() == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
