// Package keycheck notices a key that is not that of the database. A database remembers one sealed value; whoever cannot open
// it would fail at every two-factor seed and stored password later, one customer at a time.
package keycheck

import (
	"context"
	"errors"
	"fmt"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/secret"
)

// ErrWrongKey means that the key does not open what the database holds.
var ErrWrongKey = errors.New("the key does not open the secrets of this database: put back the secret.key (or STEAD_SECRET_KEY) with which it was made, " +
	"from its backup, or name the database that belongs to this key; nothing was changed")

// ErrNoKey means that the database has sealed values and that there is no key.
var ErrNoKey = errors.New("the database has secrets that were sealed with a key, and there is none here: restore secret.key from its backup, or set " +
	"STEAD_SECRET_KEY; a new key was not made, because it could not open them")

// The value, and what binds it to its place.
var (
	value = []byte("stead")
	place = []byte("keycheck_probe/1/sealed")
)

// Sealed reports whether the database holds values that are sealed with a key. It changes nothing, and the database may be
// empty.
func Sealed(ctx context.Context, d *db.DB) (bool, error) {
	sealed, err := read(ctx, d)
	return sealed != nil, err
}

// Look opens the sealed value of the database; any is false when it has none.
func Look(ctx context.Context, d *db.DB, box *secret.Box) (found bool, err error) {
	sealed, err := read(ctx, d)
	if err != nil || sealed == nil {
		return false, err
	}
	return true, open(box, sealed)
}

// Check is Look for a start: a database without a value gets one. Of replicas with different keys that start at once on an
// empty database, one is refused.
func Check(ctx context.Context, d *db.DB, box *secret.Box) error {
	if found, err := Look(ctx, d, box); found || err != nil {
		return err
	}
	sealed, err := box.Seal(value, place)
	if err != nil {
		return err
	}
	err = d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return insert(ctx, tx, sealed) })
	if err != nil {
		return fmt.Errorf("keep a sealed value: %w", err)
	}
	_, err = Look(ctx, d, box)
	return err
}

func open(box *secret.Box, sealed []byte) error {
	if _, err := box.Open(sealed, place); err != nil {
		return fmt.Errorf("%w (%w)", ErrWrongKey, err)
	}
	return nil
}

// read returns nil when there is no value.
func read(ctx context.Context, d *db.DB) (sealed []byte, err error) {
	all, err := schema.Status(ctx, d)
	if err != nil || len(all) == 0 || !all[0].Applied {
		return nil, err
	}
	err = d.QueryRow(ctx, `SELECT sealed FROM keycheck_probe WHERE id = 1`).Scan(&sealed)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	return sealed, err
}

func insert(ctx context.Context, tx *db.Tx, sealed []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO keycheck_probe (id, sealed, created_at) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`, sealed, tx.Now)
	return err
}
