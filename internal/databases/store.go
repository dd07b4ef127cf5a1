package databases

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/site"
)

const columns = `id, account_id, service_id, name, engine, charset, status, failure_key, revision, created_at, activated_at`

func scan(s db.Row) (r row, err error) {
	err = s.Scan(&r.id, &r.accountID, &r.serviceID, &r.name, &r.engine, &r.charset, &r.status, &r.failureKey, &r.revision,
		&r.createdAt, &r.activatedAt)
	return r, err
}

// list reads one page of the databases of an account's service.
func list(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []row, total int, err error) {
	const where = ` FROM databases WHERE service_id = $1 AND account_id = $2`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scan, `SELECT `+columns+where+` ORDER BY id LIMIT $3 OFFSET $4`, serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

// ofService reads all databases of a service.
func ofService(ctx context.Context, q db.Querier, serviceID int64) ([]row, error) {
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM databases WHERE service_id = $1 ORDER BY id`, serviceID)
}

// countOf counts the databases of a service that are not on their way out.
func countOf(ctx context.Context, q db.Querier, serviceID int64) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM databases WHERE service_id = $1 AND status <> $2`, serviceID, site.Removing).Scan(&n)
	return n, err
}

// getOwn reads a database of the account's service.
func getOwn(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (row, error) {
	r, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM databases
		WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID))
	if errors.Is(err, db.ErrNoRows) {
		return r, fault.NotFound.New()
	}
	return r, err
}

func insert(ctx context.Context, tx *db.Tx, r row) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO databases (account_id, service_id, name, engine, charset, status, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`,
		r.accountID, r.serviceID, r.name, r.engine, r.charset, site.Pending, tx.Now).Scan(&id)
	return id, err
}

// setStatus writes that the panel has to follow a change: to make it as it should be, or to end it.
func setStatus(ctx context.Context, tx *db.Tx, id int64, s site.Status) error {
	_, err := tx.Exec(ctx, `UPDATE databases SET status = $1, failure_key = NULL, revision = revision + 1 WHERE id = $2`, s, id)
	return err
}

// setActive notes that the panel has the database as r says, unless that was changed since.
func setActive(ctx context.Context, tx *db.Tx, r row) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE databases SET status = $1, failure_key = NULL, activated_at = COALESCE(activated_at, CAST($2 AS BIGINT))
		WHERE id = $3 AND revision = $4`, site.Active, tx.Now, r.id, r.revision)
	return n == 1, err
}

// setFailed notes that the panel refuses the database as r says.
func setFailed(ctx context.Context, tx *db.Tx, r row, key string) error {
	_, err := tx.Exec(ctx, `UPDATE databases SET status = $1, failure_key = $2 WHERE id = $3 AND revision = $4`,
		site.Failed, key, r.id, r.revision)
	return err
}

// remove ends the row of a database that the panel no longer has.
func remove(ctx context.Context, tx *db.Tx, r row) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM databases WHERE id = $1 AND revision = $2 AND status = $3`, r.id, r.revision, site.Removing)
	return n == 1, err
}

func removeAll(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM databases WHERE service_id = $1`, serviceID)
	return err
}
