package orders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

const columns = `o.id, o.account_id, o.kind, o.status, o.subtotal, o.discount, o.tax, o.total, o.failure_key, o.idempotency_key_used,
	o.expires_at, o.created_at, o.paid_at, o.completed_at, o.cancelled_at, o.client_ref, o.tax_included, o.invoice_id, o.refunded,
	o.coupon_code, o.coupon_discount`

func (o *order) fields() []any {
	return []any{
		&o.id, &o.accountID, &o.kind, &o.status, &o.subtotal, &o.discount, &o.tax, &o.total, &o.failureKey, &o.idempotencyKeyUsed,
		&o.expiresAt, &o.createdAt, &o.paidAt, &o.completedAt, &o.cancelledAt, &o.clientRef, &o.taxIncluded, &o.invoiceID, &o.refunded,
		&o.couponCode, &o.couponDiscount,
	}
}

func scan(row db.Row) (o order, err error) { return o, row.Scan(o.fields()...) }

const itemColumns = `i.id, i.order_id, i.kind, i.status, i.title, i.plan_id, i.domain, i.quantity, i.period_months, i.unit_price, i.setup,
	i.discount, i.tax, i.total, i.service_id, i.domain_id, i.tax_included`

func (i *item) fields() []any {
	return []any{
		&i.id, &i.orderID, &i.kind, &i.status, &i.title, &i.planID, &i.domain, &i.quantity, &i.periodMonths, &i.unitPrice, &i.setup,
		&i.discount, &i.tax, &i.total, &i.serviceID, &i.domainID, &i.taxIncluded,
	}
}

func scanItem(row db.Row) (i item, err error) { return i, row.Scan(i.fields()...) }

// get reads an order whoever owns it, for jobs.
func get(ctx context.Context, q db.Querier, id int64) (order, error) {
	return withItems(ctx, q, `o.id = $1`, id)
}

// getOwn reads an order of the account.
func getOwn(ctx context.Context, q db.Querier, accountID, id int64) (order, error) {
	return withItems(ctx, q, `o.id = $1 AND o.account_id = $2`, id, accountID)
}

// withItems reads one order and its items, of which there is at least one.
func withItems(ctx context.Context, q db.Querier, where string, args ...any) (o order, err error) {
	o.items, err = db.Collect(ctx, q, func(row db.Row) (i item, err error) {
		return i, row.Scan(append(o.fields(), i.fields()...)...)
	}, `SELECT `+columns+`, `+itemColumns+` FROM orders o JOIN orders_items i ON i.order_id = o.id WHERE `+where+` ORDER BY i.id`, args...)
	if err == nil && len(o.items) == 0 {
		err = fault.NotFound.New()
	}
	return o, err
}

// list reads one page of an account's orders, the newest first; an empty status, or
// tag, shows all.
func list(ctx context.Context, q db.Querier, accountID int64, status, clientRef string, p page.Params) (rows []order, total int, err error) {
	where, args := `account_id = $1`, []any{accountID}
	if status != "" {
		args = append(args, status)
		where += fmt.Sprintf(` AND status = $%d`, len(args))
	}
	if clientRef != "" {
		args = append(args, clientRef)
		where += fmt.Sprintf(` AND client_ref = $%d`, len(args))
	}
	if err := q.QueryRow(ctx, `SELECT count(*) FROM orders WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	n := len(args)
	query := fmt.Sprintf(`SELECT %s FROM orders o WHERE %s ORDER BY id DESC LIMIT $%d OFFSET $%d`, columns, where, n+1, n+2)
	rows, err = db.Collect(ctx, q, scan, query, append(args, p.Limit(), p.Offset())...)
	if err != nil {
		return nil, 0, err
	}
	return rows, total, fillItems(ctx, q, rows)
}

// countUnpaid counts the orders of an account that wait for their payment, and those made since a moment that were cancelled.
func countUnpaid(ctx context.Context, q db.Querier, accountID int64, since time.Time) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM orders WHERE account_id = $1 AND status IN ($2, $3) AND (status = $2 OR created_at > $4)`,
		accountID, Pending, Cancelled, since).Scan(&n)
	return n, err
}

// fillItems reads the items of all the orders with one query.
func fillItems(ctx context.Context, q db.Querier, orders []order) error {
	if len(orders) == 0 {
		return nil
	}
	at := map[int64]int{}
	ids := make([]int64, len(orders))
	for i, o := range orders {
		at[o.id], ids[i] = i, o.id
	}
	in, args := db.In(q, 1, ids)
	items, err := db.Collect(ctx, q, scanItem,
		`SELECT `+itemColumns+` FROM orders_items i WHERE order_id `+in+` ORDER BY order_id, id`, args...)
	if err != nil {
		return err
	}
	for _, i := range items {
		o := &orders[at[i.orderID]]
		o.items = append(o.items, i)
	}
	return nil
}

// insert writes a new order without its items, which name services that name it, and returns its id.
func insert(ctx context.Context, tx *db.Tx, o order) (int64, error) {
	ids, err := nextIDs(ctx, tx, 1)
	if err != nil {
		return 0, err
	}
	o.id = ids[0]
	return o.id, insertAll(ctx, tx, []order{o})
}

// nextIDs takes the ids of orders that are written later in tx.
func nextIDs(ctx context.Context, tx *db.Tx, n int) ([]int64, error) {
	return db.NextIDs(ctx, tx, "orders", n)
}

// insertAll writes orders that have their ids, without their items.
func insertAll(ctx context.Context, tx *db.Tx, all []order) error {
	var rows db.Values
	for _, o := range all {
		rows.Add(o.id, o.accountID, o.kind, o.status, o.subtotal, o.discount, o.tax, o.total, o.idempotencyKeyUsed, o.expiresAt,
			o.createdAt, o.clientRef, o.taxIncluded, o.couponCode, o.couponDiscount, o.paidAt, o.completedAt, o.invoiceID)
	}
	table, args := rows.Table(tx)
	return tx.Queue(ctx, nil, `INSERT INTO orders (id, account_id, kind, status, subtotal, discount, tax, total, idempotency_key_used,
		expires_at, created_at, client_ref, tax_included, coupon_code, coupon_discount, paid_at, completed_at, invoice_id) `+table, args...)
}

// insertItems writes the items of orders, of which each has at least one, and gives them their ids.
func insertItems(ctx context.Context, tx *db.Tx, orders []order) error {
	var rows db.Values
	for _, o := range orders {
		for _, i := range o.items {
			rows.Add(o.id, i.kind, i.status, i.title, i.planID, i.domain, i.quantity, i.periodMonths, i.unitPrice, i.setup,
				i.discount, i.tax, i.total, i.serviceID, i.domainID, i.taxIncluded)
		}
	}
	ids, err := db.Inserted(ctx, tx, `INSERT INTO orders_items (order_id, kind, status, title, plan_id, domain, quantity, period_months,
		unit_price, setup, discount, tax, total, service_id, domain_id, tax_included)`, &rows)
	if err != nil {
		return err
	}
	for _, o := range orders {
		for n := range o.items {
			o.items[n].id, o.items[n].orderID, ids = ids[0], o.id, ids[1:]
		}
	}
	return nil
}

// The moves of an order. Each answers false when the order is no longer where the
// move begins; the statement decides.

// setPaid goes from pending over paid to processing in one step, with the tax of the day and the invoice. Where the order
// is no longer pending, errMoved comes of it.
func setPaid(ctx context.Context, tx *db.Tx, o order) error {
	check := func(n int64, err error) error { return must(move(n, err)) }
	return tx.Queue(ctx, check, `UPDATE orders SET status = $1, paid_at = $2, tax = $5, tax_included = $6, total = $7, invoice_id = $8
		WHERE id = $3 AND status = $4 AND expires_at > $2`, Processing, tx.Now, o.id, Pending, o.tax, o.taxIncluded, o.total, o.invoiceID)
}

// setTax writes the tax of an item.
func setTax(ctx context.Context, tx *db.Tx, i item) error {
	return tx.Queue(ctx, nil, `UPDATE orders_items SET tax = $1, tax_included = $2, total = $3 WHERE id = $4`, i.tax, i.taxIncluded, i.total, i.id)
}

func addRefunded(ctx context.Context, tx *db.Tx, id int64, amount money.USDCents) error {
	_, err := tx.Exec(ctx, `UPDATE orders SET refunded = refunded + $1 WHERE id = $2`, amount, id)
	return err
}

func setCompleted(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE orders SET status = $1, completed_at = $2 WHERE id = $3 AND status = $4`,
		Completed, tx.Now, id, Processing))
}

func setFailed(ctx context.Context, tx *db.Tx, id int64, failureKey string) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE orders SET status = $1, failure_key = $2 WHERE id = $3 AND status = $4`,
		Failed, failureKey, id, Processing))
}

func setRefunded(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE orders SET status = $1 WHERE id = $2 AND status = $3`, Refunded, id, Failed))
}

func setCancelled(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE orders SET status = $1, cancelled_at = $2 WHERE id = $3 AND status = $4`,
		Cancelled, tx.Now, id, Pending))
}

func setExpired(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE orders SET status = $1 WHERE id = $2 AND status = $3 AND expires_at <= $4`,
		Expired, id, Pending, tx.Now))
}

func move(n int64, err error) (bool, error) { return n == 1, err }

// setItems moves all items of an order.
func setItems(ctx context.Context, tx *db.Tx, orderID int64, status Status) error {
	return tx.Queue(ctx, nil, `UPDATE orders_items SET status = $1 WHERE order_id = $2`, status, orderID)
}

// overdue lists pending orders whose time is up, the oldest first.
func overdue(ctx context.Context, q db.Querier, now time.Time, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM orders WHERE status = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT $2`, now, limit)
}

// Held returns those of orders that are paid and not made yet.
func (*Service) Held(ctx context.Context, q db.Querier, ids []int64) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	in, args := db.In(q, 1, ids)
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM orders WHERE id `+in+` AND status = 'processing'`, args...)
}

// ClientRef is the tag that a reseller has given an order; nil without one, and for an order that is not there.
func (s *Service) ClientRef(ctx context.Context, q db.Querier, orderID int64) (ref *string, err error) {
	err = q.QueryRow(ctx, `SELECT client_ref FROM orders WHERE id = $1`, orderID).Scan(&ref)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	return ref, err
}
