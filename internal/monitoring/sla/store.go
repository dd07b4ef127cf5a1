package sla

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

var rows = db.Map(func(a *Assessment) db.Fields {
	return db.Fields{
		"id": &a.ID, "account_id": &a.AccountID, "service_id": &a.ServiceID, "month": &a.Month.Start, "status": &a.Status, "held": &a.Held,
		"note": &a.Note, "promised": &a.Promised, "uptime": &a.Uptime, "served_s": &a.ServedS, "down_s": &a.DownS,
		"maintenance_s": &a.MaintenanceS, "unknown_s": &a.UnknownS, "breached": &a.Breached, "base": &a.Base, "percent": &a.Percent,
		"amount": &a.Amount, "credit_at": &a.CreditAt, "created_at": &a.CreatedAt, "decided_at": &a.DecidedAt,
	}
})

func scan(row db.Row) (Assessment, error) {
	a, err := rows.Scan(row)
	a.Month = monthOf(a.Month.Start)
	return a, err
}

// follow has the months of a service closed, from one on. A service that is known keeps the month that it has come to.
func follow(ctx context.Context, tx *db.Tx, accountID, serviceID int64, m Month) error {
	_, err := tx.Exec(ctx, `INSERT INTO sla_services (service_id, account_id, month, close_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (service_id) DO NOTHING`, serviceID, accountID, m.Start, m.closesAt())
	return err
}

// notePlan keeps which plan a service has since when. What is told again changes nothing.
func notePlan(ctx context.Context, tx *db.Tx, accountID, serviceID, planID int64, since time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO sla_plans (service_id, since, account_id, plan_id) VALUES ($1, $2, $3, $4)
		ON CONFLICT (service_id, since) DO NOTHING`, serviceID, since, accountID, planID)
	return err
}

// planAt is the plan that a service had at a time, or the first one after it; false when none is known.
func planAt(ctx context.Context, q db.Querier, serviceID int64, t time.Time) (planID int64, found bool, err error) {
	for _, query := range []string{
		`SELECT plan_id FROM sla_plans WHERE service_id = $1 AND since <= $2 ORDER BY since DESC LIMIT 1`,
		`SELECT plan_id FROM sla_plans WHERE service_id = $1 AND since > $2 ORDER BY since LIMIT 1`,
	} {
		err = q.QueryRow(ctx, query, serviceID, t).Scan(&planID)
		if !errors.Is(err, db.ErrNoRows) {
			return planID, err == nil, err
		}
	}
	return 0, false, nil
}

// dropPlans forgets the plans of a service that were over before the one that it had at a time.
func dropPlans(ctx context.Context, tx *db.Tx, serviceID int64, t time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM sla_plans WHERE service_id = $1
		AND since < (SELECT MAX(since) FROM sla_plans WHERE service_id = $1 AND since <= $2)`, serviceID, t)
	return err
}

// due is a place in a list of what is to be done: a time and an id.
type due struct {
	at time.Time
	id int64
}

func scanDue(row db.Row) (d due, err error) {
	err = row.Scan(&d.at, &d.id)
	return d, err
}

// dueServices are those of which a month is to be closed, after a place in the list.
func dueServices(ctx context.Context, q db.Querier, now time.Time, after due, most int) ([]due, error) {
	return db.Collect(ctx, q, scanDue, `SELECT close_at, service_id FROM sla_services
		WHERE close_at <= $1 AND (close_at > $2 OR close_at = $2 AND service_id > $3) ORDER BY close_at, service_id LIMIT $4`,
		now, after.at, after.id, most)
}

// dueCredits are the months that are to be credited, after a place in the list.
func dueCredits(ctx context.Context, q db.Querier, now time.Time, after due, most int) ([]due, error) {
	return db.Collect(ctx, q, scanDue, `SELECT credit_at, id FROM sla_months
		WHERE status = 'proposed' AND NOT held AND credit_at <= $1 AND (credit_at > $2 OR credit_at = $2 AND id > $3)
		ORDER BY credit_at, id LIMIT $4`, now, after.at, after.id, most)
}

// followed is a service of which months are closed.
type followed struct {
	serviceID, accountID int64
	month                Month
	closeAt              time.Time
}

// lockService locks the row of a service; db.ErrNoRows when nobody follows it any more.
func lockService(ctx context.Context, tx *db.Tx, serviceID int64) (f followed, err error) {
	var start time.Time
	err = tx.QueryRow(ctx, `SELECT service_id, account_id, month, close_at FROM sla_services WHERE service_id = $1`+tx.ForUpdate(), serviceID).
		Scan(&f.serviceID, &f.accountID, &start, &f.closeAt)
	f.month = monthOf(start)
	return f, err
}

func advance(ctx context.Context, tx *db.Tx, serviceID int64, to Month) error {
	_, err := tx.Exec(ctx, `UPDATE sla_services SET month = $1, close_at = $2 WHERE service_id = $3`, to.Start, to.closesAt(), serviceID)
	return err
}

// leave stops closing the months of a service.
func leave(ctx context.Context, tx *db.Tx, serviceID int64) error {
	if _, err := tx.Exec(ctx, `DELETE FROM sla_services WHERE service_id = $1`, serviceID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM sla_plans WHERE service_id = $1`, serviceID)
	return err
}

// insert keeps a month. It reports false when there is one already.
func insert(ctx context.Context, tx *db.Tx, a Assessment) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO sla_months (account_id, service_id, month, status, held, note, promised, uptime, served_s, down_s,
			maintenance_s, unknown_s, breached, base, percent, amount, credit_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT (service_id, month) DO NOTHING`,
		a.AccountID, a.ServiceID, a.Month.Start, a.Status, a.Held, a.Note, a.Promised, a.Uptime, a.ServedS, a.DownS, a.MaintenanceS, a.UnknownS,
		a.Breached, int64(a.Base), a.Percent, int64(a.Amount), a.CreditAt, tx.Now)
	return n == 1, err
}

// ofMonth is the row of a service's month; db.ErrNoRows before it is closed.
func ofMonth(ctx context.Context, q db.Querier, accountID, serviceID int64, m Month) (Assessment, error) {
	return scan(q.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM sla_months WHERE service_id = $1 AND month = $2 AND account_id = $3`,
		serviceID, m.Start, accountID))
}

func lockMonth(ctx context.Context, tx *db.Tx, id int64) (Assessment, error) {
	a, err := scan(tx.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM sla_months WHERE id = $1`+tx.ForUpdate(), id))
	if errors.Is(err, db.ErrNoRows) {
		err = errUnknown
	}
	return a, err
}

// put writes what can change of a month.
func put(ctx context.Context, tx *db.Tx, a Assessment) error {
	_, err := tx.Exec(ctx, `UPDATE sla_months SET status = $1, held = $2, note = $3, decided_at = $4 WHERE id = $5`,
		a.Status, a.Held, a.Note, a.DecidedAt, a.ID)
	return err
}

func list(ctx context.Context, q db.Querier, status Status, p page.Params) (all []Assessment, total int, err error) {
	if err = q.QueryRow(ctx, `SELECT COUNT(*) FROM sla_months WHERE status = $1`, status).Scan(&total); err != nil {
		return nil, 0, err
	}
	all, err = db.Collect(ctx, q, scan, `SELECT `+rows.Columns()+` FROM sla_months WHERE status = $1 ORDER BY id DESC LIMIT $2 OFFSET $3`,
		status, p.Limit(), p.Offset())
	return all, total, err
}

// endAccount stops closing the months of an account, and rejects what it was not given yet.
func endAccount(ctx context.Context, tx *db.Tx, accountID int64) error {
	for _, table := range []string{"sla_services", "sla_plans"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE account_id = $1`, accountID); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE sla_months SET status = 'rejected', held = FALSE, note = $1, decided_at = $2
		WHERE account_id = $3 AND status = 'proposed'`, noteClosed, tx.Now, accountID)
	return err
}
