package app

import (
	"context"
	"time"

	"stead.dev/stead/internal/coupons"
	"stead.dev/stead/internal/orders"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// redeemed are the coupons as the orders see them.
type redeemed struct{ *coupons.Service }

// Discount implements orders.Coupons.
func (r redeemed) Discount(ctx context.Context, q db.Querier, code string, p orders.Discounted, now time.Time) (money.USDCents, string, error) {
	return r.Service.Discount(ctx, q, code, coupons.Purchase(p), now)
}
