package monitors

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
)

var channelRows = db.Map(func(c *channel) db.Fields {
	return db.Fields{
		"id": &c.id, "account_id": &c.accountID, "type": &c.typ, "name": &c.name, "target": &c.target, "hint": &c.hint,
		"events": &c.events, "delay_s": &c.delayS, "reminder_s": &c.reminderS, "verified_at": &c.verifiedAt,
		"code_hash": &c.codeHash, "code_expires_at": &c.codeExpiresAt, "code_attempts": &c.codeAttempts,
		"not_before": &c.notBefore, "lease": &c.lease, "lease_until": &c.leaseUntil, "last_error_key": &c.lastErrorKey,
		"created_at": &c.createdAt,
	}
})

func insertChannel(ctx context.Context, tx *db.Tx, c channel) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO monitors_channels (account_id, type, name, target, hint, events, delay_s, reminder_s, code_attempts, created_at)
		VALUES ($1, $2, $3, $4, '', $5, 0, 0, 0, $6) RETURNING id`, c.accountID, c.typ, c.name, []byte{}, c.events, c.createdAt).Scan(&id)
	return id, err
}

func putChannel(ctx context.Context, tx *db.Tx, c channel) error {
	_, err := tx.Exec(ctx, `UPDATE monitors_channels SET name = $1, target = $2, hint = $3, events = $4, delay_s = $5, reminder_s = $6,
			verified_at = $7, code_hash = $8, code_expires_at = $9, code_attempts = $10, not_before = $11, lease = $12, lease_until = $13,
			last_error_key = $14 WHERE id = $15`,
		c.name, c.target, c.hint, c.events, c.delayS, c.reminderS, c.verifiedAt, c.codeHash, c.codeExpiresAt, c.codeAttempts, c.notBefore, c.lease,
		c.leaseUntil, c.lastErrorKey, c.id)
	return err
}

func channelsOf(ctx context.Context, q db.Querier, accountID int64) ([]channel, error) {
	return db.Collect(ctx, q, channelRows.Scan, `SELECT `+channelRows.Columns()+` FROM monitors_channels WHERE account_id = $1 ORDER BY id`, accountID)
}

func channelOf(ctx context.Context, q db.Querier, accountID, id int64, lock string) (channel, error) {
	return channelRows.Scan(q.QueryRow(ctx, `SELECT `+channelRows.Columns()+` FROM monitors_channels WHERE account_id = $1 AND id = $2`+lock, accountID, id))
}

// lockChannel returns false when the channel was deleted.
func lockChannel(ctx context.Context, tx *db.Tx, id int64) (channel, bool, error) {
	c, err := channelRows.Scan(tx.QueryRow(ctx, `SELECT `+channelRows.Columns()+` FROM monitors_channels WHERE id = $1`+tx.ForUpdate(), id))
	if errors.Is(err, db.ErrNoRows) {
		return c, false, nil
	}
	return c, err == nil, err
}

func deleteChannel(ctx context.Context, tx *db.Tx, accountID, id int64) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM monitors_channels WHERE account_id = $1 AND id = $2`, accountID, id)
	return n > 0, err
}

func removeChannels(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM monitors_channels WHERE account_id = $1`, accountID)
	return err
}

// insertAlert returns false for one that is there already.
func insertAlert(ctx context.Context, tx *db.Tx, a alertRow) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO monitors_alerts (channel_id, monitor_id, outage_id, kind, n, data, not_before, attempts, state, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 'pending', $8) ON CONFLICT DO NOTHING`,
		a.channelID, a.monitorID, a.outageID, a.kind, a.n, a.data, a.notBefore, a.createdAt)
	return n > 0, err
}

const alertColumns = `id, channel_id, monitor_id, outage_id, kind, n, data, not_before, attempts, created_at`

func scanAlert(row db.Row) (a alertRow, err error) {
	err = row.Scan(&a.id, &a.channelID, &a.monitorID, &a.outageID, &a.kind, &a.n, &a.data, &a.notBefore, &a.attempts, &a.createdAt)
	return a, err
}

// nextToTell is nextAlert without those that are over, which it cancels.
func nextToTell(ctx context.Context, tx *db.Tx, channelID int64) (alertRow, bool, error) {
	for {
		a, ok, err := nextAlert(ctx, tx, channelID, tx.Now)
		if err != nil || !ok || a.kind != alertDown && a.kind != alertReminder {
			return a, ok, err
		}
		over, err := isOver(ctx, tx, a)
		if err != nil || !over {
			return a, err == nil, err
		}
		if err := settleAlert(ctx, tx, a.id, a.attempts, "cancelled"); err != nil {
			return a, false, err
		}
	}
}

// nextAlert is the oldest alert of a channel that is due; false when there is none.
func nextAlert(ctx context.Context, q db.Querier, channelID int64, now time.Time) (alertRow, bool, error) {
	a, err := scanAlert(q.QueryRow(ctx, `SELECT `+alertColumns+` FROM monitors_alerts
		WHERE channel_id = $1 AND state = 'pending' AND not_before <= $2 ORDER BY not_before, id LIMIT 1`, channelID, now))
	if errors.Is(err, db.ErrNoRows) {
		return a, false, nil
	}
	return a, err == nil, err
}

// settleAlert ends an alert, unless it was cancelled meanwhile.
func settleAlert(ctx context.Context, tx *db.Tx, id int64, attempts int, state string) error {
	_, err := tx.Exec(ctx, `UPDATE monitors_alerts SET state = $1, attempts = $2 WHERE id = $3 AND state = 'pending'`, state, attempts, id)
	return err
}

// recovered cancels what a channel would still be told of an outage that is over, and tells whether it knows of the
// outage: an alert of it was sent, or is due.
func recovered(ctx context.Context, tx *db.Tx, channelID, monitorID, outageID int64, now time.Time) (known bool, err error) {
	if _, err := tx.Exec(ctx, `UPDATE monitors_alerts SET state = 'cancelled' WHERE monitor_id = $1 AND outage_id = $2 AND channel_id = $3
			AND state = 'pending' AND (not_before > $4 OR kind = 'reminder')`, monitorID, outageID, channelID, now); err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM monitors_alerts WHERE monitor_id = $1 AND outage_id = $2 AND channel_id = $3
		AND kind = 'down' AND state IN ('pending', 'sent'))`, monitorID, outageID, channelID).Scan(&known)
	return known, err
}

// cancelAlerts cancels what channels would still be told of monitors that are looked at no more. That something is well again is told.
func cancelAlerts(ctx context.Context, tx *db.Tx, monitors ...int64) error {
	in, args := db.In(tx, 1, monitors)
	_, err := tx.Exec(ctx, `UPDATE monitors_alerts SET state = 'cancelled' WHERE state = 'pending' AND kind NOT IN ('up', 'settled') AND monitor_id `+in, args...)
	return err
}

// isOver reports whether an alert has nothing more to tell: nobody looks at its monitor any more, or it reminds of an outage that has
// ended. A short outage is told of although it has ended.
func isOver(ctx context.Context, q db.Querier, a alertRow) (bool, error) {
	var watched bool
	err := q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM monitors WHERE id = $1 AND NOT paused)`, a.monitorID).Scan(&watched)
	if err != nil || !watched || a.kind != alertReminder {
		return !watched, err
	}
	open, err := outageGoesOn(ctx, q, a.outageID)
	return !open, err
}

// outageGoesOn reports whether an outage is open.
func outageGoesOn(ctx context.Context, q db.Querier, id int64) (open bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM monitors_outages WHERE id = $1 AND ended_at IS NULL)`, id).Scan(&open)
	return open, err
}

// dueChannels are those with alerts that are due and without a worker.
func dueChannels(ctx context.Context, q db.Querier, now time.Time) ([]int64, error) {
	return db.Collect(ctx, q, scanID, `SELECT c.id FROM monitors_channels c WHERE (c.not_before IS NULL OR c.not_before <= $1)
		AND (c.lease IS NULL OR c.lease_until <= $1)
		AND c.id IN (SELECT channel_id FROM monitors_alerts WHERE state = 'pending' AND not_before <= $1) ORDER BY c.id LIMIT 1000`, now)
}

func forgetAlerts(ctx context.Context, tx *db.Tx, before time.Time, most int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM monitors_alerts WHERE id IN (
		SELECT id FROM monitors_alerts WHERE created_at < $1 AND state <> 'pending' ORDER BY created_at LIMIT $2)`, before, most)
}

func (m *monitor) alertData(since time.Time) (string, error) {
	d := alertData{MonitorID: m.id, Name: m.name, Type: string(m.settings.Target.Type), Status: m.status, Since: since}
	if m.errorKey != nil {
		d.ErrorKey = *m.errorKey
	}
	if m.certificate != nil {
		d.ExpiresAt = &m.certificate.ExpiresAt
	}
	if m.domainExpiresAt != nil {
		d.ExpiresAt = m.domainExpiresAt
	}
	b, err := json.Marshal(d)
	return string(b), err
}
