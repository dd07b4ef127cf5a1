package orders

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// Due ends the orders of an account that were not paid in time. Nothing of it is ever left to do.
func (s *Service) Due(ctx context.Context, accountID int64) (busy bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		leave, err := s.Clocks.Enter(ctx, tx, accountID)
		if err != nil {
			return err
		}
		defer leave()
		ids, err := db.Collect(ctx, tx, func(row db.Row) (id int64, err error) {
			err = row.Scan(&id)
			return id, err
		}, `SELECT id FROM orders WHERE account_id = $1 AND status = 'pending' AND expires_at <= $2 ORDER BY id`, accountID, tx.Now)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := s.expire(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("orders: expire those of %d: %w", accountID, err)
	}
	return false, nil
}

// Next is when an order of the account expires for the first time after t; the zero time when none does.
func (s *Service) Next(ctx context.Context, q db.Querier, accountID int64, t time.Time) (time.Time, error) {
	var first *time.Time
	err := q.QueryRow(ctx, `SELECT MIN(expires_at) FROM orders WHERE account_id = $1 AND status = 'pending' AND expires_at > $2`,
		accountID, t).Scan(&first)
	if err != nil || first == nil {
		return time.Time{}, err
	}
	return *first, nil
}
