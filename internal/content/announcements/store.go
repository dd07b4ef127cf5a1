package announcements

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

var announcementRows = db.Map(func(a *Announcement) db.Fields {
	return db.Fields{
		"id": &a.ID, "title": db.JSON(&a.Title), "body": db.JSON(&a.Body), "link": &a.Link, "level": &a.Level,
		"audience": &a.Audience.Kind, "audience_of": &a.Audience.Of, "starts_at": &a.StartsAt, "ends_at": &a.EndsAt,
		"notify": &a.Notify, "mail": &a.Mail, "version": &a.Version, "created_at": &a.CreatedAt, "updated_at": &a.UpdatedAt,
		"published_at": &a.PublishedAt, "withdrawn_at": &a.WithdrawnAt, "begun_at": &a.begunAt, "reached": &a.reached,
		"told": &a.Told, "finished_at": &a.FinishedAt,
	}
})

var selectAnnouncement = `SELECT ` + announcementRows.Columns() + ` FROM announcements`

// get reads an announcement, or returns fault.NotFound.
func get(ctx context.Context, q db.Querier, id int64) (Announcement, error) {
	return found(announcementRows.Scan(q.QueryRow(ctx, selectAnnouncement+` WHERE id = $1`, id)))
}

// lock reads an announcement that is about to be changed, or returns fault.NotFound.
func lock(ctx context.Context, tx *db.Tx, id int64) (Announcement, error) {
	return found(announcementRows.Scan(tx.QueryRow(ctx, selectAnnouncement+` WHERE id = $1`+tx.ForUpdate(), id)))
}

func found(a Announcement, err error) (Announcement, error) {
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return a, err
}

// list reads a page of all announcements, the newest first.
func list(ctx context.Context, q db.Querier, p page.Params) (all []Announcement, total int, err error) {
	if err := q.QueryRow(ctx, `SELECT COUNT(*) FROM announcements`).Scan(&total); err != nil {
		return nil, 0, err
	}
	all, err = db.Collect(ctx, q, announcementRows.Scan, selectAnnouncement+` ORDER BY id DESC LIMIT $1 OFFSET $2`, p.Limit(), p.Offset())
	return all, total, err
}

// shownTo reads what is shown at a time and was not dismissed by an account, the newest first, for whichever audience.
func shownTo(ctx context.Context, q db.Querier, now time.Time, accountID int64, limit int) ([]Announcement, error) {
	return db.Collect(ctx, q, announcementRows.Scan, selectAnnouncement+` WHERE published_at IS NOT NULL AND withdrawn_at IS NULL
		AND starts_at <= $1 AND (ends_at IS NULL OR ends_at > $1)
		AND NOT EXISTS (SELECT 1 FROM announcements_dismissals d WHERE d.account_id = $2 AND d.announcement_id = announcements.id)
		ORDER BY starts_at DESC, id DESC LIMIT $3`, now, accountID, limit)
}

// due lists the published announcements whose notifications have not begun and are to begin now.
func due(ctx context.Context, tx *db.Tx) ([]int64, error) {
	return db.Collect(ctx, tx, func(r db.Row) (id int64, err error) {
		err = r.Scan(&id)
		return id, err
	}, `SELECT id FROM announcements WHERE notify AND published_at IS NOT NULL AND withdrawn_at IS NULL AND begun_at IS NULL AND starts_at <= $1
		ORDER BY id`, tx.Now)
}

func texts(w Wish) (title, body string, err error) {
	t, err := json.Marshal(w.Title)
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(w.Body)
	return string(t), string(b), err
}

func insert(ctx context.Context, tx *db.Tx, w Wish) (id int64, err error) {
	title, body, err := texts(w)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO announcements (title, body, link, level, audience, audience_of, starts_at, ends_at, notify, mail,
			version, created_at, updated_at, reached, told)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, $11, 0, 0) RETURNING id`,
		title, body, w.Link, w.Level, w.Audience.Kind, w.Audience.Of, w.StartsAt, w.EndsAt, w.Notify, w.Mail, tx.Now).Scan(&id)
	return id, err
}

// put writes everything of an announcement that changes, as its next version.
func put(ctx context.Context, tx *db.Tx, a Announcement) error {
	title, body, err := texts(a.Wish)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE announcements SET title = $1, body = $2, link = $3, level = $4, audience = $5, audience_of = $6, starts_at = $7,
			ends_at = $8, notify = $9, mail = $10, published_at = $11, withdrawn_at = $12, version = version + 1, updated_at = $13 WHERE id = $14`,
		title, body, a.Link, a.Level, a.Audience.Kind, a.Audience.Of, a.StartsAt, a.EndsAt, a.Notify, a.Mail, a.PublishedAt, a.WithdrawnAt,
		tx.Now, a.ID)
	return err
}

// putProgress writes how far the notifications have come.
func putProgress(ctx context.Context, tx *db.Tx, a Announcement) error {
	_, err := tx.Exec(ctx, `UPDATE announcements SET begun_at = $1, reached = $2, told = $3, finished_at = $4 WHERE id = $5`,
		a.begunAt, a.reached, a.Told, a.FinishedAt, a.ID)
	return err
}

func remove(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM announcements WHERE id = $1`, id)
	return err
}

// dismiss keeps that an account does not want to see an announcement again.
func dismiss(ctx context.Context, tx *db.Tx, accountID, id int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO announcements_dismissals (account_id, announcement_id, dismissed_at) VALUES ($1, $2, $3)
		ON CONFLICT (account_id, announcement_id) DO NOTHING`, accountID, id, tx.Now)
	return err
}

func removeDismissals(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM announcements_dismissals WHERE account_id = $1`, accountID)
	return err
}

// clean removes the dismissals of what is not shown any more, and cannot be shown again.
func clean(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM announcements_dismissals WHERE announcement_id IN
		(SELECT id FROM announcements WHERE withdrawn_at IS NOT NULL OR ends_at <= $1)`, tx.Now.Add(-keepDismissals))
	return err
}
