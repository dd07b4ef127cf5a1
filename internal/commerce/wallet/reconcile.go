package wallet

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/platform/db"
)

// Difference is something in the books that does not add up.
type Difference struct {
	// Kind: balance (a ledger account's balance is not the sum of its postings),
	// transaction (one that does not sum to zero), chain (a posting whose
	// balance_after does not follow from the one before), debt (a customer in
	// debt with money to spend), topup (paid without its transaction, or the
	// other way round), held (a customer for whom another sum is held than that of
	// the charges that were neither captured nor given back), world (a posting of
	// play money to the company's books of real money, or the other way round).
	Kind string `json:"kind"`
	// ID of the ledger account, the transaction, the posting, the account or the
	// top-up.
	ID       int64 `json:"id"`
	Recorded int64 `json:"recorded"`
	Computed int64 `json:"computed"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s %d: recorded %d, computed %d", d.Kind, d.ID, d.Recorded, d.Computed)
}

// Recompute compares the books with what follows from the postings and reports
// every difference; none is the only good answer. It changes nothing. `stead
// doctor` and a nightly job call it. All is read in one statement, so that
// movements meanwhile do not look like differences.
func (s *Service) Recompute(ctx context.Context) ([]Difference, error) {
	found, err := db.Collect(ctx, s.DB, func(r db.Row) (d Difference, err error) {
		err = r.Scan(&d.Kind, &d.ID, &d.Recorded, &d.Computed)
		return d, err
	}, `
WITH sums AS (
	SELECT a.id, a.balance, COALESCE(SUM(p.amount), 0) AS total
	FROM wallet_ledger_accounts a LEFT JOIN wallet_postings p ON p.ledger_account_id = a.id
	GROUP BY a.id, a.balance
), chain AS (
	SELECT p.id, p.balance_after,
		SUM(p.amount) OVER (PARTITION BY p.ledger_account_id ORDER BY p.id) AS running
	FROM wallet_postings p
), open_charges AS (
	SELECT c.account_id, -SUM(c.amount) AS total FROM wallet_transactions c
	WHERE c.type = 'charge' AND NOT EXISTS (SELECT 1 FROM wallet_transactions e
		WHERE e.reference_type = c.reference_type AND e.reference_id = c.reference_id AND e.type IN ('capture', 'refund'))
	GROUP BY c.account_id
), credits AS (
	SELECT t.id, CASE WHEN t.status IN ('succeeded', 'refunded', 'charged_back') THEN t.amount ELSE 0 END AS recorded,
		COALESCE(w.amount, 0) AS computed
	FROM wallet_topups t
	LEFT JOIN wallet_transactions w ON w.reference_type = 'topup' AND w.reference_id = t.id AND w.type = 'topup'
)
SELECT 'balance', id, balance, CAST(total AS BIGINT) FROM sums WHERE balance IS NOT NULL AND balance <> total
UNION ALL
SELECT 'transaction', transaction_id, 0, CAST(SUM(amount) AS BIGINT) FROM wallet_postings
	GROUP BY transaction_id HAVING SUM(amount) <> 0
UNION ALL
SELECT 'chain', id, balance_after, CAST(running AS BIGINT) FROM chain WHERE balance_after IS NOT NULL AND balance_after <> running
UNION ALL
SELECT 'debt', c.owner_id, c.balance, d.balance FROM wallet_ledger_accounts c
	JOIN wallet_ledger_accounts d ON d.owner_id = c.owner_id AND d.kind = 'debt'
	WHERE c.kind = 'customer' AND c.balance > 0 AND d.balance < 0
UNION ALL
SELECT 'topup', id, recorded, computed FROM credits WHERE recorded <> computed
UNION ALL
SELECT 'held', h.owner_id, h.balance, CAST(COALESCE(o.total, 0) AS BIGINT) FROM wallet_ledger_accounts h
	LEFT JOIN open_charges o ON o.account_id = h.owner_id
	WHERE h.kind = 'held' AND h.balance <> COALESCE(o.total, 0)
UNION ALL
SELECT 'world', p.id, 0, p.amount FROM wallet_postings p
	JOIN wallet_ledger_accounts a ON a.id = p.ledger_account_id AND a.owner_id = 0
	JOIN wallet_transactions w ON w.id = p.transaction_id
	LEFT JOIN wallet_sandboxes s ON s.account_id = w.account_id
	WHERE (s.account_id IS NOT NULL) <> (a.name LIKE 'sandbox:%')
ORDER BY 1, 2`)
	if err != nil {
		return nil, fmt.Errorf("wallet: recompute: %w", err)
	}
	return found, nil
}
