package controlbackup

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// keepRecords is how long it is known that a backup was made.
const keepRecords = 90 * 24 * time.Hour

// recordGood notes a backup that was read back.
func recordGood(ctx context.Context, d *db.DB, c Sidecar) error {
	err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		var proven *time.Time
		if c.Proven {
			proven = &tx.Now
		}
		if _, err := tx.Exec(ctx, `INSERT INTO controlbackup_archives (archive, bytes, made_at, good_at, proven_at) VALUES ($1, $2, $3, $4, $5)`,
			c.Archive, c.Size, c.MadeAt, tx.Now, proven); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM controlbackup_archives WHERE good_at < $1 AND archive <> $2
			AND archive NOT IN (SELECT archive FROM controlbackup_archives WHERE proven_at IS NOT NULL ORDER BY proven_at DESC LIMIT 1)`,
			tx.Now.Add(-keepRecords), c.Archive)
		return err
	})
	if err != nil {
		return fmt.Errorf("note the backup %s, which is good: %w", c.Archive, err)
	}
	return nil
}

// recordProven notes that an archive was restored into a scratch database. One that the database does not know is another's,
// or older than its records.
func recordProven(ctx context.Context, d *db.DB, archive string) error {
	return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE controlbackup_archives SET proven_at = $1 WHERE archive = $2`, tx.Now, archive)
		return err
	})
}

// Last tells when the last good backup was made, and when the last proven one was proven; zero times where there is none.
func Last(ctx context.Context, q db.Querier) (good, proven time.Time, err error) {
	var g, p *time.Time
	err = q.QueryRow(ctx, `SELECT MAX(good_at), MAX(proven_at) FROM controlbackup_archives`).Scan(&g, &p)
	if err != nil {
		return good, proven, fmt.Errorf("controlbackup: %w", err)
	}
	if g != nil {
		good = *g
	}
	if p != nil {
		proven = *p
	}
	return good, proven, nil
}
