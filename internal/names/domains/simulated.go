package domains

import (
	"context"
	"errors"

	"stead.dev/stead/internal/platform/db"
)

// Simulated stores the content of a simulated registry in the database, shared by all processes.
type Simulated struct {
	DB   *db.DB
	Name string
}

// Begin initializes the registry's content, unless it has one.
func (s Simulated) Begin(ctx context.Context, content []byte) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return insertSimulated(ctx, tx, s.Name, content) })
}

// Keep passes the stored content to f, and stores what f returns.
func (s Simulated) Keep(ctx context.Context, f func(revision int64, content []byte) (next []byte)) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		revision, content, err := lockSimulated(ctx, tx, s.Name)
		if errors.Is(err, db.ErrNoRows) {
			if err = insertSimulated(ctx, tx, s.Name, nil); err == nil {
				revision, content, err = lockSimulated(ctx, tx, s.Name)
			}
		}
		if err != nil {
			return err
		}
		next := f(revision, content)
		if next == nil {
			return nil
		}
		_, err = tx.Exec(ctx, `UPDATE domains_simulated SET revision = revision + 1, content = $1 WHERE name = $2`, string(next), s.Name)
		return err
	})
}

func insertSimulated(ctx context.Context, tx *db.Tx, name string, content []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO domains_simulated (name, revision, content) VALUES ($1, 1, $2) ON CONFLICT (name) DO NOTHING`, name, string(content))
	return err
}

func lockSimulated(ctx context.Context, tx *db.Tx, name string) (revision int64, content []byte, err error) {
	var text string
	err = tx.QueryRow(ctx, `SELECT revision, content FROM domains_simulated WHERE name = $1`+tx.ForUpdate(), name).Scan(&revision, &text)
	return revision, []byte(text), err
}
