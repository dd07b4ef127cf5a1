package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// Order is an order as operators see it.
type Order struct {
	ID         int64          `json:"id"`
	Number     string         `json:"number"`
	AccountID  int64          `json:"account_id"`
	Email      string         `json:"email"`
	Kind       string         `json:"kind"`
	Status     string         `json:"status"`
	Total      money.USDCents `json:"total_usd_cents"`
	Refunded   money.USDCents `json:"refunded_usd_cents"`
	FailureKey *string        `json:"failure_key"`
	CreatedAt  time.Time      `json:"created_at"`
}

var orderRows = db.Map(func(o *Order) db.Fields {
	return db.Fields{
		"o.id": &o.ID, "o.account_id": &o.AccountID, "u.email": &o.Email, "o.kind": &o.Kind, "o.status": &o.Status, "o.total": &o.Total,
		"o.refunded": &o.Refunded, "o.failure_key": &o.FailureKey, "o.created_at": &o.CreatedAt,
	}
})

var selectOrder = `SELECT ` + orderRows.Columns() + ` FROM orders o JOIN account_users u ON u.id = o.account_id`

func scanOrder(row db.Row) (Order, error) {
	o, err := orderRows.Scan(row)
	o.Number = fmt.Sprintf("ORD-%d-%06d", o.CreatedAt.Year(), o.ID)
	return o, err
}

// ListOrders reads a page of all customers' orders, the newest first. status and who, an account's id or address, select some when
// they are given.
func (a *Admin) ListOrders(ctx context.Context, status, who string, p page.Params) (*page.List[Order], error) {
	var account int64
	if who != "" {
		u, err := a.User(ctx, who)
		if errors.Is(err, fault.NotFound) {
			err = fault.NotFound.Wrapf("there is no account %q", who)
		}
		if err != nil {
			return nil, err
		}
		account = u.ID
	}
	const matching = ` WHERE (CAST($1 AS TEXT) = '' OR o.status = $1) AND (CAST($2 AS BIGINT) = 0 OR o.account_id = $2)`
	var total int
	if err := a.DB.QueryRow(ctx, `SELECT COUNT(*) FROM orders o`+matching, status, account).Scan(&total); err != nil {
		return nil, err
	}
	rows, err := db.Collect(ctx, a.DB, scanOrder, selectOrder+matching+` ORDER BY o.id DESC LIMIT $3 OFFSET $4`, status, account, p.Limit(), p.Offset())
	if err != nil {
		return nil, err
	}
	return page.Of(p, total, rows), nil
}

// Order reads an order by its id or its number.
func (a *Admin) Order(ctx context.Context, named string) (Order, error) {
	missing := fault.NotFound.Wrapf("there is no order %q; stead admin orders list shows them", named)
	digits := named
	if parts := strings.Split(strings.ToUpper(named), "-"); len(parts) == 3 && parts[0] == "ORD" {
		digits = parts[2]
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return Order{}, missing
	}
	o, err := scanOrder(a.DB.QueryRow(ctx, selectOrder+` WHERE o.id = $1`, id))
	if errors.Is(err, db.ErrNoRows) || err == nil && digits != named && o.Number != strings.ToUpper(named) {
		return Order{}, missing
	}
	return o, err
}
