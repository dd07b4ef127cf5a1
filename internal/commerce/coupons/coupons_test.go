package coupons

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// world is the section. Account 9 has bought something.
type world struct {
	*Service
	t *testing.T
}

type buyers struct{}

func (buyers) Bought(_ context.Context, _ db.Querier, accountID, _ int64) (bool, error) {
	return accountID == 9, nil
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	return &world{New(Config{DB: d, Orders: buyers{}}), t}
}

func (w *world) coupon(c Coupon) {
	w.t.Helper()
	c.MinMonths = max(1, c.MinMonths)
	if _, err := w.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) redeem(account, order int64, code string) error {
	return w.DB.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return w.Redeem(ctx, tx, account, order, code, 100)
	})
}

func (w *world) redeemed(code string) int {
	w.t.Helper()
	c, err := find(w.t.Context(), w.DB, code)
	if err != nil {
		w.t.Fatal(err)
	}
	var n int
	if err := w.DB.QueryRow(w.t.Context(), `SELECT count(*) FROM coupons_redemptions WHERE coupon_id = $1 AND released_at IS NULL`, c.ID).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	if n != c.Redeemed {
		w.t.Errorf("%s: the coupon says %d, the redemptions %d", code, c.Redeemed, n)
	}
	return n
}

func TestADiscountIsWhatTheCouponSays(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d)
		now := clk.Now()
		past, soon, later := now.Add(-time.Hour), now.Add(time.Hour), now.Add(2*time.Hour)
		w.coupon(Coupon{Code: " half ", PercentBasisPoints: 5000})
		w.coupon(Coupon{Code: "ALL", PercentBasisPoints: 10_000})
		w.coupon(Coupon{Code: "FIVE", Amount: 500})
		w.coupon(Coupon{Code: "YEAR", Amount: 500, MinMonths: 12})
		w.coupon(Coupon{Code: "PLAN", Amount: 500, Products: []string{"pro", "docs"}})
		w.coupon(Coupon{Code: "SOON", Amount: 500, StartsAt: &soon, EndsAt: &later})
		w.coupon(Coupon{Code: "OVER", Amount: 500, EndsAt: &past})
		w.coupon(Coupon{Code: "NOW", Amount: 500, StartsAt: &past, EndsAt: &soon})
		w.coupon(Coupon{Code: "FIRST", Amount: 500, FirstOrder: true})
		w.coupon(Coupon{Code: "OFF", Amount: 500})
		if _, err := w.Disable(t.Context(), "off"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Disable(t.Context(), "nothing"); !errors.Is(err, errUnknown) {
			t.Errorf("disable what is not there: %v", err)
		}
		for _, c := range []struct {
			code string
			with func(p *sale.Discounted)
			off  money.USDCents
			err  *fault.Def
		}{
			{code: "half", off: 499},
			{code: "HALF ", off: 499},
			{code: "ALL", off: 999},
			{code: "FIVE", off: 500},
			{code: "FIVE", with: func(p *sale.Discounted) { p.Price = 120 }, off: 120},
			{code: "FIVE", with: func(p *sale.Discounted) { p.Wholesale = true }, err: fault.CouponInvalid},
			{code: "YEAR", err: fault.CouponInvalid},
			{code: "YEAR", with: func(p *sale.Discounted) { p.PeriodMonths = 24 }, off: 500},
			{code: "PLAN", err: fault.CouponInvalid},
			{code: "PLAN", with: func(p *sale.Discounted) { p.PlanSlug = "pro" }, off: 500},
			{code: "PLAN", with: func(p *sale.Discounted) { p.ProductSlug = "docs" }, off: 500},
			{code: "SOON", err: fault.CouponInvalid},
			{code: "OVER", err: fault.CouponExpired},
			{code: "OFF", err: fault.CouponExpired},
			{code: "NOW", off: 500},
			{code: "FIRST", off: 500},
			{code: "FIRST", with: func(p *sale.Discounted) { p.AccountID = 9 }, err: fault.CouponInvalid},
			{code: "nothing", err: fault.CouponInvalid},
			{code: "%", err: fault.CouponInvalid},
		} {
			p := sale.Discounted{AccountID: 1, PlanSlug: "start", ProductSlug: "web", PeriodMonths: 1, Price: 999}
			if c.with != nil {
				c.with(&p)
			}
			off, code, err := w.Discount(t.Context(), d, c.code, p, now)
			if c.err == nil && (err != nil || off != c.off || code != Normal(c.code)) {
				t.Errorf("%s of %+v: %d, %q, %v", c.code, p, off, code, err)
			}
			if c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%s of %+v: %v, want %s", c.code, p, err, c.err.Key)
			}
		}
	})
}

func TestABadCouponIsNotMade(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d)
		now := clk.Now()
		for name, c := range map[string]Coupon{
			"no code": {PercentBasisPoints: 1}, "a space": {Code: "TWO WORDS", PercentBasisPoints: 1}, "nothing off": {Code: "NONE"},
			"both": {Code: "BOTH", PercentBasisPoints: 1, Amount: 1}, "more than all": {Code: "MORE", PercentBasisPoints: 10_001},
			"below nothing": {Code: "LESS", Amount: -1}, "time": {Code: "TIME", Amount: 1, StartsAt: &now, EndsAt: &now},
			"a bound": {Code: "BOUND", Amount: 1, MaxTotal: -1}, "months": {Code: "MONTHS", Amount: 1, MinMonths: 121},
			"a note": {Code: "NOTE", Amount: 1, Note: "two\nlines"}, "a long note": {Code: "LONG", Amount: 1, Note: strings.Repeat("x", 301)},
		} {
			c.MinMonths = max(1, c.MinMonths)
			if _, err := w.Create(t.Context(), c); err == nil {
				t.Errorf("%s: it was made", name)
			}
		}
		w.coupon(Coupon{Code: "TWICE", Amount: 1})
		if _, err := w.Create(t.Context(), Coupon{Code: "twice", Amount: 1, MinMonths: 1}); !errors.Is(err, errExists) {
			t.Errorf("twice: %v", err)
		}
		all, err := w.List(t.Context())
		if err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
	})
}

func TestACouponIsRedeemedAsOftenAsItMayBe(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d)
		w.coupon(Coupon{Code: "THREE", Amount: 100, MaxTotal: 3, MaxEach: 1})
		var wg sync.WaitGroup
		results := make([]error, 12)
		for i := range results {
			wg.Go(func() { results[i] = w.redeem(int64(i%6)+1, int64(i)+1, "THREE") }) // each account twice
		}
		wg.Wait()
		n := 0
		for i, err := range results {
			switch {
			case err == nil:
				n++
			case !errors.Is(err, fault.CouponExhausted):
				t.Errorf("order %d: %v", i+1, err)
			}
		}
		if n != 3 || w.redeemed("THREE") != 3 {
			t.Errorf("%d redeemed it", n)
		}
		var most int
		if err := d.QueryRow(t.Context(), `SELECT MAX(n) FROM (SELECT count(*) AS n FROM coupons_redemptions GROUP BY account_id) AS each_of`).Scan(&most); err != nil || most != 1 {
			t.Errorf("%d by one account, %v", most, err)
		}
		if _, _, err := w.Discount(t.Context(), d, "THREE", sale.Discounted{AccountID: 50, PeriodMonths: 1, Price: 1000}, clk.Now()); !errors.Is(err, fault.CouponExhausted) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestWhatGoesBackCanBeRedeemedAgain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		w := newWorld(t, d)
		w.coupon(Coupon{Code: "ONCE", Amount: 100, MaxTotal: 1, MaxEach: 1})
		if err := w.redeem(1, 1, "ONCE"); err != nil {
			t.Fatal(err)
		}
		if err := w.redeem(2, 2, "ONCE"); !errors.Is(err, fault.CouponExhausted) {
			t.Fatalf("%v", err)
		}
		var wg sync.WaitGroup
		for range 4 { // as often as anybody likes; also of an order without one
			wg.Go(func() {
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					return errors.Join(w.Release(ctx, tx, 1), w.Release(ctx, tx, 77))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := w.redeemed("ONCE"); n != 0 {
			t.Errorf("%d stand", n)
		}
		if err := w.redeem(1, 3, "ONCE"); err != nil {
			t.Errorf("again: %v", err)
		}
		all, err := w.List(t.Context())
		if err != nil || all[0].Discount != 100 || all[0].Redeemed != 1 {
			t.Errorf("%+v, %v", all, err)
		}
		if _, err := w.Disable(t.Context(), "ONCE"); err != nil {
			t.Fatal(err)
		}
		if err := w.redeem(4, 4, "ONCE"); !errors.Is(err, fault.CouponExpired) {
			t.Errorf("of a disabled one: %v", err)
		}
	})
}

func TestAFirstOrderIsOneWhateverTheCoupons(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, _ *clock.Fake) {
		w := newWorld(t, d)
		codes := []string{"ONE", "TWO", "THREE", "FOUR"}
		for _, code := range codes {
			w.coupon(Coupon{Code: code, Amount: 100, FirstOrder: true})
		}
		var wg sync.WaitGroup
		results := make([]error, len(codes))
		for i, code := range codes {
			wg.Go(func() { results[i] = w.redeem(1, int64(i)+1, code) })
		}
		wg.Wait()
		n := 0
		for _, err := range results {
			if err == nil {
				n++
			} else if !errors.Is(err, fault.CouponInvalid) {
				t.Error(err)
			}
		}
		if n != 1 {
			t.Errorf("%d first orders", n)
		}
		if err := w.redeem(9, 9, "ONE"); !errors.Is(err, fault.CouponInvalid) {
			t.Errorf("of who has bought before: %v", err)
		}
	})
}
