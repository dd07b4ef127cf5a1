// Package hold keeps a restored installation from acting before an operator has looked at it. What has happened since the
// backup is unknown to its database: payments that were made, accounts that were removed, domains that were renewed. On hold
// the servers answer what is read and nothing else; they work no jobs, send nothing and charge nobody.
//
// Ids that were given since the backup are known outside: machines name accounts by the ids of services, gateways payments by those of
// top-ups, customers their orders. So a restored database gives none of them again.
package hold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// Hold says what an installation was restored from.
type Hold struct {
	Archive    string    `json:"archive"`
	MadeAt     time.Time `json:"made_at"` // the moment of what is in the database
	RestoredAt time.Time `json:"restored_at"`
}

// Look returns the hold; held is false where there is none.
func Look(ctx context.Context, q db.Querier) (h Hold, held bool, err error) {
	err = q.QueryRow(ctx, `SELECT archive, made_at, restored_at FROM hold_restored WHERE id = 1`).Scan(&h.Archive, &h.MadeAt, &h.RestoredAt)
	if errors.Is(err, db.ErrNoRows) {
		return h, false, nil
	}
	if err != nil {
		return h, false, fmt.Errorf("hold: %w", err)
	}
	return h, true, nil
}

// idGap is more ids than a table gives between a backup and the restore.
const idGap = 10_000_000

// Put puts a restored database on hold, and has the next ids of all tables begin behind those that were given since the backup.
func Put(ctx context.Context, tx *db.Tx, archive string, madeAt time.Time) error {
	if err := db.AdvanceIDs(ctx, tx, idGap); err != nil {
		return fmt.Errorf("hold: ids: %w", err)
	}
	_, err := tx.Exec(ctx, `INSERT INTO hold_restored (id, archive, made_at, restored_at) VALUES (1, $1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET archive = excluded.archive, made_at = excluded.made_at, restored_at = excluded.restored_at`,
		archive, madeAt, tx.Now)
	if err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	return nil
}

// Release lets the servers work again; they notice within a second.
func Release(ctx context.Context, tx *db.Tx) error {
	if _, err := tx.Exec(ctx, `DELETE FROM hold_restored WHERE id = 1`); err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	return nil
}
