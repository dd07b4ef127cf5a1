package oauth

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// deviceCode is a row of oauth_device_codes.
type deviceCode struct {
	id        int64
	clientID  string // of its application
	scopes    Scopes
	askedAt   time.Time
	expiresAt time.Time
	pollAfter time.Time
	interval  time.Duration
	grantID   *int64
	deniedAt  *time.Time
	usedAt    *time.Time
}

func insertDevice(ctx context.Context, tx *db.Tx, hash, userHash []byte, application int64, scopes Scopes, expires time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO oauth_device_codes (hash, user_hash, application_id, scopes, interval_s, poll_after, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $6, $7)`, hash, userHash, application, scopes.String(), int64(deviceInterval/time.Second), tx.Now, expires)
	return err
}

// undecidedDevice finds the device that waits with a user code for an answer; lock locks it until the transaction ends.
func undecidedDevice(ctx context.Context, q db.Querier, userHash []byte, now time.Time, lock bool) (d deviceCode, err error) {
	query := `SELECT d.id, d.scopes, d.created_at, d.expires_at, a.client_id FROM oauth_device_codes d JOIN oauth_applications a ON a.id = d.application_id
		WHERE d.user_hash = $1 AND d.grant_id IS NULL AND d.denied_at IS NULL AND d.expires_at > $2`
	if tx, ok := q.(*db.Tx); ok && lock {
		query += tx.ForUpdate()
	}
	var scopes string
	err = q.QueryRow(ctx, query, userHash, now).Scan(&d.id, &scopes, &d.askedAt, &d.expiresAt, &d.clientID)
	d.scopes, _ = parseScopes(scopes)
	return d, err
}

// lockDevice finds a device of the application by its code.
func lockDevice(ctx context.Context, tx *db.Tx, hash []byte, application int64) (d deviceCode, err error) {
	var interval int64
	err = tx.QueryRow(ctx, `SELECT id, interval_s, poll_after, expires_at, grant_id, denied_at, used_at FROM oauth_device_codes
		WHERE hash = $1 AND application_id = $2`+tx.ForUpdate(), hash, application).
		Scan(&d.id, &interval, &d.pollAfter, &d.expiresAt, &d.grantID, &d.deniedAt, &d.usedAt)
	d.interval = time.Duration(interval) * time.Second
	return d, err
}

// notePoll has the next poll wait for the interval.
func notePoll(ctx context.Context, tx *db.Tx, d deviceCode) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_device_codes SET interval_s = $2, poll_after = $3 WHERE id = $1`,
		d.id, int64(d.interval/time.Second), tx.Now.Add(d.interval))
	return err
}

func allowDevice(ctx context.Context, tx *db.Tx, id, grantID int64) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_device_codes SET grant_id = $2 WHERE id = $1`, id, grantID)
	return err
}

func denyDevice(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_device_codes SET denied_at = $2 WHERE id = $1`, id, tx.Now)
	return err
}

func useDevice(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_device_codes SET used_at = $2 WHERE id = $1`, id, tx.Now)
	return err
}

// deleteDevices deletes a batch of device codes that have expired.
func deleteDevices(ctx context.Context, tx *db.Tx) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM oauth_device_codes WHERE id IN
		(SELECT id FROM oauth_device_codes WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`, tx.Now.Add(-keepDevice), cleanBatch)
}
