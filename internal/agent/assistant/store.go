package assistant

import (
	"context"
	"encoding/json"

	"stead.dev/stead/internal/platform/db"
)

const mostMessages = 100 // that are kept of a conversation

var messageRows = db.Map(func(m *message) db.Fields {
	return db.Fields{
		"id": &m.id, "account_id": &m.with.accountID, "application_id": &m.with.applicationID, "role": &m.role, "content": &m.content,
		"sources": db.JSON(&m.sources), "handover": &m.handover, "worded": &m.worded, "created_at": &m.createdAt,
	}
})

// last reads the newest messages of a conversation, the newest first.
func last(ctx context.Context, q db.Querier, with party, limit int) ([]message, error) {
	return db.Collect(ctx, q, messageRows.Scan, `SELECT `+messageRows.Columns()+` FROM assistant_messages
		WHERE account_id = $1 AND application_id = $2 ORDER BY id DESC LIMIT $3`, with.accountID, with.applicationID, limit)
}

func insert(ctx context.Context, tx *db.Tx, m message) (id int64, err error) {
	if m.sources == nil {
		m.sources = []Source{}
	}
	sources, err := json.Marshal(m.sources)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO assistant_messages (account_id, application_id, role, content, sources, handover, worded, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
		m.with.accountID, m.with.applicationID, m.role, m.content, string(sources), m.handover, m.worded, tx.Now).Scan(&id)
	return id, err
}

// forget removes all but the last messages of a conversation.
func forget(ctx context.Context, tx *db.Tx, with party) error {
	_, err := tx.Exec(ctx, `DELETE FROM assistant_messages WHERE account_id = $1 AND application_id = $2 AND id <= (
		SELECT id FROM assistant_messages WHERE account_id = $1 AND application_id = $2 ORDER BY id DESC LIMIT 1 OFFSET $3)`,
		with.accountID, with.applicationID, mostMessages)
	return err
}

func removeOf(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM assistant_messages WHERE account_id = $1`, accountID)
	return err
}
