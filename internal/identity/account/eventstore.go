package account

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

func scanEvent(r db.Row) (e Event, err error) {
	err = r.Scan(&e.ID, &e.Kind, &e.Address, &e.UserAgent, &e.Times, &e.CreatedAt, &e.LastAt)
	return e, err
}

func listEvents(ctx context.Context, q db.Querier, account int64, p page.Params) ([]Event, int, error) {
	var total int
	if err := q.QueryRow(ctx, `SELECT count(*) FROM account_security_events WHERE account_id = $1`, account).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := db.Collect(ctx, q, scanEvent, `SELECT id, kind, address, user_agent, times, created_at, last_at FROM account_security_events
		WHERE account_id = $1 ORDER BY last_at DESC, id DESC LIMIT $2 OFFSET $3`, account, p.Limit(), p.Offset())
	return rows, total, err
}

func insertEvent(ctx context.Context, tx *db.Tx, account int64, kind EventKind, c Client, times int64, first, last time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO account_security_events (account_id, kind, address, user_agent, times, created_at, last_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, account, kind, c.address(), c.userAgent(), times, first, last)
	return err
}

// mergeEvent adds failures to the row of equal ones that began less than an hour before.
func mergeEvent(ctx context.Context, tx *db.Tx, f failure, t tally) error {
	n, err := tx.Exec(ctx, `UPDATE account_security_events SET times = times + $1, last_at = $2
		WHERE account_id = $3 AND kind = $4 AND address = $5 AND user_agent = $6 AND created_at > $7`,
		t.times, t.last, f.account, f.kind, f.address, f.userAgent, t.first.Add(-time.Hour))
	if err != nil || n > 0 {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO account_security_events (account_id, kind, address, user_agent, times, created_at, last_at)
		SELECT id, $2, $3, $4, $5, $6, $7 FROM account_users WHERE id = $1 AND closed_at IS NULL`,
		f.account, f.kind, f.address, f.userAgent, t.times, t.first, t.last)
	return err
}
