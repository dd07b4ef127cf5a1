package devices

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// deviceRows reads devices.
var deviceRows = db.Map(func(d *device) db.Fields {
	return db.Fields{
		"id": &d.id, "account_id": &d.accountID, "application_id": &d.applicationID, "session_id": &d.sessionID, "platform": &d.platform,
		"token_hash": &d.hash, "token": &d.token, "name": &d.name, "locale": &d.locale, "app_version": &d.appVersion,
		"last_seen_at": &d.lastSeenAt, "created_at": &d.createdAt,
	}
})

func get(ctx context.Context, q db.Querier, id int64) (device, error) {
	return deviceRows.Scan(q.QueryRow(ctx, `SELECT `+deviceRows.Columns()+` FROM devices WHERE id = $1`, id))
}

// ofAccount reads an account's devices, the last seen first.
func ofAccount(ctx context.Context, q db.Querier, accountID int64) ([]device, error) {
	return db.Collect(ctx, q, deviceRows.Scan, `SELECT `+deviceRows.Columns()+` FROM devices WHERE account_id = $1 ORDER BY last_seen_at DESC, id DESC`, accountID)
}

// upsert writes a device by its token. A device that becomes another account's gets a new id and created_at, so pushes
// for the former owner do not find it.
func upsert(ctx context.Context, tx *db.Tx, d device) (stored device, fresh bool, err error) {
	if _, err := tx.Exec(ctx, `DELETE FROM devices WHERE token_hash = $1 AND account_id <> $2`, d.hash, d.accountID); err != nil {
		return d, false, err
	}
	err = tx.QueryRow(ctx, `SELECT NOT EXISTS (SELECT 1 FROM devices WHERE token_hash = $1)`, d.hash).Scan(&fresh)
	if err != nil {
		return d, false, err
	}
	stored, err = deviceRows.Scan(tx.QueryRow(ctx, `INSERT INTO devices (account_id, application_id, session_id, platform, token_hash, token, name, locale, app_version, last_seen_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (token_hash) DO UPDATE SET account_id = excluded.account_id,
			application_id = excluded.application_id, session_id = excluded.session_id, platform = excluded.platform, token = excluded.token, name = excluded.name, locale = excluded.locale,
			app_version = excluded.app_version, last_seen_at = excluded.last_seen_at RETURNING `+deviceRows.Columns(),
		d.accountID, d.applicationID, d.sessionID, d.platform, d.hash, d.token, d.name, d.locale, d.appVersion, d.lastSeenAt, d.createdAt))
	return stored, fresh, err
}

// trim deletes the devices of an account beyond n, the longest unseen first; it keeps the one that was just registered.
func trim(ctx context.Context, tx *db.Tx, accountID, keep int64, n int) error {
	_, err := tx.Exec(ctx, `DELETE FROM devices WHERE account_id = $1 AND id <> $2 AND id NOT IN (
		SELECT id FROM devices WHERE account_id = $1 AND id <> $2 ORDER BY last_seen_at DESC, id DESC LIMIT $3)`, accountID, keep, n-1)
	return err
}

func removeByToken(ctx context.Context, tx *db.Tx, accountID int64, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM devices WHERE token_hash = $1 AND account_id = $2`, hash, accountID)
	return n > 0, err
}

func removeByID(ctx context.Context, tx *db.Tx, accountID, id int64) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM devices WHERE id = $1 AND account_id = $2`, id, accountID)
	return n > 0, err
}

func removeOfAccount(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM devices WHERE account_id = $1`, accountID)
	return err
}

func removeOfApplication(ctx context.Context, tx *db.Tx, applicationID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM devices WHERE application_id = $1`, applicationID)
	return err
}

func removeOfConnection(ctx context.Context, tx *db.Tx, accountID, applicationID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM devices WHERE account_id = $1 AND application_id = $2`, accountID, applicationID)
	return err
}

func removeOfSession(ctx context.Context, tx *db.Tx, accountID, session int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM devices WHERE account_id = $1 AND session_id = $2`, accountID, session)
	return err
}

func removeOfOtherSessions(ctx context.Context, tx *db.Tx, accountID, session int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM devices WHERE account_id = $1 AND session_id NOT IN (0, $2)`, accountID, session)
	return err
}

func clean(ctx context.Context, tx *db.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM devices WHERE last_seen_at < $1`, before)
	return err
}

func readKeys(ctx context.Context, q db.Querier) (public string, sealed []byte, err error) {
	err = q.QueryRow(ctx, `SELECT public_key, private_key FROM devices_keys WHERE id = 1`).Scan(&public, &sealed)
	return public, sealed, err
}

func insertKeys(ctx context.Context, tx *db.Tx, public string, sealed []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO devices_keys (id, public_key, private_key, created_at) VALUES (1, $1, $2, $3)
		ON CONFLICT (id) DO NOTHING`, public, sealed, tx.Now)
	return err
}
