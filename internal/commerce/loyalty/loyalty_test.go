package loyalty

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// purse is a wallet that keeps what was moved in committed transactions.
type purse struct {
	mu      sync.Mutex
	balance map[int64]money.USDCents
	seen    map[string]bool
}

func (p *purse) move(tx *db.Tx, what string, r Reward, sign money.USDCents) error {
	tx.OnCommit(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if key := fmt.Sprint(what, r.Kind, r.ID, r.Part); !p.seen[key] {
			p.seen[key] = true
			p.balance[r.AccountID] += sign * r.Amount
		}
	})
	return nil
}

func (p *purse) Give(_ context.Context, tx *db.Tx, r Reward) error { return p.move(tx, "give", r, 1) }

func (p *purse) Reclaim(_ context.Context, tx *db.Tx, r Reward) error {
	return p.move(tx, "take", r, -1)
}

// people are the accounts: anna 1, boris 2, and so on.
type people map[int64]Member

func (p people) Member(_ context.Context, _ db.Querier, id int64) (Member, error) {
	m, ok := p[id]
	if !ok {
		return m, errors.New("nobody")
	}
	return m, nil
}

type wholesalers map[int64]bool

func (w wholesalers) Wholesale(_ context.Context, _ db.Querier, id int64) (int, bool, error) {
	return 2000, w[id], nil
}

type world struct {
	*Service
	t      *testing.T
	clk    *clock.Fake
	purse  *purse
	people people
	resale wholesalers
	edge   http.Handler
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := &world{
			t: t, clk: clk, purse: &purse{balance: map[int64]money.USDCents{}, seen: map[string]bool{}}, resale: wholesalers{},
			people: people{1: {"anna@example.com", true}, 2: {"boris@example.com", true}, 3: {"carl@example.com", true}},
		}
		tiers, err := ParseTiers([]string{"bronze=0", "silver=100:1", "gold=500:2.5"})
		if err != nil {
			t.Fatal(err)
		}
		w.Service = New(Config{
			DB: d, Clock: clk, Wallet: w.purse, Accounts: w.people, Rates: w.resale, BaseURL: "https://stead.test/",
			Program: Program{Tiers: tiers, Referral: 1000, ReferralMax: 5000},
		})
		w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
			"anna": {AccountID: 1, ApplicationID: 1, Scopes: []string{auth.ScopeProfile}},
			"carl": {AccountID: 3, ApplicationID: 1, Scopes: []string{auth.ScopeProfile}, Locale: "ru"},
		}, w.Operations())
		f(t, w)
	})
}

func (w *world) get(token, path string, to any) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, http.MethodGet, path, "")
	if err := json.Unmarshal(rec.Body.Bytes(), to); err != nil || rec.Code != http.StatusOK {
		w.t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
	}
}

func (w *world) must(f func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.DB.InTx(context.Background(), f); err != nil {
		w.t.Fatal(err)
	}
}

// refer lets an account be made by anna's link.
func (w *world) refer(accountID int64) {
	w.t.Helper()
	code, err := w.code(context.Background(), 1)
	if err != nil {
		w.t.Fatal(err)
	}
	w.must(func(ctx context.Context, tx *db.Tx) error {
		return w.Referred(ctx, tx, accountID, strings.ToUpper(code)+" ")
	})
}

// told is an event of an order.
func (w *world) told(typ string, orderID, accountID int64, total, tax, refunded money.USDCents) {
	w.t.Helper()
	cents := func(c money.USDCents) map[string]any { return map[string]any{"usd_cents": c} }
	data, err := json.Marshal(map[string]any{
		"id": orderID, "total": cents(total), "tax": cents(tax), "tax_included": cents(0), "refunded": cents(refunded),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	e := outbox.Stored{Type: typ, AccountID: accountID, Subject: "order", SubjectID: orderID, Data: data, CreatedAt: w.clk.Now()}
	w.must(func(ctx context.Context, tx *db.Tx) error { return w.Follow(ctx, tx, e) })
}

func (w *world) bought(orderID, accountID int64, total money.USDCents) {
	w.t.Helper()
	w.told("order.completed", orderID, accountID, total, 0, 0)
}

func (w *world) has(want map[int64]money.USDCents) {
	w.t.Helper()
	got := maps.Clone(w.purse.balance)
	maps.DeleteFunc(got, func(_ int64, c money.USDCents) bool { return c == 0 })
	if !maps.Equal(got, want) {
		w.t.Errorf("rewards %v, want %v", got, want)
	}
}

func TestTheFirstOrderOfAReferredCustomerIsRewarded(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.refer(2)
		var r referralWire
		w.get("anna", "/api/v1/me/referral", &r)
		if len(r.Code) != codeLength || r.ShareLink != "https://stead.test/register?ref="+r.Code || r.RewardBasisPoints != 1000 ||
			r.RewardMax.USDCents != 5000 || r.Statistics.Registered != 1 || r.Statistics.Pending != 1 || r.Statistics.Converted != 0 {
			t.Errorf("%+v", r)
		}
		w.told("order.completed", 1, 2, 0, 0, 0) // free of charge: nobody has paid anything
		w.has(map[int64]money.USDCents{})
		for range 2 {
			w.told("order.completed", 2, 2, 1111, 111, 0) // taxes are not the company's
		}
		w.has(map[int64]money.USDCents{1: 100})
		w.bought(3, 2, 5000)
		w.has(map[int64]money.USDCents{1: 100})
		var again referralWire
		w.get("anna", "/api/v1/me/referral", &again)
		if again.Code != r.Code || again.Statistics.Converted != 1 || again.Statistics.ConversionPercent != 100 || again.Statistics.Earned.USDCents != 100 {
			t.Errorf("%+v", again)
		}
		w.refer(3)
		w.bought(4, 3, 90_000)
		w.has(map[int64]money.USDCents{1: 100 + 5000}) // bounded; carl was bronze when he bought
	})
}

func TestARefundTakesBack(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.refer(2)
		w.bought(1, 2, 10_000)
		w.bought(2, 2, 2000) // silver by now: 1 percent
		w.has(map[int64]money.USDCents{1: 1000, 2: 20})
		for range 2 {
			w.told("order.refunded", 1, 2, 10_000, 0, 2500)
		}
		w.has(map[int64]money.USDCents{1: 750, 2: 20})
		w.told("order.refunded", 1, 2, 10_000, 0, 10_000)
		w.told("order.refunded", 1, 2, 10_000, 0, 2500) // an older event, late
		w.told("order.refunded", 2, 2, 2000, 0, 1000)
		w.has(map[int64]money.USDCents{2: 10})
		w.bought(3, 2, 10_000)
		w.has(map[int64]money.USDCents{2: 10})
		var r referralWire
		w.get("anna", "/api/v1/me/referral", &r)
		if r.Statistics.Earned.USDCents != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// What an order brings is decided when it is completed: spending that came later brings nothing for it when it is refunded in part.
func TestARefundGivesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.people[1] = Member{"anna@example.com", false}
		w.must(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO loyalty_referrals (referred_id, referrer_id, created_at) VALUES (2, 1, $1)`, tx.Now)
			return err
		})
		w.bought(1, 2, 40_000)
		w.bought(2, 2, 60_000)
		w.has(map[int64]money.USDCents{2: 600}) // the second one, as silver
		w.people[1] = Member{"anna@example.com", true}
		w.told("order.refunded", 1, 2, 40_000, 0, 100)
		w.has(map[int64]money.USDCents{2: 600})
	})
}

// Who has become a reseller, or whose customer has, gives back what refunds make too much, as before.
func TestARefundTakesBackFromWhoHasBecomeAReseller(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.refer(2)
		w.bought(1, 2, 10_000)
		w.bought(2, 2, 2000)
		w.has(map[int64]money.USDCents{1: 1000, 2: 20})
		w.resale[2] = true
		w.told("order.refunded", 1, 2, 10_000, 0, 5000)
		w.told("order.refunded", 2, 2, 2000, 0, 2000)
		w.has(map[int64]money.USDCents{1: 500})
	})
}

func TestARefundThatIsHeardOfFirstCounts(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.refer(2)
		w.told("order.refunded", 1, 2, 1000, 0, 1000)
		w.bought(1, 2, 1000)
		w.has(map[int64]money.USDCents{})
		w.told("order.refunded", 2, 2, 1000, 0, 0) // one that failed and was never completed
		w.has(map[int64]money.USDCents{})
		w.bought(3, 2, 1000)
		w.has(map[int64]money.USDCents{1: 100})
	})
}

func TestNobodyRefersThemselves(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.refer(1)
		w.people[4] = Member{"Anna+shop@example.com", true}
		w.refer(4)
		for _, code := range []string{"", "nothing", strings.Repeat("a", codeLength), strings.Repeat("x", 500)} {
			w.must(func(ctx context.Context, tx *db.Tx) error { return w.Referred(ctx, tx, 2, code) })
		}
		w.bought(1, 1, 1000)
		w.bought(2, 4, 1000)
		w.bought(3, 2, 1000)
		w.has(map[int64]money.USDCents{})

		w.people[1] = Member{"anna@example.com", false}
		w.refer(3) // of a closed account
		w.bought(4, 3, 1000)
		w.has(map[int64]money.USDCents{})
	})
}

func TestWholesaleAndPlayMoneyHaveNoRewards(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.refer(2)
		w.refer(3)
		w.resale[2] = true
		w.bought(1, 2, 50_000)
		w.bought(2, 2, 50_000)
		w.has(map[int64]money.USDCents{})
		w.resale[2], w.resale[1] = false, true
		w.bought(3, 3, 1000)
		w.has(map[int64]money.USDCents{})
	})
}

func TestOrdersAtOnceConvertOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.refer(2)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { w.bought(int64(i+1), 2, 1000) })
		}
		wg.Wait()
		w.has(map[int64]money.USDCents{1: 100})
	})
}

func TestTiers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		at := func(tier, next string, spent, remaining money.USDCents, days int) {
			t.Helper()
			var l loyaltyWire
			w.get("carl", "/api/v1/me/loyalty", &l)
			var got string
			if l.NextTier != nil {
				got = l.NextTier.Key
			}
			gotDays := -1
			if l.DaysToNext != nil {
				gotDays = *l.DaysToNext
			}
			if l.Tier.Key != tier || got != next || l.Spent.USDCents != spent || (next != "" && l.Remaining.USDCents != remaining) || gotDays != days || len(l.Tiers) != 3 {
				t.Errorf("%+v, days %d; want %s, %s, %d, %d, %d", l, gotDays, tier, next, spent, remaining, days)
			}
		}
		at("bronze", "silver", 0, 10_000, -1)
		w.bought(1, 3, 4000)
		at("bronze", "silver", 4000, 6000, 135) // 60 dollars, at 40 in 90 days
		w.clk.Advance(91 * 24 * time.Hour)
		at("bronze", "silver", 4000, 6000, -1)
		w.bought(2, 3, 6000)
		at("silver", "gold", 10_000, 40_000, -1) // not within a year
		w.bought(3, 3, 60_000)
		at("gold", "", 70_000, 0, -1)
		w.told("order.refunded", 3, 3, 60_000, 0, 30_000)
		at("silver", "gold", 40_000, 10_000, 25)
		w.clk.Advance(275 * 24 * time.Hour) // the first one is more than a year ago
		at("silver", "gold", 36_000, 14_000, -1)
		w.clk.Advance(365 * 24 * time.Hour)
		at("bronze", "silver", 0, 10_000, -1)
	})
}

func TestTiersAreReadFromTheConfiguration(t *testing.T) {
	tiers, err := ParseTiers([]string{"a=0", " b=10:1.5", "c=200"})
	if err != nil || len(tiers) != 3 || tiers[1] != (Tier{"b", 1000, 150}) || tiers[2] != (Tier{"c", 20_000, 0}) {
		t.Errorf("%v, %v", tiers, err)
	}
	for _, bad := range [][]string{nil, {"a=1"}, {"a"}, {"a=0", "b=0"}, {"a=0", "b=x"}, {"a=0:-1"}, {"a=0:51"}, {"a=0:NaN"}, {"A=0"}, {"a=0", "b=-5"}} {
		if _, err := ParseTiers(bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
	for amount, want := range map[money.USDCents]money.USDCents{0: 0, -5: 0, 399: 9, 400: 10, 1 << 62: 1<<62/40 - 0} {
		if got := part(amount, 250); got != want {
			t.Errorf("2.5 percent of %d: %d, want %d", amount, got, want)
		}
	}
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		testkit.Indexed(t, w.DB, func(q db.Querier) error {
			ctx := context.Background()
			_, ofCode := codeOf(ctx, q, 1)
			_, ofOwner := codeOwner(ctx, q, "x")
			_, _, ofSpending := spending(ctx, q, 1, w.clk.Now(), w.clk.Now())
			_, ofStatistics := statisticsOf(ctx, q, 1)
			for _, err := range []error{ofCode, ofOwner} {
				if !errors.Is(err, db.ErrNoRows) {
					return err
				}
			}
			return errors.Join(ofSpending, ofStatistics)
		})
	})
}
