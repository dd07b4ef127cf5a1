package runs

import (
	"context"
	"errors"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

var conversationRows = db.Map(func(c *conversation) db.Fields {
	return db.Fields{
		"id": &c.id, "account_id": &c.accountID, "service_id": &c.serviceID, "title": &c.title, "status": &c.status, "created_at": &c.createdAt,
		"last_message_at": &c.lastMessageAt,
	}
})

func insertConversation(ctx context.Context, tx *db.Tx, c conversation) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO ai_conversations (account_id, service_id, title, status, created_at, last_message_at)
		VALUES ($1, $2, $3, $4, $5, $5) RETURNING id`, c.accountID, c.serviceID, c.title, c.status, tx.Now).Scan(&id)
	return id, err
}

func setTalk(ctx context.Context, tx *db.Tx, id int64, status Talk) error {
	_, err := tx.Exec(ctx, `UPDATE ai_conversations SET status = $1, last_message_at = $2 WHERE id = $3`, status, tx.Now, id)
	return err
}

// conversationOf reads a conversation about one of the account's services.
func conversationOf(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (conversation, error) {
	return conversationRows.Scan(q.QueryRow(ctx, `SELECT `+conversationRows.Columns()+` FROM ai_conversations
		WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID))
}

// lockConversation is conversationOf, locked until tx ends: a run is begun in it, or it is removed.
func lockConversation(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) (conversation, error) {
	return conversationRows.Scan(tx.QueryRow(ctx, `SELECT `+conversationRows.Columns()+` FROM ai_conversations
		WHERE id = $1 AND service_id = $2 AND account_id = $3`+tx.ForUpdate(), id, serviceID, accountID))
}

func conversationsOf(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) ([]conversation, error) {
	return db.Collect(ctx, q, conversationRows.Scan, `SELECT `+conversationRows.Columns()+` FROM ai_conversations
		WHERE service_id = $1 AND account_id = $2 ORDER BY last_message_at DESC, id DESC LIMIT $3 OFFSET $4`, serviceID, accountID, p.Limit(), p.Offset())
}

func countConversations(ctx context.Context, q db.Querier, accountID, serviceID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM ai_conversations WHERE service_id = $1 AND account_id = $2`, serviceID, accountID).Scan(&n)
	return n, err
}

// usage is what the runs of a conversation took together.
type usage struct{ input, output, cents int64 }

func usageOf(ctx context.Context, q db.Querier, conversationID int64) (u usage, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT), CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT),
			CAST(COALESCE(SUM(COALESCE(charged, 0)), 0) AS BIGINT) FROM ai_runs WHERE conversation_id = $1`, conversationID).Scan(&u.input, &u.output, &u.cents)
	return u, err
}

// removeConversation removes a conversation and what was said in it. The runs stay for the budget, and the journal for
// undoing.
func removeConversation(ctx context.Context, tx *db.Tx, id int64) error {
	for _, statement := range []string{
		`DELETE FROM ai_events WHERE run_id IN (SELECT id FROM ai_runs WHERE conversation_id = $1)`,
		`DELETE FROM ai_approvals WHERE run_id IN (SELECT id FROM ai_runs WHERE conversation_id = $1)`,
		`DELETE FROM ai_messages WHERE conversation_id = $1`,
		`DELETE FROM ai_calls WHERE conversation_id = $1`,
		`UPDATE ai_runs SET conversation_id = NULL WHERE conversation_id = $1`,
		`DELETE FROM ai_conversations WHERE id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// silent is the condition of a conversation in which nothing was said since $1, and no run is open.
const silent = `last_message_at < $1 AND status IN ('idle', 'failed')`

// removeSilent removes a conversation unless something was said in it meanwhile.
func removeSilent(ctx context.Context, tx *db.Tx, id int64, before time.Time) error {
	err := tx.QueryRow(ctx, `SELECT id FROM ai_conversations WHERE `+silent+` AND id = $2`+tx.ForUpdate(), before, id).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return removeConversation(ctx, tx, id)
}

// silentConversations lists the silent ones after a place in the list.
func silentConversations(ctx context.Context, q db.Querier, before time.Time, after row, limit int) ([]row, error) {
	return db.Collect(ctx, q, scanRow, `SELECT last_message_at, id FROM ai_conversations
		WHERE `+silent+` AND (last_message_at > $2 OR last_message_at = $2 AND id > $3) ORDER BY last_message_at, id LIMIT $4`, before, after.at, after.id, limit)
}

var messageRows = db.Map(func(m *message) db.Fields {
	return db.Fields{
		"id": &m.id, "conversation_id": &m.conversationID, "run_id": &m.runID, "role": &m.role, "content": &m.content, "call_id": &m.callID,
		"failed": &m.failed, "created_at": &m.createdAt,
	}
})

func insertMessage(ctx context.Context, tx *db.Tx, m message) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO ai_messages (conversation_id, run_id, role, content, call_id, failed, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`, m.conversationID, m.runID, m.role, m.content, m.callID, m.failed, tx.Now).Scan(&id)
	return id, err
}

// lastMessages reads the last messages of a conversation, in their order.
func lastMessages(ctx context.Context, q db.Querier, conversationID int64, limit int) ([]message, error) {
	all, err := db.Collect(ctx, q, messageRows.Scan, `SELECT `+messageRows.Columns()+` FROM ai_messages WHERE conversation_id = $1 ORDER BY id DESC LIMIT $2`, conversationID, limit)
	slices.Reverse(all)
	return all, err
}

// lastAnswer is the model's last message in a run; db.ErrNoRows without one.
func lastAnswer(ctx context.Context, q db.Querier, conversationID, runID int64) (message, error) {
	return messageRows.Scan(q.QueryRow(ctx, `SELECT `+messageRows.Columns()+` FROM ai_messages
		WHERE conversation_id = $1 AND run_id = $2 AND role = 'assistant' ORDER BY id DESC LIMIT 1`, conversationID, runID))
}

var callRows = db.Map(func(c *call) db.Fields {
	return db.Fields{
		"id": &c.id, "conversation_id": &c.conversationID, "run_id": &c.runID, "message_id": &c.messageID, "ref": &c.ref, "tool": &c.tool,
		"arguments": &c.arguments, "status": &c.status, "malformed": &c.malformed, "signature": &c.signature, "summary": &c.summary,
		"created_at": &c.createdAt, "finished_at": &c.finishedAt,
	}
})

func insertCall(ctx context.Context, tx *db.Tx, c call) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO ai_calls (conversation_id, run_id, message_id, ref, tool, arguments, status, malformed, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, FALSE, $8) RETURNING id`,
		c.conversationID, c.runID, c.messageID, c.ref, c.tool, c.arguments, c.status, tx.Now).Scan(&id)
	return id, err
}

func putCall(ctx context.Context, tx *db.Tx, c call) error {
	_, err := tx.Exec(ctx, `UPDATE ai_calls SET status = $1, malformed = $2, signature = $3, summary = $4, finished_at = $5 WHERE id = $6`,
		c.status, c.malformed, c.signature, c.summary, c.finishedAt, c.id)
	return err
}

// callsOf reads all calls of a run, in their order.
func callsOf(ctx context.Context, q db.Querier, runID int64) ([]call, error) {
	return db.Collect(ctx, q, callRows.Scan, `SELECT `+callRows.Columns()+` FROM ai_calls WHERE run_id = $1 ORDER BY id`, runID)
}

// callsSince reads the calls of a conversation from a message on, in their order.
func callsSince(ctx context.Context, q db.Querier, conversationID, messageID int64) ([]call, error) {
	return db.Collect(ctx, q, callRows.Scan, `SELECT `+callRows.Columns()+` FROM ai_calls WHERE conversation_id = $1 AND message_id >= $2 ORDER BY id`, conversationID, messageID)
}

func callOf(ctx context.Context, q db.Querier, id int64) (call, error) {
	return callRows.Scan(q.QueryRow(ctx, `SELECT `+callRows.Columns()+` FROM ai_calls WHERE id = $1`, id))
}

// skipCalls ends the calls that are not done when their run is over.
func skipCalls(ctx context.Context, tx *db.Tx, runID int64) error {
	_, err := tx.Exec(ctx, `UPDATE ai_calls SET status = 'skipped', finished_at = $1 WHERE run_id = $2 AND status IN ('pending', 'waiting')`, tx.Now, runID)
	return err
}
