package addons

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// addonRows reads addons.
var addonRows = db.Map(func(a *addon) db.Fields {
	return db.Fields{
		"id": &a.id, "account_id": &a.accountID, "service_id": &a.serviceID, "order_id": &a.orderID,
		"key": &a.key, "name": &a.name, "quantity": &a.quantity, "unit_price": &a.unitPrice, "period_months": &a.periodMonths,
		"raises": db.JSON(&a.raises), "manual": &a.manual, "value": &a.value,
		"status": &a.status, "failure_key": &a.failureKey, "with_service": &a.withService,
		"paid_until": &a.paidUntil, "created_at": &a.createdAt, "activated_at": &a.activatedAt, "cancelled_at": &a.cancelledAt,
	}
})

func found(a addon, err error) (addon, error) {
	if errors.Is(err, db.ErrNoRows) {
		return a, fault.NotFound.New()
	}
	return a, err
}

// get reads an add-on whoever owns it, for jobs and operators.
func get(ctx context.Context, q db.Querier, id int64) (addon, error) {
	return found(addonRows.Scan(q.QueryRow(ctx, `SELECT `+addonRows.Columns()+` FROM addons WHERE id = $1`, id)))
}

// lock is get for one that is about to change.
func lock(ctx context.Context, tx *db.Tx, id int64) (addon, error) {
	return found(addonRows.Scan(tx.QueryRow(ctx, `SELECT `+addonRows.Columns()+` FROM addons WHERE id = $1`+tx.ForUpdate(), id)))
}

// getOwn reads an add-on of one of the account's services.
func getOwn(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (addon, error) {
	return found(addonRows.Scan(q.QueryRow(ctx, `SELECT `+addonRows.Columns()+` FROM addons WHERE id = $1 AND service_id = $2 AND account_id = $3`,
		id, serviceID, accountID)))
}

// list reads one page of a service's add-ons, the newest first.
func list(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []addon, total int, err error) {
	const where = ` FROM addons WHERE service_id = $1 AND account_id = $2`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, addonRows.Scan, `SELECT `+addonRows.Columns()+where+` ORDER BY id DESC LIMIT $3 OFFSET $4`, serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

// ofService reads the present and pending add-ons of a service, or those that it had when it ended, in the order of purchase.
func ofService(ctx context.Context, q db.Querier, serviceID int64) ([]addon, error) {
	return ofServices(ctx, q, []int64{serviceID})
}

// ofServices is ofService for several services.
func ofServices(ctx context.Context, q db.Querier, serviceIDs []int64) ([]addon, error) {
	in, args := db.In(q, 1, serviceIDs)
	return db.Collect(ctx, q, addonRows.Scan, `SELECT `+addonRows.Columns()+` FROM addons
		WHERE service_id `+in+` AND (status IN ('pending', 'active', 'cancelling') OR with_service) ORDER BY id`, args...)
}

// waiting lists the add-ons that wait for an operator, the oldest first.
func waiting(ctx context.Context, q db.Querier, after int64, limit int) ([]addon, error) {
	return db.Collect(ctx, q, addonRows.Scan, `SELECT `+addonRows.Columns()+` FROM addons WHERE status = 'pending' AND id > $1 ORDER BY id LIMIT $2`, after, limit)
}

// over lists the cancelled add-ons whose paid time ends by the given time.
func over(ctx context.Context, q db.Querier, by time.Time, limit int) ([]addon, error) {
	return db.Collect(ctx, q, addonRows.Scan, `SELECT `+addonRows.Columns()+` FROM addons WHERE status = 'cancelling' AND paid_until <= $1
		ORDER BY paid_until LIMIT $2`, by, limit)
}

// overOf is over for one account.
func overOf(ctx context.Context, q db.Querier, accountID int64, by time.Time) ([]addon, error) {
	return db.Collect(ctx, q, addonRows.Scan, `SELECT `+addonRows.Columns()+` FROM addons WHERE account_id = $1 AND status = 'cancelling' AND paid_until <= $2
		ORDER BY paid_until, id`, accountID, by)
}

// firstOver returns the first time after t at which the paid time of a cancelled add-on of the account ends.
func firstOver(ctx context.Context, q db.Querier, accountID int64, t time.Time) (at *time.Time, err error) {
	err = q.QueryRow(ctx, `SELECT MIN(paid_until) FROM addons WHERE account_id = $1 AND status = 'cancelling' AND paid_until > $2`,
		accountID, t).Scan(&at)
	return at, err
}

func insert(ctx context.Context, tx *db.Tx, a addon) (id int64, err error) {
	raises, err := raisesText(a.raises)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO addons (account_id, service_id, order_id, key, name, quantity, unit_price, period_months, raises, manual,
			status, paid_until, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id`,
		a.accountID, a.serviceID, a.orderID, a.key, a.name, a.quantity, a.unitPrice, a.periodMonths, raises, a.manual,
		Pending, a.paidUntil, tx.Now).Scan(&id)
	return id, err
}

// The transitions of an add-on. Each returns false when the add-on is no longer in the state in which it begins.

func setActive(ctx context.Context, tx *db.Tx, id int64, value string, paidUntil time.Time) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE addons SET status = $1, value = $2, activated_at = $3, paid_until = $4 WHERE id = $5 AND status = $6`,
		Active, value, tx.Now, paidUntil, id, Pending))
}

func setFailed(ctx context.Context, tx *db.Tx, id int64, failureKey string) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE addons SET status = $1, failure_key = $2 WHERE id = $3 AND status = $4`, Failed, failureKey, id, Pending))
}

func setCancelling(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE addons SET status = $1, cancelled_at = $2 WHERE id = $3 AND status = $4`, Cancelling, tx.Now, id, Active))
}

// setCancelled ends a cancelled add-on.
func setCancelled(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE addons SET status = $1 WHERE id = $2 AND status = $3`, Cancelled, id, Cancelling))
}

// setEnded ends the add-ons of a service that ended. They come back when it is restored.
func setEnded(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE addons SET status = $1, with_service = TRUE, cancelled_at = $2 WHERE id = $3 AND status = $4`,
		Cancelled, tx.Now, id, Active))
}

func setReturned(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE addons SET status = $1, with_service = FALSE, cancelled_at = NULL WHERE id = $2 AND with_service`, Active, id))
}

func setPaid(ctx context.Context, tx *db.Tx, id int64, until time.Time) (bool, error) {
	return move(tx.Exec(ctx, `UPDATE addons SET paid_until = $1 WHERE id = $2 AND status = $3`, until, id, Active))
}

func move(n int64, err error) (bool, error) { return n == 1, err }
