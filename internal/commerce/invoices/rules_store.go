package invoices

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// rulesVersions reads the versions of the tax rules in the order in which they begin.
func rulesVersions(ctx context.Context, q db.Querier) ([]RulesVersion, error) {
	return db.Collect(ctx, q, func(r db.Row) (v RulesVersion, err error) {
		err = r.Scan(&v.ID, &v.File, &v.ValidFrom, &v.CreatedAt)
		return v, err
	}, `SELECT id, file, valid_from, created_at FROM invoices_tax_rules ORDER BY valid_from, id`)
}

func insertRules(ctx context.Context, tx *db.Tx, file string, from time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO invoices_tax_rules (file, valid_from, created_at) VALUES ($1, $2, $3)`, file, from, tx.Now)
	return err
}

// countAhead counts the versions that have not begun.
func countAhead(ctx context.Context, tx *db.Tx) (n int, err error) {
	err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM invoices_tax_rules WHERE valid_from > $1`, tx.Now).Scan(&n)
	return n, err
}

// deleteAhead removes a version that has not begun.
func deleteAhead(ctx context.Context, tx *db.Tx, id int64) (found bool, err error) {
	n, err := tx.Exec(ctx, `DELETE FROM invoices_tax_rules WHERE id = $1 AND valid_from > $2`, id, tx.Now)
	return n == 1, err
}
