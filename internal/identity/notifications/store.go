package notifications

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

// notificationRows reads notifications.
var notificationRows = db.Map(func(n *notification) db.Fields {
	return db.Fields{
		"id": &n.id, "account_id": &n.accountID, "event_uid": &n.eventUID, "kind": &n.kind, "severity": &n.severity,
		"subject": &n.subject, "subject_id": &n.subjectID, "words": db.JSON(&n.words),
		"created_at": &n.createdAt, "read_at": &n.readAt,
	}
})

func get(ctx context.Context, q db.Querier, id int64) (notification, error) {
	return notificationRows.Scan(q.QueryRow(ctx, `SELECT `+notificationRows.Columns()+` FROM notifications WHERE id = $1`, id))
}

// list reads one page of an account's notifications, the newest first, and the number of unread ones.
func list(ctx context.Context, q db.Querier, accountID int64, unread bool, p page.Params) (rows []notification, total, left int, err error) {
	if err := q.QueryRow(ctx, `SELECT count(*) FROM notifications WHERE account_id = $1 AND read_at IS NULL`, accountID).Scan(&left); err != nil {
		return nil, 0, 0, err
	}
	where := ` FROM notifications WHERE account_id = $1`
	if unread {
		where += ` AND read_at IS NULL`
	}
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, accountID).Scan(&total); err != nil {
		return nil, 0, 0, err
	}
	rows, err = db.Collect(ctx, q, notificationRows.Scan, `SELECT `+notificationRows.Columns()+where+` ORDER BY id DESC LIMIT $2 OFFSET $3`, accountID, p.Limit(), p.Offset())
	return rows, total, left, err
}

// lasts reports whether the trouble that n ends was the last that the account was told of the same thing.
func lasts(ctx context.Context, q db.Querier, n notification) (bool, error) {
	told, err := db.Collect(ctx, q, notificationRows.Scan, `SELECT `+notificationRows.Columns()+` FROM notifications
		WHERE account_id = $1 AND subject = $2 AND subject_id = $3 AND kind IN ($4, $5) ORDER BY id DESC LIMIT 50`,
		n.accountID, n.subject, n.subjectID, n.kind, n.ends)
	for _, one := range told {
		if one.words["Name"] == n.words["Name"] {
			return one.kind == n.ends, err
		}
	}
	return false, err
}

// insert returns 0 for an event that has its notification already.
func insert(ctx context.Context, tx *db.Tx, n notification) (id int64, err error) {
	words, err := json.Marshal(n.words)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO notifications (account_id, event_uid, kind, severity, subject, subject_id, words, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (event_uid) DO NOTHING RETURNING id`,
		n.accountID, n.eventUID, n.kind, n.severity, n.subject, n.subjectID, string(words), tx.Now).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// read marks the account's notifications with the given ids as read, or all when there are none.
func read(ctx context.Context, tx *db.Tx, accountID int64, ids []int64) (int64, error) {
	query, args := `UPDATE notifications SET read_at = $1 WHERE account_id = $2 AND read_at IS NULL`, []any{tx.Now, accountID}
	if len(ids) > 0 {
		marks := make([]string, len(ids))
		for i, id := range ids {
			args = append(args, id)
			marks[i] = fmt.Sprintf("$%d", len(args))
		}
		query += ` AND id IN (` + strings.Join(marks, ", ") + `)`
	}
	return tx.Exec(ctx, query, args...)
}

// clean deletes the notifications from before t.
func clean(ctx context.Context, tx *db.Tx, t time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM notifications WHERE created_at < $1`, t)
	return err
}

func removeOf(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM notifications WHERE account_id = $1`, accountID)
	return err
}

var preferenceRows = db.Map(func(p *preference) db.Fields {
	return db.Fields{"topic": &p.topic, "mail": &p.mail, "push": &p.push}
})

// chosenBy reads what an account has chosen.
func chosenBy(ctx context.Context, q db.Querier, accountID int64) ([]preference, error) {
	return db.Collect(ctx, q, preferenceRows.Scan, `SELECT `+preferenceRows.Columns()+` FROM notifications_preferences WHERE account_id = $1`, accountID)
}

// chosenOf reads what those of some accounts that have chosen have chosen for a topic.
func chosenOf(ctx context.Context, q db.Querier, t Topic, accounts []int64) (map[int64]preference, error) {
	all := map[int64]preference{}
	in, args := db.In(q, 2, accounts)
	_, err := db.Collect(ctx, q, func(r db.Row) (p preference, err error) {
		var id int64
		err = r.Scan(&id, &p.topic, &p.mail, &p.push)
		all[id] = p
		return p, err
	}, `SELECT account_id, topic, mail, push FROM notifications_preferences WHERE topic = $1 AND account_id `+in, append([]any{t}, args...)...)
	return all, err
}

func putPreference(ctx context.Context, tx *db.Tx, accountID int64, p preference) error {
	_, err := tx.Exec(ctx, `INSERT INTO notifications_preferences (account_id, topic, mail, push, changed_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (account_id, topic) DO UPDATE SET mail = excluded.mail, push = excluded.push, changed_at = excluded.changed_at`,
		accountID, p.topic, p.mail, p.push, tx.Now)
	return err
}

func removePreferences(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM notifications_preferences WHERE account_id = $1`, accountID)
	return err
}
