package status

import (
	"context"
	"errors"
	"math"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

var subscriberRows = db.Map(func(x *subscriber) db.Fields {
	return db.Fields{
		"id": &x.id, "email": &x.email, "language": &x.language, "token_hash": &x.hash, "token_sealed": &x.sealed, "confirmed_at": &x.confirmedAt,
	}
})

// putSubscriber adds an address, or returns the row that it has: a stranger who asks again changes nothing of a subscription.
func putSubscriber(ctx context.Context, tx *db.Tx, x subscriber) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO status_subscribers AS s (email, language, token_hash, token_sealed, created_at, asked_at)
			VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (email) DO UPDATE SET asked_at = excluded.asked_at,
			language = CASE WHEN s.confirmed_at IS NULL THEN excluded.language ELSE s.language END
		RETURNING id`, x.email, x.language, x.hash, x.sealed, tx.Now).Scan(&id)
	return id, err
}

// subscriberByID reads a subscriber; false when it is gone.
func subscriberByID(ctx context.Context, q db.Querier, id int64) (subscriber, bool, error) {
	x, err := subscriberRows.Scan(q.QueryRow(ctx, `SELECT `+subscriberRows.Columns()+` FROM status_subscribers WHERE id = $1`, id))
	if errors.Is(err, db.ErrNoRows) {
		return x, false, nil
	}
	return x, err == nil, err
}

// subscriberByHash reads the subscriber of a token, or returns fault.NotFound.
func subscriberByHash(ctx context.Context, q db.Querier, hash []byte) (subscriber, error) {
	x, err := subscriberRows.Scan(q.QueryRow(ctx, `SELECT `+subscriberRows.Columns()+` FROM status_subscribers WHERE token_hash = $1`, hash))
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return x, err
}

func confirmSubscriber(ctx context.Context, tx *db.Tx, hash []byte) (found bool, err error) {
	n, err := tx.Exec(ctx, `UPDATE status_subscribers SET confirmed_at = COALESCE(confirmed_at, $1) WHERE token_hash = $2`, tx.Now, hash)
	return n == 1, err
}

func deleteSubscriber(ctx context.Context, tx *db.Tx, hash []byte) error {
	_, err := tx.Exec(ctx, `DELETE FROM status_subscribers WHERE token_hash = $1`, hash)
	return err
}

// confirmedAfter lists the ids of subscribers behind one.
func confirmedAfter(ctx context.Context, q db.Querier, id int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(r db.Row) (id int64, err error) {
		err = r.Scan(&id)
		return id, err
	}, `SELECT id FROM status_subscribers WHERE id > $1 AND confirmed_at IS NOT NULL ORDER BY id LIMIT $2`, id, limit)
}

func insertNotice(ctx context.Context, tx *db.Tx, n notice) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO status_notices (update_id, maintenance_id, cancelled, reached, created_at)
		VALUES ($1, $2, $3, 0, $4) RETURNING id`, n.updateID, n.maintenanceID, n.cancelled, tx.Now).Scan(&id)
	return id, err
}

// lockReached locks a notice and reads how far it has come; false when it is gone.
func lockReached(ctx context.Context, tx *db.Tx, id int64) (reached int64, found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT reached FROM status_notices WHERE id = $1`+tx.ForUpdate(), id).Scan(&reached)
	if errors.Is(err, db.ErrNoRows) {
		return 0, false, nil
	}
	return reached, err == nil, err
}

// everybody is behind all subscribers.
const everybody = math.MaxInt64

func setReached(ctx context.Context, tx *db.Tx, id, reached int64) error {
	_, err := tx.Exec(ctx, `UPDATE status_notices SET reached = $1 WHERE id = $2`, reached, id)
	return err
}

// noticeByID reads a notice with what it is about; false when it is gone.
func noticeByID(ctx context.Context, q db.Querier, id int64) (n notice, found bool, err error) {
	err = q.QueryRow(ctx, `SELECT update_id, maintenance_id, cancelled FROM status_notices WHERE id = $1`, id).
		Scan(&n.updateID, &n.maintenanceID, &n.cancelled)
	switch {
	case errors.Is(err, db.ErrNoRows):
		return n, false, nil
	case err != nil:
		return n, false, err
	case n.updateID != nil:
		u := Update{}
		err = q.QueryRow(ctx, `SELECT u.incident_id, u.status, u.body, u.created_at, i.title
			FROM status_updates u JOIN status_incidents i ON i.id = u.incident_id WHERE u.id = $1`, *n.updateID).
			Scan(&u.IncidentID, &u.Stage, db.JSON(&u.Body), &u.CreatedAt, db.JSON(&n.incident.Title))
		n.incident.ID, n.incident.Updates = u.IncidentID, []Update{u}
	default:
		n.planned, err = plannedRows.Scan(q.QueryRow(ctx, `SELECT `+plannedRows.Columns()+` FROM status_maintenance WHERE id = $1`, *n.maintenanceID))
	}
	return n, err == nil, err
}

// The time that a link to confirm is good for, and that notices stay.
const (
	askedFor   = 48 * time.Hour
	noticesFor = 30 * 24 * time.Hour
)

// deleteStale removes addresses that nobody has confirmed, and old notices.
func deleteStale(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM status_subscribers WHERE confirmed_at IS NULL AND asked_at < $1`, tx.Now.Add(-askedFor))
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM status_notices WHERE created_at < $1`, tx.Now.Add(-noticesFor))
	}
	return err
}
