package runs

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

var changeRows = db.Map(func(c *change) db.Fields {
	return db.Fields{
		"id": &c.id, "account_id": &c.accountID, "service_id": &c.serviceID, "run_id": &c.runID, "call_id": &c.callID, "undo_of": &c.undoOf,
		"kind": &c.kind, "path": &c.path, "to_path": &c.toPath, "before_hash": &c.before, "after_hash": &c.after, "diff": &c.diff,
		"bytes": &c.bytes, "status": &c.status, "created_at": &c.createdAt, "settled_at": &c.settledAt,
	}
})

// insertChanges writes changes that are to be made. Their ids were taken before.
func insertChanges(ctx context.Context, tx *db.Tx, all []change) error {
	var rows db.Values
	for _, c := range all {
		rows.Add(c.id, c.accountID, c.serviceID, c.runID, c.callID, c.undoOf, string(c.kind), c.path, c.toPath, c.before, c.after, c.diff, c.bytes,
			string(prepared), tx.Now)
	}
	if rows.Empty() {
		return nil
	}
	table, args := rows.Table(tx)
	_, err := tx.Exec(ctx, `INSERT INTO ai_changes (id, account_id, service_id, run_id, call_id, undo_of, kind, path, to_path, before_hash, after_hash, diff, bytes,
		status, created_at) `+table, args...)
	return err
}

// settleChange notes what became of a prepared change, and that the one which it undoes is undone.
func settleChange(ctx context.Context, tx *db.Tx, c change, status changeStatus) error {
	n, err := tx.Exec(ctx, `UPDATE ai_changes SET status = $1, settled_at = $2 WHERE id = $3 AND status = 'prepared'`, status, tx.Now, c.id)
	if err != nil || n == 0 || c.undoOf == nil || status != applied {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE ai_changes SET status = 'undone' WHERE id = $1`, *c.undoOf)
	return err
}

// changesOf reads all changes of a run, in their order.
func changesOf(ctx context.Context, q db.Querier, runID int64) ([]change, error) {
	return db.Collect(ctx, q, changeRows.Scan, `SELECT `+changeRows.Columns()+` FROM ai_changes WHERE run_id = $1 ORDER BY id`, runID)
}

// changeOf reads a change of one of the account's services.
func changeOf(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (change, error) {
	return changeRows.Scan(q.QueryRow(ctx, `SELECT `+changeRows.Columns()+` FROM ai_changes WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID))
}

// changesFrom reads the changes of a service from one on that were made.
func changesFrom(ctx context.Context, q db.Querier, serviceID, id int64, limit int) ([]change, error) {
	return db.Collect(ctx, q, changeRows.Scan, `SELECT `+changeRows.Columns()+` FROM ai_changes
		WHERE service_id = $1 AND id >= $2 AND status = 'applied' ORDER BY id LIMIT $3`, serviceID, id, limit)
}

// listChanges reads a page of a service's changes, the newest first; with a run only its own.
func listChanges(ctx context.Context, q db.Querier, accountID, serviceID, runID int64, p page.Params) ([]change, error) {
	return db.Collect(ctx, q, changeRows.Scan, `SELECT `+changeRows.Columns()+` FROM ai_changes
		WHERE service_id = $1 AND account_id = $2 AND (CAST($3 AS BIGINT) = 0 OR run_id = $3) ORDER BY id DESC LIMIT $4 OFFSET $5`, serviceID, accountID, runID, p.Limit(), p.Offset())
}

func countChanges(ctx context.Context, q db.Querier, accountID, serviceID, runID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM ai_changes WHERE service_id = $1 AND account_id = $2 AND (CAST($3 AS BIGINT) = 0 OR run_id = $3)`, serviceID, accountID, runID).Scan(&n)
	return n, err
}

// keptFor is how long a change can be undone.
const keptFor = 90 * 24 * time.Hour

// putBlob keeps a content of a file of a service.
func putBlob(ctx context.Context, tx *db.Tx, c change, content []byte) error {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = zip.Write(content) // into a buffer
	if err := zip.Close(); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO ai_blobs (service_id, hash, account_id, content, stored, kept_until) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (service_id, hash) DO UPDATE SET kept_until = excluded.kept_until`,
		c.serviceID, hashOf(content), c.accountID, packed.Bytes(), packed.Len(), tx.Now.Add(keptFor))
	return err
}

// blobOf reads a content.
func blobOf(ctx context.Context, q db.Querier, serviceID int64, hash string) ([]byte, error) {
	var packed []byte
	if err := q.QueryRow(ctx, `SELECT content FROM ai_blobs WHERE service_id = $1 AND hash = $2`, serviceID, hash).Scan(&packed); err != nil {
		return nil, fmt.Errorf("runs: content %s of service %d: %w", hash, serviceID, err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(zip, mostEdited+1))
}

// keptBytes is the room that the contents of a service take.
func keptBytes(ctx context.Context, q db.Querier, serviceID int64) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(stored), 0) AS BIGINT) FROM ai_blobs WHERE service_id = $1`, serviceID).Scan(&n)
	return n, err
}

// keepBlobs keeps contents that an undo needs for as long as the undo can be undone.
func keepBlobs(ctx context.Context, tx *db.Tx, serviceID int64, hashes []string) error {
	if len(hashes) == 0 {
		return nil
	}
	in, args := db.In(tx, 3, hashes)
	_, err := tx.Exec(ctx, `UPDATE ai_blobs SET kept_until = $1 WHERE service_id = $2 AND hash `+in, append([]any{tx.Now.Add(keptFor), serviceID}, args...)...)
	return err
}

func removeOldBlobs(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM ai_blobs WHERE kept_until < $1 AND (service_id, hash) IN (
		SELECT service_id, hash FROM ai_blobs WHERE kept_until < $1 ORDER BY kept_until LIMIT $2)`, before, limit)
}

// holdsFiles is the condition of a change that has files in the trash.
const holdsFiles = `(kind = 'extract' OR kind = 'delete' AND status = 'applied')`

// oldTrash are changes that are too old to be undone and have files in the trash, after a place in the list.
func oldTrash(ctx context.Context, q db.Querier, before time.Time, after row, limit int) ([]change, error) {
	return db.Collect(ctx, q, changeRows.Scan, `SELECT `+changeRows.Columns()+` FROM ai_changes
		WHERE created_at < $1 AND (created_at > $2 OR created_at = $2 AND id > $3) AND `+holdsFiles+` ORDER BY created_at, id LIMIT $4`,
		before, after.at, after.id, limit)
}

// removeOldChanges removes changes that are too old to be undone and have no files in the trash.
func removeOldChanges(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM ai_changes WHERE id IN (
		SELECT id FROM ai_changes WHERE created_at < $1 AND NOT `+holdsFiles+` ORDER BY created_at LIMIT $2)`, before, limit)
}

func removeChange(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM ai_changes WHERE id = $1`, id)
	return err
}
