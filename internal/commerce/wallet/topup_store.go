package wallet

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

var topupRows = db.Map(func(t *topup) db.Fields {
	return db.Fields{
		"id": &t.ID, "account_id": &t.AccountID, "gateway": &t.Gateway, "amount": &t.Amount, "fee": &t.Fee, "status": &t.Status,
		"token_hash": &t.TokenHash, "token_sealed": &t.TokenSealed, "language": &t.Language, "return_url": &t.ReturnURL,
		"redirect_url": &t.RedirectURL, "gateway_reference": &t.Reference, "gateway_payment": &t.Payment, "failure_key": &t.FailureKey,
		"taken_back": &t.TakenBack, "created_at": &t.CreatedAt, "expires_at": &t.ExpiresAt, "completed_at": &t.CompletedAt,
		"automatic": &t.Automatic, "method": &t.Method, "save_method": &t.Save,
	}
})

var selectTopup = `SELECT ` + topupRows.Columns() + ` FROM wallet_topups`

func findTopup(ctx context.Context, q db.Querier, accountID, id int64) (topup, error) {
	return topupRows.Scan(q.QueryRow(ctx, selectTopup+` WHERE id = $1 AND account_id = $2`, id, accountID))
}

func findTopupByToken(ctx context.Context, q db.Querier, hash []byte) (topup, error) {
	return topupRows.Scan(q.QueryRow(ctx, selectTopup+` WHERE token_hash = $1`, hash))
}

func lockTopup(ctx context.Context, tx *db.Tx, gatewayKey string, id int64) (topup, error) {
	return topupRows.Scan(tx.QueryRow(ctx, selectTopup+` WHERE id = $1 AND gateway = $2`+tx.ForUpdate(), id, gatewayKey))
}

func lockTopupByPayment(ctx context.Context, tx *db.Tx, gatewayKey, payment string) (topup, error) {
	return topupRows.Scan(tx.QueryRow(ctx, selectTopup+` WHERE gateway = $1 AND gateway_payment = $2`+tx.ForUpdate(), gatewayKey, payment))
}

func putTopup(ctx context.Context, tx *db.Tx, t topup) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO wallet_topups
			(account_id, gateway, amount, fee, status, token_hash, token_sealed, language, return_url, created_at, expires_at,
			automatic, method, save_method)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id`,
		t.AccountID, t.Gateway, int64(t.Amount), int64(t.Fee), string(t.Status), t.TokenHash, t.TokenSealed, t.Language,
		t.ReturnURL, t.CreatedAt, t.ExpiresAt, t.Automatic, t.Method, t.Save).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("wallet: write top-up: %w", err)
	}
	return id, nil
}

// saveTopup writes the members that change in a top-up's life.
func saveTopup(ctx context.Context, tx *db.Tx, t topup) error {
	_, err := tx.Exec(ctx, `UPDATE wallet_topups SET status = $1, redirect_url = $2, gateway_reference = $3,
			gateway_payment = $4, failure_key = $5, taken_back = $6, expires_at = $7, completed_at = $8
		WHERE id = $9 AND account_id = $10`,
		string(t.Status), t.RedirectURL, t.Reference, t.Payment, t.FailureKey, int64(t.TakenBack), t.ExpiresAt, t.CompletedAt,
		t.ID, t.AccountID)
	if err != nil {
		return fmt.Errorf("wallet: save top-up %d: %w", t.ID, err)
	}
	return nil
}

// countUnpaid counts the top-ups of an account that wait for their money, and those begun since a moment that got none.
func countUnpaid(ctx context.Context, q db.Querier, accountID int64, since time.Time) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM wallet_topups WHERE account_id = $1 AND (status IN ('pending', 'processing')
		OR status IN ('failed', 'cancelled', 'expired') AND created_at > $2)`, accountID, since).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("wallet: count unpaid top-ups: %w", err)
	}
	return n, nil
}

// refundedOf is how much of a top-up its gateway has refunded so far.
func refundedOf(ctx context.Context, q db.Querier, topupID int64) (sum money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(p.amount), 0) AS BIGINT) FROM wallet_transactions w
		JOIN wallet_postings p ON p.transaction_id = w.id JOIN wallet_ledger_accounts a ON a.id = p.ledger_account_id
		WHERE w.reference_type = 'topup' AND w.reference_id = $1 AND w.type = $2 AND a.kind = $3`,
		topupID, string(TypeReversal), string(clearing)).Scan(&sum)
	if err != nil {
		return 0, fmt.Errorf("wallet: sum the refunds of top-up %d: %w", topupID, err)
	}
	return sum, nil
}

// dueTopups are unpaid ones whose time is over. Automatic ones end with the job that
// knows whether they were paid.
func dueTopups(ctx context.Context, tx *db.Tx, limit int) ([]topup, error) {
	return db.Collect(ctx, tx, topupRows.Scan, dueTopupsQuery+tx.ForUpdate(), tx.Now, limit)
}

var dueTopupsQuery = selectTopup + ` WHERE status IN ('pending', 'processing') AND expires_at <= $1 AND NOT automatic
	ORDER BY expires_at, id LIMIT $2`

// inFlight tells whether a gateway is working on a payment of the account.
func inFlight(ctx context.Context, q db.Querier, accountID int64) (found bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM wallet_topups WHERE account_id = $1 AND status = 'processing')`, accountID).Scan(&found)
	return found, err
}
