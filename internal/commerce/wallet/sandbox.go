package wallet

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// isSandbox tells whether the money of an account is play money.
func isSandbox(ctx context.Context, q db.Querier, accountID int64) (found bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM wallet_sandboxes WHERE account_id = $1)`, accountID).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("wallet: the world of %d: %w", accountID, err)
	}
	return found, nil
}

// OpenSandbox makes the wallet of an account one of play money, and puts an amount of it
// in. It is called before the account has had any money; repeated it does nothing.
func (s *Service) OpenSandbox(ctx context.Context, tx *db.Tx, accountID int64, amount money.USDCents) error {
	n, err := tx.Exec(ctx, `INSERT INTO wallet_sandboxes (account_id) VALUES ($1) ON CONFLICT (account_id) DO NOTHING`, accountID)
	if err != nil || n == 0 {
		return err
	}
	p, err := s.lock(ctx, tx, accountID)
	if err != nil {
		return err
	}
	if p.balance(customer) != 0 || p.balance(held) != 0 || p.balance(debt) != 0 {
		return fmt.Errorf("wallet: account %d has money that is not play money", accountID)
	}
	return s.Credit(ctx, tx, Credit{AccountID: accountID, Amount: amount, Type: TypeBonus, Actor: "system"})
}
