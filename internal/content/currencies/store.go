package currencies

import (
	"context"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// allRates reads the rates in the order of their currencies.
func allRates(ctx context.Context, q db.Querier) ([]Rate, error) {
	return db.Collect(ctx, q, func(row db.Row) (r Rate, err error) {
		err = row.Scan(&r.Currency, &r.PerUSD, &r.On, &r.Source)
		return r, err
	}, `SELECT currency, micros, rated_at, source FROM currencies_rates ORDER BY currency`)
}

func saveRate(ctx context.Context, tx *db.Tx, r Rate) error {
	_, err := tx.Exec(ctx, `INSERT INTO currencies_rates (currency, micros, rated_at, source, updated_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (currency) DO UPDATE SET micros = excluded.micros, rated_at = excluded.rated_at, source = excluded.source,
			updated_at = excluded.updated_at`, string(r.Currency), int64(r.PerUSD), r.On, r.Source, tx.Now)
	return err
}

func deleteRate(ctx context.Context, tx *db.Tx, c money.Currency) (found bool, err error) {
	n, err := tx.Exec(ctx, `DELETE FROM currencies_rates WHERE currency = $1`, string(c))
	return n > 0, err
}
