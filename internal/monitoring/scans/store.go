package scans

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

var scanRows = db.Map(func(s *scan) db.Fields {
	return db.Fields{
		"id": &s.id, "account_id": &s.accountID, "service_id": &s.serviceID, "url": &s.url, "status": &s.status,
		"weekly": &s.weekly, "score": &s.score, "grade": &s.grade, "findings": db.JSON(&s.findings),
		"error_key": &s.errorKey, "started_at": &s.startedAt, "finished_at": &s.finishedAt,
	}
})

func insert(ctx context.Context, tx *db.Tx, s scan, leaseUntil time.Time) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO scans (account_id, service_id, url, status, weekly, started_at, lease_until)
		VALUES ($1, $2, $3, 'running', $4, $5, $6) RETURNING id`, s.accountID, s.serviceID, s.url, s.weekly, tx.Now, leaseUntil).Scan(&id)
	return id, err
}

// complete writes the result of a scan that is still running.
func complete(ctx context.Context, tx *db.Tx, s scan) (bool, error) {
	if s.findings == nil {
		s.findings = []Finding{}
	}
	findings, err := json.Marshal(s.findings)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `UPDATE scans SET status = $1, score = $2, grade = $3, findings = $4, open_count = $5, error_key = $6, finished_at = $7
		WHERE id = $8 AND status = 'running'`, s.status, s.score, s.grade, string(findings), len(s.opened()), s.errorKey, s.finishedAt, s.id)
	return n == 1, err
}

// previous is the last completed scan of the same site before s; false when there is none.
func previous(ctx context.Context, q db.Querier, s scan) (scan, bool, error) {
	if s.serviceID == nil {
		return scan{}, false, nil
	}
	return last(ctx, q, s.accountID, *s.serviceID)
}

// last is the last completed scan of a service; false when there is none.
func last(ctx context.Context, q db.Querier, accountID, serviceID int64) (scan, bool, error) {
	s, err := scanRows.Scan(q.QueryRow(ctx, `SELECT `+scanRows.Columns()+` FROM scans
		WHERE service_id = $1 AND account_id = $2 AND status = 'completed' ORDER BY id DESC LIMIT 1`, serviceID, accountID))
	if errors.Is(err, db.ErrNoRows) {
		return scan{}, false, nil
	}
	return s, err == nil, err
}

// point is one scan of a service in its trend.
type point struct {
	at    time.Time
	score int
	open  int
}

// trendOf are the last scans of a service, the newest first.
func trendOf(ctx context.Context, q db.Querier, accountID, serviceID int64, limit int) ([]point, error) {
	return db.Collect(ctx, q, func(row db.Row) (p point, err error) { return p, row.Scan(&p.at, &p.score, &p.open) },
		`SELECT finished_at, score, open_count FROM scans WHERE service_id = $1 AND account_id = $2 AND status = 'completed'
		ORDER BY id DESC LIMIT $3`, serviceID, accountID, limit)
}

const expiring = `UPDATE scans SET status = 'failed', error_key = $1, finished_at = $2 WHERE status = 'running' AND lease_until < $2`

func expire(ctx context.Context, tx *db.Tx, accountID int64, key string) ([]scan, error) {
	return db.Collect(ctx, tx, scanRows.Scan, expiring+` AND account_id = $3 RETURNING `+scanRows.Columns(), key, tx.Now, accountID)
}

func expireAll(ctx context.Context, tx *db.Tx, key string) ([]scan, error) {
	return db.Collect(ctx, tx, scanRows.Scan, expiring+` AND id IN (SELECT id FROM scans WHERE status = 'running' AND lease_until < $2 ORDER BY lease_until LIMIT 500)
		RETURNING `+scanRows.Columns(), key, tx.Now)
}

func listOf(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) ([]scan, error) {
	if serviceID != 0 {
		return db.Collect(ctx, q, scanRows.Scan, `SELECT `+scanRows.Columns()+` FROM scans WHERE service_id = $1 AND account_id = $2 ORDER BY id DESC LIMIT $3 OFFSET $4`,
			serviceID, accountID, p.Limit(), p.Offset())
	}
	return db.Collect(ctx, q, scanRows.Scan, `SELECT `+scanRows.Columns()+` FROM scans WHERE account_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3`,
		accountID, p.Limit(), p.Offset())
}

func countOf(ctx context.Context, q db.Querier, accountID, serviceID int64) (n int, err error) {
	if serviceID != 0 {
		err = q.QueryRow(ctx, `SELECT count(*) FROM scans WHERE service_id = $1 AND account_id = $2`, serviceID, accountID).Scan(&n)
		return n, err
	}
	err = q.QueryRow(ctx, `SELECT count(*) FROM scans WHERE account_id = $1`, accountID).Scan(&n)
	return n, err
}

func removeOf(ctx context.Context, tx *db.Tx, accountID int64) error {
	if err := weekly.RemoveOf(ctx, tx, accountID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM scans WHERE account_id = $1`, accountID)
	return err
}

func removeOld(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM scans WHERE id IN (SELECT id FROM scans WHERE started_at < $1 ORDER BY started_at LIMIT $2)`, before, limit)
}
