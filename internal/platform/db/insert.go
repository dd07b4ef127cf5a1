package db

import (
	"context"
	"errors"
	"slices"
)

// Inserted completes an INSERT with its rows, and returns their ids in the order of the rows.
func Inserted(ctx context.Context, tx *Tx, insert string, rows *Values) ([]int64, error) {
	table, args := rows.Table(tx)
	ids, err := Collect(ctx, tx, func(row Row) (id int64, err error) { return id, row.Scan(&id) }, insert+" "+table+" RETURNING id", args...)
	slices.Sort(ids) // they are given in the order of the rows, but not returned so
	return ids, err
}

// NextIDs takes the next n ids of a table, for rows that are written with them later in tx. As after an INSERT that is
// undone, nobody has an id that was taken for nothing.
func NextIDs(ctx context.Context, tx *Tx, table string, n int) ([]int64, error) {
	if tx.Engine() == "postgres" {
		ids, err := Collect(ctx, tx, func(row Row) (id int64, err error) { return id, row.Scan(&id) },
			`SELECT nextval(pg_get_serial_sequence($1, 'id')) FROM generate_series(1, $2)`, table, n)
		slices.Sort(ids)
		return ids, err
	}
	last := int64(n)
	err := tx.QueryRow(ctx, `UPDATE sqlite_sequence SET seq = seq + $1 WHERE name = $2 RETURNING seq`, n, table).Scan(&last)
	if errors.Is(err, ErrNoRows) { // the table never had a row
		_, err = tx.Exec(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)`, table, last)
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = last - int64(n-1-i)
	}
	return ids, err
}

// AdvanceIDs leaves a gap before the next id of every table, also of those that never had a row. On PostgreSQL the gap stays when tx is
// undone.
func AdvanceIDs(ctx context.Context, tx *Tx, gap int64) error {
	if tx.Engine() == "postgres" {
		_, err := tx.Exec(ctx, `SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, COALESCE(last_value, start_value) + $1)
			FROM pg_sequences WHERE schemaname = current_schema()`, gap)
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO sqlite_sequence (name, seq)
		SELECT name, 0 FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' AND name NOT IN (SELECT name FROM sqlite_sequence)`)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE sqlite_sequence SET seq = seq + $1`, gap)
	}
	return err
}
