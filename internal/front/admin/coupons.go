package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/coupons"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Coupon is a coupon code as operators see it.
type Coupon struct {
	Code               string         `json:"code"`
	PercentBasisPoints int            `json:"percent_basis_points,omitempty"`
	Amount             money.USDCents `json:"amount_usd_cents,omitempty"`
	MaxTotal           int            `json:"max_total,omitempty"`
	MaxEach            int            `json:"max_each,omitempty"`
	FirstOrder         bool           `json:"first_order"`
	Products           []string       `json:"products"`
	MinMonths          int            `json:"min_months"`
	StartsAt           *time.Time     `json:"starts_at"`
	EndsAt             *time.Time     `json:"ends_at"`
	Note               string         `json:"note"`
	Redeemed           int            `json:"redeemed"`
	Discount           money.USDCents `json:"discount_usd_cents"`
	CreatedAt          time.Time      `json:"created_at"`
	DisabledAt         *time.Time     `json:"disabled_at"`
}

func couponOf(c coupons.Coupon) Coupon {
	return Coupon{
		Code: c.Code, PercentBasisPoints: c.PercentBasisPoints, Amount: c.Amount, MaxTotal: c.MaxTotal, MaxEach: c.MaxEach,
		FirstOrder: c.FirstOrder, Products: c.Products, MinMonths: c.MinMonths, StartsAt: c.StartsAt, EndsAt: c.EndsAt, Note: c.Note,
		Redeemed: c.Redeemed, CreatedAt: c.CreatedAt, DisabledAt: c.DisabledAt,
	}
}

const couponColumns = "code, percent_bp, amount, max_total, max_each, first_order, products, min_months, starts_at, ends_at, redeemed, disabled_at"

// NewCoupon is the input for a coupon.
type NewCoupon struct {
	Code               string
	PercentBasisPoints int // or
	Amount             money.USDCents
	MaxTotal, MaxEach  int // 0: no bound
	FirstOrder         bool
	Products           []string // slugs of products and plans of the catalogue; none: all
	MinMonths          int
	StartsAt, EndsAt   *time.Time
	Note               string
}

// CreateCoupon creates a coupon. Its products must be in the catalogue: with a misspelt slug nobody could use the
// coupon.
func (a *Admin) CreateCoupon(ctx context.Context, n NewCoupon) (Coupon, error) {
	unknown, err := a.Catalog.Unknown(ctx, a.DB, n.Products)
	if err == nil && len(unknown) > 0 {
		err = fault.NotFound.Wrapf("the catalog has no product or plan %q", unknown[0])
	}
	if err != nil {
		return Coupon{}, err
	}
	c, err := a.Coupons.Create(a.change(ctx, "coupon.create", n.Note, newRowOf("coupon", "coupons", couponColumns)), coupons.Coupon{
		Code: n.Code, PercentBasisPoints: n.PercentBasisPoints, Amount: n.Amount, MaxTotal: n.MaxTotal, MaxEach: n.MaxEach,
		FirstOrder: n.FirstOrder, Products: n.Products, MinMonths: max(1, n.MinMonths), StartsAt: n.StartsAt, EndsAt: n.EndsAt, Note: n.Note,
	})
	return couponOf(c), err
}

// ListCoupons lists all coupons with the sums of their discounts, the newest first.
func (a *Admin) ListCoupons(ctx context.Context) ([]Coupon, error) {
	found, err := a.Coupons.List(ctx)
	all := make([]Coupon, len(found))
	for i, c := range found {
		all[i] = couponOf(c.Coupon)
		all[i].Discount = c.Discount
	}
	return all, err
}

// DisableCoupon ends a coupon: no further order is created or paid with it.
func (a *Admin) DisableCoupon(ctx context.Context, code string) (Coupon, error) {
	c, err := a.Coupons.Disable(a.change(ctx, "coupon.disable", "", rowOf("coupon", "coupons", couponColumns, "code", strings.ToUpper(code))), code)
	return couponOf(c), err
}

// ParseMoment parses a date, which means its beginning in UTC, or a time of RFC 3339.
func ParseMoment(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no date such as 2026-12-31, nor a moment such as 2026-12-31T18:00:00Z", text)
}
