package account

import (
	"context"

	"stead.dev/stead/internal/platform/db"
)

// open is the condition that an account is of the live world and not closed.
const open = `sandbox_of IS NULL AND closed_at IS NULL`

func scanID(r db.Row) (id int64, err error) {
	err = r.Scan(&id)
	return id, err
}

// OpenAfter lists the open accounts of the live world behind one, in the order of their ids.
func (s *Service) OpenAfter(ctx context.Context, q db.Querier, after int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, scanID, `SELECT id FROM account_users WHERE id > $1 AND `+open+` ORDER BY id LIMIT $2`, after, limit)
}

// CountOpen counts the open accounts of the live world.
func (s *Service) CountOpen(ctx context.Context, q db.Querier) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM account_users WHERE `+open).Scan(&n)
	return n, err
}

// OpenOf keeps those of some accounts that are open and of the live world, in the order of their ids.
func (s *Service) OpenOf(ctx context.Context, q db.Querier, ids []int64) ([]int64, error) {
	in, args := db.In(q, 1, ids)
	return db.Collect(ctx, q, scanID, `SELECT id FROM account_users WHERE id `+in+` AND `+open+` ORDER BY id`, args...)
}
