package cron

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/site"
)

const columns = `id, account_id, service_id, expression, timezone, command, enabled, overlap, timeout_seconds, status, failure_key,
	revision, created_at`

func scan(s db.Row) (r row, err error) {
	err = s.Scan(&r.id, &r.accountID, &r.serviceID, &r.expression, &r.timezone, &r.command, &r.enabled, &r.overlap, &r.timeoutSeconds,
		&r.status, &r.failureKey, &r.revision, &r.createdAt)
	return r, err
}

// list reads one page of the jobs of an account's service.
func list(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []row, total int, err error) {
	const where = ` FROM cron_jobs WHERE service_id = $1 AND account_id = $2 AND status <> $3`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, serviceID, accountID, site.Removing).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scan, `SELECT `+columns+where+` ORDER BY id LIMIT $4 OFFSET $5`,
		serviceID, accountID, site.Removing, p.Limit(), p.Offset())
	return rows, total, err
}

// ofService reads all jobs of a service.
func ofService(ctx context.Context, q db.Querier, serviceID int64) ([]row, error) {
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM cron_jobs WHERE service_id = $1 ORDER BY id`, serviceID)
}

// countOf counts the jobs of a service that are not on their way out.
func countOf(ctx context.Context, q db.Querier, serviceID int64) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM cron_jobs WHERE service_id = $1 AND status <> $2`, serviceID, site.Removing).Scan(&n)
	return n, err
}

// getOwn reads a job of the account's service. One that is on its way out is gone already for whoever
// asks: nothing of it is left to change.
func getOwn(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (row, error) {
	r, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM cron_jobs
		WHERE id = $1 AND service_id = $2 AND account_id = $3 AND status <> $4`, id, serviceID, accountID, site.Removing))
	if errors.Is(err, db.ErrNoRows) {
		return r, fault.NotFound.New()
	}
	return r, err
}

func insert(ctx context.Context, tx *db.Tx, accountID, serviceID int64, w wish) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO cron_jobs
			(account_id, service_id, expression, timezone, command, enabled, overlap, timeout_seconds, status, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
		accountID, serviceID, w.expression, w.timezone, w.command, w.enabled, w.overlap, w.timeoutSeconds, site.Pending, tx.Now).Scan(&id)
	return id, err
}

// setWish writes what should be; the panel has to follow.
func setWish(ctx context.Context, tx *db.Tx, id int64, w wish) error {
	_, err := tx.Exec(ctx, `UPDATE cron_jobs SET expression = $1, timezone = $2, command = $3, enabled = $4, overlap = $5,
			timeout_seconds = $6, status = $7, failure_key = NULL, revision = revision + 1 WHERE id = $8`,
		w.expression, w.timezone, w.command, w.enabled, w.overlap, w.timeoutSeconds, site.Pending, id)
	return err
}

func setRemoving(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE cron_jobs SET status = $1, failure_key = NULL, revision = revision + 1 WHERE id = $2`, site.Removing, id)
	return err
}

// setStatus notes what the panel made of the job as r says, unless that was changed since.
func setStatus(ctx context.Context, tx *db.Tx, r row, s site.Status, key *string) error {
	_, err := tx.Exec(ctx, `UPDATE cron_jobs SET status = $1, failure_key = $2 WHERE id = $3 AND revision = $4`, s, key, r.id, r.revision)
	return err
}

// remove ends the row of a job that the panel no longer has.
func remove(ctx context.Context, tx *db.Tx, r row) error {
	_, err := tx.Exec(ctx, `DELETE FROM cron_jobs WHERE id = $1 AND revision = $2 AND status = $3`, r.id, r.revision, site.Removing)
	return err
}

func removeAll(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM cron_jobs WHERE service_id = $1`, serviceID)
	return err
}
