package orders

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Coupons take something off orders.
type Coupons interface {
	// Discount is what the coupon of a code takes off a purchase, and the code as it is kept; or coupon_invalid,
	// coupon_expired or coupon_exhausted. Nothing is redeemed yet.
	Discount(ctx context.Context, q db.Querier, code string, p sale.Discounted, now time.Time) (money.USDCents, string, error)
	// Redeem counts the coupon of an order that is being paid, or refuses as Discount does.
	Redeem(ctx context.Context, tx *db.Tx, accountID, orderID int64, code string, discount money.USDCents) error
	// Release gives back what an order redeemed whose money goes back.
	Release(ctx context.Context, tx *db.Tx, orderID int64) error
}

// NoCoupons is the Coupons of a company that gives none.
type NoCoupons struct{}

// Discount implements Coupons.
func (NoCoupons) Discount(context.Context, db.Querier, string, sale.Discounted, time.Time) (money.USDCents, string, error) {
	return 0, "", fault.CouponInvalid.New()
}

// Redeem implements Coupons.
func (NoCoupons) Redeem(context.Context, *db.Tx, int64, int64, string, money.USDCents) error {
	return fault.CouponInvalid.New()
}

// Release implements Coupons.
func (NoCoupons) Release(context.Context, *db.Tx, int64) error { return nil }

// discounted takes what the wish's coupon is worth off the first period of an item, before it is taxed. It answers how
// much, and the code as it is kept; nil where there is none.
func (s *Service) discounted(ctx context.Context, q db.Querier, w wish, offer sale.Offer, i item, now time.Time) (item, money.USDCents, *string, error) {
	if w.coupon == "" {
		return i, 0, nil, nil
	}
	p := sale.Discounted{
		AccountID: w.accountID, PlanSlug: offer.PlanSlug, ProductSlug: offer.ProductSlug, PeriodMonths: offer.PeriodMonths,
		Price: i.unitPrice - i.discount,
	}
	var err error
	if _, p.Wholesale, err = s.Rates.Wholesale(ctx, q, w.accountID); err != nil {
		return i, 0, nil, err
	}
	off, code, err := s.Coupons.Discount(ctx, q, w.coupon, p, now)
	if err == nil && (off < 0 || off > p.Price) {
		err = fmt.Errorf("orders: a coupon takes %d off %d", off, p.Price)
	}
	if err != nil {
		return i, 0, nil, err
	}
	i.discount += off
	i.total -= off
	return i, off, &code, nil
}

// redeem counts the coupon of an order that is being paid.
func (s *Service) redeem(ctx context.Context, tx *db.Tx, o order) error {
	if o.couponCode == nil {
		return nil
	}
	return s.Coupons.Redeem(ctx, tx, o.accountID, o.id, *o.couponCode, o.couponDiscount)
}

// giveBackCoupon undoes redeem.
func (s *Service) giveBackCoupon(ctx context.Context, tx *db.Tx, o order) error {
	if o.couponCode == nil {
		return nil
	}
	return s.Coupons.Release(ctx, tx, o.id)
}

// Bought tells whether the account has paid for another order than that one, and has not got its money back.
func (s *Service) Bought(ctx context.Context, q db.Querier, accountID, exceptOrder int64) (bought bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM orders WHERE account_id = $1 AND id <> $2 AND status IN ('processing', 'completed')
		AND (total = 0 OR refunded < total))`, accountID, exceptOrder).Scan(&bought)
	return bought, err
}
