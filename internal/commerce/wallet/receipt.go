package wallet

import (
	"context"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
)

// Receipt is what there is to confirm of a top-up that succeeded once.
func (s *Service) Receipt(ctx context.Context, q db.Querier, topupID int64) (sale.Receipt, error) {
	t, err := topupRows.Scan(q.QueryRow(ctx, selectTopup+` WHERE id = $1 AND status IN ('succeeded', 'refunded', 'charged_back')`, topupID))
	return sale.Receipt{AccountID: t.AccountID, Gateway: t.Gateway, Amount: t.Amount, Fee: t.Fee, TakenBack: t.TakenBack}, err
}
