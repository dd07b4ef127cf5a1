package coupons

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Coupon is a row of the table coupons.
type Coupon struct {
	ID   int64
	Code string // upper-case
	// Exactly one of them is above zero: hundredths of a percent, or an amount.
	PercentBasisPoints int
	Amount             money.USDCents
	// MaxTotal and MaxEach bound redemptions by all and by each account; 0 is no bound.
	MaxTotal, MaxEach int
	FirstOrder        bool     // for accounts that have bought nothing yet
	Products          []string // slugs of products and plans; empty is all
	MinMonths         int      // of the period; at least 1
	StartsAt, EndsAt  *time.Time
	Note              string // for operators
	Redeemed          int
	CreatedAt         time.Time
	DisabledAt        *time.Time
}

var pattern = regexp.MustCompile(`^[A-Z0-9][A-Z0-9_-]{2,39}$`)

// Normal returns a code in its stored form. People may write it in any case.
func Normal(code string) string { return strings.ToUpper(strings.TrimSpace(code)) }

// maxNote bounds notes, in characters.
const maxNote = 300

// check returns what is wrong with a new coupon, or nil.
func (c Coupon) check() error {
	switch {
	case !pattern.MatchString(c.Code):
		return fault.Validation.Wrapf("a code has 3 to 40 letters, digits, - and _: %q", c.Code)
	case (c.PercentBasisPoints == 0) == (c.Amount == 0):
		return fault.Validation.Wrapf("a coupon takes off a percentage or an amount, one of them")
	case c.PercentBasisPoints < 0 || c.PercentBasisPoints > 10_000:
		return fault.Validation.Wrapf("a percentage is above 0 and at most 100")
	case c.Amount < 0 || c.Amount > maxAmount:
		return fault.Validation.Wrapf("an amount is above 0 and at most %s", maxAmount)
	case c.MaxTotal < 0 || c.MaxEach < 0 || c.MaxTotal > maxCount || c.MaxEach > maxCount:
		return fault.Validation.Wrapf("bounds are from 0, for none, to %d", maxCount)
	case c.MinMonths < 1 || c.MinMonths > 120:
		return fault.Validation.Wrapf("the shortest period is from 1 to 120 months")
	case c.StartsAt != nil && c.EndsAt != nil && !c.EndsAt.After(*c.StartsAt):
		return fault.Validation.Wrapf("it ends before it begins")
	case utf8.RuneCountInString(c.Note) > maxNote || !utf8.ValidString(c.Note) || strings.ContainsFunc(c.Note, unicode.IsControl):
		return fault.Validation.Wrapf("a note is one line of at most %d characters", maxNote)
	}
	return nil
}

const (
	maxAmount money.USDCents = 100_000_000 // a million dollars: what is larger is a mistake
	maxCount  int            = 1_000_000_000
)

// fits returns why the coupon does not apply to a purchase, or nil. now is when the order is made.
func (c Coupon) fits(p sale.Discounted, now time.Time) error {
	switch {
	case c.DisabledAt != nil, c.EndsAt != nil && !now.Before(*c.EndsAt):
		return fault.CouponExpired.New()
	case p.Wholesale, c.StartsAt != nil && now.Before(*c.StartsAt), p.PeriodMonths < c.MinMonths:
		return fault.CouponInvalid.New()
	case len(c.Products) > 0 && !slices.Contains(c.Products, p.PlanSlug) && !slices.Contains(c.Products, p.ProductSlug):
		return fault.CouponInvalid.New()
	case c.MaxTotal > 0 && c.Redeemed >= c.MaxTotal:
		return fault.CouponExhausted.New()
	}
	return nil
}

// off returns what the coupon takes off a price.
func (c Coupon) off(price money.USDCents) money.USDCents {
	if c.Amount > 0 {
		return min(c.Amount, price)
	}
	return price - price.Less(c.PercentBasisPoints)
}
