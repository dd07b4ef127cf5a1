package wallet

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Spent is what an account paid from one moment to another for what it bought, less what came back of it.
func (s *Service) Spent(ctx context.Context, q db.Querier, accountID int64, from, to time.Time) (money.USDCents, error) {
	return spent(ctx, q, ` AND created_at >= $2 AND created_at < $3`, accountID, from, to)
}

// SpentFor is what an account ever paid for what a reseller gave the tag, less what came back of it.
func (s *Service) SpentFor(ctx context.Context, q db.Querier, accountID int64, clientRef string) (money.USDCents, error) {
	return spent(ctx, q, ` AND client_ref = $2`, accountID, clientRef)
}

func spent(ctx context.Context, q db.Querier, and string, args ...any) (sum money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(-SUM(amount), 0) AS BIGINT) FROM wallet_transactions
		WHERE account_id = $1 AND type <> 'capture' AND type IN ('charge', 'refund')`+and, args...).Scan(&sum)
	if err != nil {
		return 0, fmt.Errorf("wallet: sum what %v spent: %w", args[0], err)
	}
	return sum, nil
}
