package exports

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

var rows = db.Map(func(a *Archive) db.Fields {
	return db.Fields{
		"id": &a.ID, "account_id": &a.AccountID, "status": &a.Status, "attempt": &a.attempt, "done": &a.done, "steps": &a.steps,
		"size": &a.Size, "requested_at": &a.RequestedAt, "ready_at": &a.ReadyAt, "expires_at": &a.ExpiresAt,
	}
})

// ofAccount reads the archive of an account, or returns fault.NotFound.
func ofAccount(ctx context.Context, q db.Querier, accountID int64) (Archive, error) {
	a, err := rows.Scan(q.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM exports WHERE account_id = $1`, accountID))
	if errors.Is(err, db.ErrNoRows) {
		return a, fault.NotFound.New()
	}
	return a, err
}

// insert adds a pending archive; fault.JobRunning when another request has done so meanwhile.
func insert(ctx context.Context, tx *db.Tx, accountID int64) (Archive, error) {
	a, err := rows.Scan(tx.QueryRow(ctx, `INSERT INTO exports (account_id, status, attempt, done, steps, size, requested_at, expires_at)
		VALUES ($1, $2, 0, 0, 0, 0, $3, $4) ON CONFLICT (account_id) DO NOTHING RETURNING `+rows.Columns(), accountID, Pending, tx.Now, tx.Now.Add(keep)))
	if errors.Is(err, db.ErrNoRows) {
		return a, fault.JobRunning.New()
	}
	return a, err
}

// begin starts an attempt; false when the archive is not pending any more.
func begin(ctx context.Context, tx *db.Tx, id int64, steps int) (a Archive, ok bool, err error) {
	a, err = rows.Scan(tx.QueryRow(ctx, `UPDATE exports SET attempt = attempt + 1, done = 0, steps = $1 WHERE id = $2 AND status = $3
		RETURNING `+rows.Columns(), steps, id, Pending))
	if errors.Is(err, db.ErrNoRows) {
		return a, false, nil
	}
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM exports_parts WHERE export_id = $1`, id)
	}
	return a, true, err
}

// progress notes how many steps of an attempt are done; false when it was overtaken.
func progress(ctx context.Context, tx *db.Tx, a Archive, done int) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE exports SET done = $1 WHERE id = $2 AND attempt = $3 AND status = $4`, done, a.ID, a.attempt, Pending)
	return n > 0, err
}

// current reports whether an attempt was not overtaken, and locks the archive.
func current(ctx context.Context, tx *db.Tx, a Archive) (found bool, err error) {
	var attempt int64
	err = tx.QueryRow(ctx, `SELECT attempt FROM exports WHERE id = $1 AND status = $2`+tx.ForUpdate(), a.ID, Pending).Scan(&attempt)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return attempt == a.attempt, err
}

func insertPart(ctx context.Context, tx *db.Tx, id, number int64, content []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO exports_parts (export_id, number, content) VALUES ($1, $2, $3)`, id, number, content)
	return err
}

// part reads one part of an archive of an account; false behind the last.
func part(ctx context.Context, q db.Querier, accountID, id, number int64) (content []byte, ok bool, err error) {
	err = q.QueryRow(ctx, `SELECT p.content FROM exports_parts p JOIN exports e ON e.id = p.export_id
		WHERE e.account_id = $1 AND p.export_id = $2 AND p.number = $3`, accountID, id, number).Scan(&content)
	if errors.Is(err, db.ErrNoRows) {
		return nil, false, nil
	}
	return content, true, err
}

// finish makes a pending archive ready, to be removed when expires.
func finish(ctx context.Context, tx *db.Tx, a Archive, size int64, expires time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE exports SET status = $1, size = $2, ready_at = $3, expires_at = $4 WHERE id = $5`, Ready, size, tx.Now, expires, a.ID)
	return err
}

// fail ends a pending archive without a file.
func fail(ctx context.Context, tx *db.Tx, id int64) error {
	n, err := tx.Exec(ctx, `UPDATE exports SET status = $1 WHERE id = $2 AND status = $3`, Failed, id, Pending)
	if err == nil && n > 0 {
		_, err = tx.Exec(ctx, `DELETE FROM exports_parts WHERE export_id = $1`, id)
	}
	return err
}

// remove deletes the archive of an account, with its parts; false when there is none.
func remove(ctx context.Context, tx *db.Tx, accountID int64) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM exports WHERE account_id = $1`, accountID)
	return n > 0, err
}

// clean deletes what has expired, and gives up what has been pending for too long.
func clean(ctx context.Context, tx *db.Tx) error {
	if _, err := tx.Exec(ctx, `DELETE FROM exports WHERE expires_at <= $1`, tx.Now); err != nil {
		return err
	}
	late, err := db.Collect(ctx, tx, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) },
		`SELECT id FROM exports WHERE status = $1 AND requested_at < $2`, Pending, tx.Now.Add(-mostPending))
	for _, id := range late {
		err = errors.Join(err, fail(ctx, tx, id))
	}
	return err
}
