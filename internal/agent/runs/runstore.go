package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
)

var runRows = db.Map(func(r *run) db.Fields {
	return db.Fields{
		"id": &r.id, "account_id": &r.accountID, "service_id": &r.serviceID, "conversation_id": &r.conversationID, "kind": &r.kind,
		"status": &r.status, "end_reason": &r.reason, "terms": db.JSON(&r.terms), "epoch": &r.epoch, "lease_until": &r.leaseUntil,
		"resumes": &r.resumes, "site": &r.site, "cancelling": &r.cancelling, "asking": &r.asking, "lost": &r.lost, "steps": &r.steps, "deadline": &r.deadline,
		"time_left": &r.timeLeft, "held": &r.held, "cost": &r.cost, "charged": &r.charged, "input_tokens": &r.inputTokens,
		"output_tokens": &r.outputTokens, "events": &r.events, "created_at": &r.createdAt, "finished_at": &r.finishedAt,
	}
})

// insertRun writes a run that was just asked for; its id was taken before.
func insertRun(ctx context.Context, tx *db.Tx, r run) error {
	terms, err := json.Marshal(r.terms)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO ai_runs (id, account_id, service_id, conversation_id, kind, status, terms, epoch, lease_until, resumes, cancelling,
			asking, lost, steps, time_left, held, cost, input_tokens, output_tokens, events, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, 0, FALSE, FALSE, 0, 0, $9, $10, 0, 0, 0, $11, $12)`,
		r.id, r.accountID, r.serviceID, r.conversationID, r.kind, r.status, string(terms), r.leaseUntil, r.timeLeft, r.held, r.events, r.createdAt)
	return err
}

// putRun writes what changes of a run.
func putRun(ctx context.Context, tx *db.Tx, r run) error {
	_, err := tx.Exec(ctx, `UPDATE ai_runs SET status = $1, end_reason = $2, epoch = $3, lease_until = $4, resumes = $5, cancelling = $6, asking = $7,
			lost = $8, steps = $9, deadline = $10, time_left = $11, cost = $12, charged = $13, input_tokens = $14, output_tokens = $15,
			events = $16, finished_at = $17, site = $18
		WHERE id = $19`, r.status, r.reason, r.epoch, r.leaseUntil, r.resumes, r.cancelling, r.asking, r.lost, r.steps, r.deadline, r.timeLeft,
		r.cost, r.charged, r.inputTokens, r.outputTokens, r.events, r.finishedAt, r.site, r.id)
	if err != nil {
		return fmt.Errorf("runs: write run %d: %w", r.id, err)
	}
	return nil
}

// putTerms writes the terms of a run whose customer has changed them.
func putTerms(ctx context.Context, tx *db.Tx, r run) error {
	terms, err := json.Marshal(r.terms)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE ai_runs SET terms = $1 WHERE id = $2`, string(terms), r.id)
	return err
}

// runOf reads a run of one of the account's services.
func runOf(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (run, error) {
	return runRows.Scan(q.QueryRow(ctx, `SELECT `+runRows.Columns()+` FROM ai_runs WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID))
}

// lockRunOf is runOf, with the run locked until tx ends.
func lockRunOf(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) (run, error) {
	return runRows.Scan(tx.QueryRow(ctx, `SELECT `+runRows.Columns()+` FROM ai_runs WHERE id = $1 AND service_id = $2 AND account_id = $3`+tx.ForUpdate(),
		id, serviceID, accountID))
}

// lockRun reads any run and locks it until tx ends.
func lockRun(ctx context.Context, tx *db.Tx, id int64) (run, error) {
	return runRows.Scan(tx.QueryRow(ctx, `SELECT `+runRows.Columns()+` FROM ai_runs WHERE id = $1`+tx.ForUpdate(), id))
}

// openRuns locks the open runs of a service, or with serviceID 0 of an account.
func openRuns(ctx context.Context, tx *db.Tx, accountID, serviceID int64) ([]run, error) {
	where, args := `account_id = $1`, []any{accountID}
	if serviceID != 0 {
		where, args = `service_id = $1`, []any{serviceID}
	}
	return db.Collect(ctx, tx, runRows.Scan, `SELECT `+runRows.Columns()+` FROM ai_runs WHERE `+where+`
		AND status IN ('queued', 'running', 'waiting_approval') ORDER BY id`+tx.ForUpdate(), args...)
}

// lease takes the run that has waited longest for a process; db.ErrNoRows when none waits. One that was running was its
// killed process's.
func lease(ctx context.Context, tx *db.Tx, until time.Time) (run, error) {
	return runRows.Scan(tx.QueryRow(ctx, `UPDATE ai_runs SET epoch = epoch + 1, lease_until = $1,
			resumes = resumes + CASE WHEN status = 'running' THEN 1 ELSE 0 END, status = 'running'
		WHERE status IN ('queued', 'running') AND lease_until <= $2 AND id = (
			SELECT id FROM ai_runs WHERE status IN ('queued', 'running') AND lease_until <= $2 ORDER BY lease_until, id LIMIT 1)
		RETURNING `+runRows.Columns(), until, tx.Now))
}

// renew keeps a lease, and tells whether the run is to end; false when the lease was lost.
func renew(ctx context.Context, tx *db.Tx, id, epoch int64, until time.Time) (cancelling, held bool, err error) {
	rows, err := db.Collect(ctx, tx, func(row db.Row) (c bool, err error) { return c, row.Scan(&c) },
		`UPDATE ai_runs SET lease_until = $1 WHERE id = $2 AND epoch = $3 AND status = 'running' RETURNING cancelling`, until, id, epoch)
	return len(rows) == 1 && rows[0], len(rows) == 1, err
}

// expiredRuns are runs that wait for an approval whose time is over.
func expiredRuns(ctx context.Context, q db.Querier, now time.Time, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) },
		`SELECT run_id FROM ai_approvals WHERE status = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT $2`, now, limit)
}

// removeOldRuns removes runs that nothing refers to any more.
func removeOldRuns(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM ai_runs WHERE id IN (SELECT id FROM ai_runs r WHERE created_at < $1 AND conversation_id IS NULL AND finished_at IS NOT NULL AND (billed OR charged = 0)
		AND NOT EXISTS (SELECT 1 FROM ai_changes WHERE run_id = r.id) ORDER BY created_at LIMIT $2)`, before, limit)
}

// event is a row of ai_events.
type event struct {
	seq       int64
	typ, data string
	createdAt time.Time
}

func scanEvent(row db.Row) (e event, err error) {
	return e, row.Scan(&e.seq, &e.typ, &e.data, &e.createdAt)
}

func insertEvent(ctx context.Context, tx *db.Tx, runID int64, e event) error {
	_, err := tx.Exec(ctx, `INSERT INTO ai_events (run_id, seq, type, data, created_at) VALUES ($1, $2, $3, $4, $5)`, runID, e.seq, e.typ, e.data, e.createdAt)
	return err
}

// eventsAfter reads the events of a run behind a number, in their order.
func eventsAfter(ctx context.Context, q db.Querier, runID, seq int64, limit int) ([]event, error) {
	return db.Collect(ctx, q, scanEvent, `SELECT seq, type, data, created_at FROM ai_events WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, runID, seq, limit)
}

func removeOldEvents(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM ai_events WHERE created_at < $1 AND run_id IN (SELECT DISTINCT run_id FROM ai_events WHERE created_at < $1 LIMIT $2)`, before, limit)
}

// removeAll removes what the section keeps of an account.
func removeAll(ctx context.Context, tx *db.Tx, accountID int64) error {
	for _, statement := range []string{
		`DELETE FROM ai_events WHERE run_id IN (SELECT id FROM ai_runs WHERE account_id = $1)`,
		`DELETE FROM ai_messages WHERE conversation_id IN (SELECT id FROM ai_conversations WHERE account_id = $1)`,
		`DELETE FROM ai_calls WHERE run_id IN (SELECT id FROM ai_runs WHERE account_id = $1)`,
		`DELETE FROM ai_approvals WHERE account_id = $1`,
		`DELETE FROM ai_changes WHERE account_id = $1`,
		`DELETE FROM ai_blobs WHERE account_id = $1`,
		`DELETE FROM ai_runs WHERE account_id = $1`,
		`DELETE FROM ai_conversations WHERE account_id = $1`,
		`DELETE FROM ai_settings WHERE account_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, accountID); err != nil {
			return err
		}
	}
	return nil
}
