package coupons

import (
	"context"
	"encoding/json"
	"errors"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// couponRows reads coupons.
var couponRows = db.Map(func(c *Coupon) db.Fields {
	return db.Fields{
		"id": &c.ID, "code": &c.Code, "COALESCE(percent_bp, 0)": &c.PercentBasisPoints, "COALESCE(amount, 0)": &c.Amount,
		"COALESCE(max_total, 0)": &c.MaxTotal, "COALESCE(max_each, 0)": &c.MaxEach, "first_order": &c.FirstOrder,
		"products": db.JSON(&c.Products), "min_months": &c.MinMonths, "starts_at": &c.StartsAt, "ends_at": &c.EndsAt,
		"note": &c.Note, "redeemed": &c.Redeemed, "created_at": &c.CreatedAt, "disabled_at": &c.DisabledAt,
	}
})

// find reads a coupon by its code; one that does not exist is not valid.
func find(ctx context.Context, q db.Querier, code string) (Coupon, error) {
	c, err := couponRows.Scan(q.QueryRow(ctx, `SELECT `+couponRows.Columns()+` FROM coupons WHERE code = $1`, code))
	if errors.Is(err, db.ErrNoRows) {
		err = fault.CouponInvalid.New()
	}
	return c, err
}

func insert(ctx context.Context, tx *db.Tx, c Coupon) error {
	if c.Products == nil {
		c.Products = []string{}
	}
	products, err := json.Marshal(c.Products)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO coupons (code, percent_bp, amount, max_total, max_each, first_order, products, min_months, starts_at,
			ends_at, note, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		c.Code, db.OrNull(c.PercentBasisPoints), db.OrNull(c.Amount), db.OrNull(c.MaxTotal), db.OrNull(c.MaxEach), c.FirstOrder, string(products), c.MinMonths,
		c.StartsAt, c.EndsAt, c.Note, tx.Now)
	return err
}

// count counts a redemption and returns the coupon, locked until tx ends; false when it is used up or disabled.
func count(ctx context.Context, tx *db.Tx, code string) (Coupon, bool, error) {
	c, err := couponRows.Scan(tx.QueryRow(ctx, `UPDATE coupons SET redeemed = redeemed + 1
		WHERE code = $1 AND (max_total IS NULL OR redeemed < max_total) AND disabled_at IS NULL RETURNING `+couponRows.Columns(), code))
	if errors.Is(err, db.ErrNoRows) {
		return c, false, nil
	}
	return c, err == nil, err
}

// standing counts an account's redemptions of a coupon.
func standing(ctx context.Context, q db.Querier, couponID, accountID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM coupons_redemptions WHERE coupon_id = $1 AND account_id = $2 AND released_at IS NULL`,
		couponID, accountID).Scan(&n)
	return n, err
}

func insertRedemption(ctx context.Context, tx *db.Tx, c Coupon, accountID, orderID int64, discount money.USDCents) error {
	_, err := tx.Exec(ctx, `INSERT INTO coupons_redemptions (coupon_id, account_id, order_id, amount, first_order, redeemed_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, c.ID, accountID, orderID, discount, c.FirstOrder, tx.Now)
	return err
}

// release undoes the redemption of an order, once.
func release(ctx context.Context, tx *db.Tx, orderID int64) error {
	// The coupon is locked first, as in every transaction.
	var couponID int64
	err := tx.QueryRow(ctx, `SELECT coupon_id FROM coupons_redemptions WHERE order_id = $1 AND released_at IS NULL`, orderID).Scan(&couponID)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := couponRows.Scan(tx.QueryRow(ctx, `SELECT `+couponRows.Columns()+` FROM coupons WHERE id = $1`+tx.ForUpdate(), couponID)); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `UPDATE coupons_redemptions SET released_at = $1 WHERE order_id = $2 AND released_at IS NULL`, tx.Now, orderID)
	if err == nil && n == 1 {
		_, err = tx.Exec(ctx, `UPDATE coupons SET redeemed = redeemed - 1 WHERE id = $1`, couponID)
	}
	return err
}

func list(ctx context.Context, q db.Querier) ([]Given, error) {
	given := map[int64]money.USDCents{}
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var (
			id  int64
			sum money.USDCents
		)
		err := row.Scan(&id, &sum)
		given[id] = sum
		return struct{}{}, err
	}, `SELECT coupon_id, CAST(SUM(amount) AS BIGINT) FROM coupons_redemptions WHERE released_at IS NULL GROUP BY coupon_id`)
	if err != nil {
		return nil, err
	}
	coupons, err := db.Collect(ctx, q, couponRows.Scan, `SELECT `+couponRows.Columns()+` FROM coupons ORDER BY id DESC`)
	all := make([]Given, len(coupons))
	for i, c := range coupons {
		all[i] = Given{c, given[c.ID]}
	}
	return all, err
}
