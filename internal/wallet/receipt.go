package wallet

import (
	"context"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Receipt is what there is to confirm of a top-up.
type Receipt struct {
	AccountID   int64
	Gateway     string
	Amount, Fee money.USDCents
	// TakenBack is what the gateway took back of both.
	TakenBack money.USDCents
}

// Receipt is what there is to confirm of a top-up that succeeded once.
func (s *Service) Receipt(ctx context.Context, q db.Querier, topupID int64) (Receipt, error) {
	t, err := scanTopup(q.QueryRow(ctx, selectTopup+` WHERE id = $1 AND status IN ('succeeded', 'refunded', 'charged_back')`, topupID))
	return Receipt{AccountID: t.AccountID, Gateway: t.Gateway, Amount: t.Amount, Fee: t.Fee, TakenBack: t.TakenBack}, err
}
