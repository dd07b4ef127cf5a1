package clocks

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// get reads a clock. It returns the zero row for an account whose clock was never moved.
func get(ctx context.Context, q db.Querier, accountID int64, lock string) (r row, err error) {
	err = q.QueryRow(ctx, `SELECT at, target, waiting_since FROM clocks_accounts WHERE account_id = $1`+lock, accountID).
		Scan(&r.at, &r.target, &r.waitingSince)
	if errors.Is(err, db.ErrNoRows) {
		return row{}, nil
	}
	return r, err
}

func put(ctx context.Context, tx *db.Tx, accountID int64, r row) error {
	_, err := tx.Exec(ctx, `INSERT INTO clocks_accounts (account_id, at, target, waiting_since) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account_id) DO UPDATE SET at = excluded.at, target = excluded.target, waiting_since = excluded.waiting_since`,
		accountID, r.at, r.target, r.waitingSince)
	return err
}

func remove(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM clocks_accounts WHERE account_id = $1`, accountID)
	return err
}

// ahead lists the clocks that stand ahead. It leaves out those that are on their way: their job does what is due.
func ahead(ctx context.Context, q db.Querier, now time.Time) (map[int64]time.Time, error) {
	type clocked struct {
		accountID int64
		at        time.Time
	}
	found, err := db.Collect(ctx, q, func(r db.Row) (c clocked, err error) {
		err = r.Scan(&c.accountID, &c.at)
		return c, err
	}, `SELECT account_id, at FROM clocks_accounts WHERE at > $1 AND target IS NULL`, now)
	all := make(map[int64]time.Time, len(found))
	for _, c := range found {
		all[c.accountID] = c.at
	}
	return all, err
}

// moving lists the accounts whose clocks are on their way.
func moving(ctx context.Context, q db.Querier) ([]int64, error) {
	return db.Collect(ctx, q, func(r db.Row) (id int64, err error) {
		err = r.Scan(&id)
		return id, err
	}, `SELECT account_id FROM clocks_accounts WHERE target IS NOT NULL ORDER BY account_id`)
}
