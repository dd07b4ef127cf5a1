package coupons

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Orders tells what accounts have bought.
type Orders interface {
	// Bought reports whether the account has paid another order that was not refunded.
	Bought(ctx context.Context, q db.Querier, accountID, exceptOrder int64) (bool, error)
}

// Config is what the section works with; all is needed.
type Config struct {
	DB     *db.DB
	Orders Orders
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// The refusals that operators get.
var (
	errExists  = fault.AlreadyExists.Wrapf("there is a coupon of that code already; codes are not used twice")
	errUnknown = fault.NotFound.Wrapf("there is no coupon of that code")
)

// Discount returns what the coupon of a code takes off a purchase, and the code as it is stored. It refuses with
// coupon_invalid, coupon_expired or coupon_exhausted. It redeems nothing.
func (s *Service) Discount(ctx context.Context, q db.Querier, code string, p sale.Discounted, now time.Time) (money.USDCents, string, error) {
	c, err := find(ctx, q, Normal(code))
	if err == nil {
		err = c.fits(p, now)
	}
	if err == nil {
		err = s.allowed(ctx, q, c, p.AccountID, 0)
	}
	if err != nil {
		return 0, "", err
	}
	return c.off(p.Price), c.Code, nil
}

// allowed refuses an account that has redeemed the coupon as often as it may, or, for a coupon of first orders, one that has
// bought something before.
func (s *Service) allowed(ctx context.Context, q db.Querier, c Coupon, accountID, orderID int64) error {
	if c.MaxEach > 0 {
		n, err := standing(ctx, q, c.ID, accountID)
		if err != nil {
			return err
		}
		if n >= c.MaxEach {
			return fault.CouponExhausted.New()
		}
	}
	if !c.FirstOrder {
		return nil
	}
	bought, err := s.Orders.Bought(ctx, q, accountID, orderID)
	if err == nil && bought {
		err = fault.CouponInvalid.New()
	}
	return err
}

// Redeem counts the coupon of an order that is being paid in tx. discount is what the order got when it was made; it holds
// even when the coupon has expired since. A coupon that an operator disabled, or that is used up, is refused.
func (s *Service) Redeem(ctx context.Context, tx *db.Tx, accountID, orderID int64, code string, discount money.USDCents) error {
	c, ok, err := count(ctx, tx, code)
	if err != nil {
		return fmt.Errorf("coupons: redeem %s: %w", code, err)
	}
	if !ok {
		return s.gone(ctx, tx, code)
	}
	// The row is locked from here on: no other transaction redeems this coupon before tx ends.
	if err := s.allowed(ctx, tx, c, accountID, orderID); err != nil {
		return err
	}
	err = insertRedemption(ctx, tx, c, accountID, orderID, discount)
	if db.IsUnique(err) {
		return fault.CouponInvalid.Wrap(err) // another coupon has this account's first order
	}
	return err
}

// gone returns why a coupon could not be counted.
func (s *Service) gone(ctx context.Context, q db.Querier, code string) error {
	c, err := find(ctx, q, code)
	switch {
	case err != nil:
		return err
	case c.DisabledAt != nil:
		return fault.CouponExpired.New()
	default:
		return fault.CouponExhausted.New()
	}
}

// Release undoes the redemption of an order that is refunded. It does nothing the second time, or for an order without a
// coupon.
func (s *Service) Release(ctx context.Context, tx *db.Tx, orderID int64) error {
	if err := release(ctx, tx, orderID); err != nil {
		return fmt.Errorf("coupons: release of order %d: %w", orderID, err)
	}
	return nil
}

// Create makes a coupon. Its errors are for operators.
func (s *Service) Create(ctx context.Context, c Coupon) (Coupon, error) {
	c.Code = Normal(c.Code)
	if err := c.check(); err != nil {
		return c, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		err := insert(ctx, tx, c)
		if db.IsUnique(err) {
			err = errExists
		}
		if err == nil {
			c, err = find(ctx, tx, c.Code)
		}
		return err
	})
	return c, err
}

// Disable ends a coupon: from now on no order is made or paid with it. Paid orders keep their discount.
func (s *Service) Disable(ctx context.Context, code string) (c Coupon, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE coupons SET disabled_at = $1 WHERE code = $2 AND disabled_at IS NULL`, tx.Now, Normal(code)); err != nil {
			return err
		}
		c, err = find(ctx, tx, Normal(code))
		if errors.Is(err, fault.CouponInvalid) {
			err = errUnknown
		}
		return err
	})
	return c, err
}

// Given is a coupon with the sum of its discounts.
type Given struct {
	Coupon
	Discount money.USDCents
}

// List lists all coupons, the newest first.
func (s *Service) List(ctx context.Context) ([]Given, error) { return list(ctx, s.DB) }
