package moves

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

var rows = db.Map(func(m *Move) db.Fields {
	return db.Fields{
		"id": &m.ID, "account_id": &m.AccountID, "service_id": &m.ServiceID, "kind": &m.Kind, "from_panel": &m.From, "to_panel": &m.To,
		"wanted": &m.Wanted.Node, "wanted_location": &m.Wanted.Location, "wanted_labels": db.JSON(&m.Wanted.Labels), "empty": &m.Empty, "backup_id": &m.BackupID, "backup_at": &m.BackupAt, "refused": db.JSON(&m.Refused), "epoch": &m.Epoch,
		"step": &m.Step, "step_at": &m.StepAt, "lowered_until": &m.LoweredUntil, "tries": &m.Tries, "pinned": &m.Pinned, "failure_key": &m.FailureKey, "cause": &m.Cause,
		"created_at": &m.CreatedAt, "held_at": &m.HeldAt, "committed_at": &m.CommittedAt, "opened_at": &m.OpenedAt, "left_at": &m.LeftAt, "closed_at": &m.ClosedAt,
	}
})

func found(m Move, err error) (Move, error) {
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return m, err
}

func get(ctx context.Context, q db.Querier, id int64) (Move, error) {
	return found(rows.Scan(q.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM moves_moves WHERE id = $1`, id)))
}

func lock(ctx context.Context, tx *db.Tx, id int64) (Move, error) {
	return found(rows.Scan(tx.QueryRow(ctx, `SELECT `+rows.Columns()+` FROM moves_moves WHERE id = $1`+tx.ForUpdate(), id)))
}

// insert adds a move at its first step; false when the service has one already.
func insert(ctx context.Context, tx *db.Tx, m Move) (id int64, ok bool, err error) {
	labels, err := json.Marshal(m.Wanted.Labels.With(nil, nil))
	if err != nil {
		return 0, false, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO moves_moves (account_id, service_id, kind, from_panel, wanted, empty, step, step_at, created_at, wanted_location,
			wanted_labels, backup_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11)
		ON CONFLICT (service_id) WHERE step NOT IN ('undo', 'leave', 'keep', 'closed') DO NOTHING RETURNING id`,
		m.AccountID, m.ServiceID, m.Kind, m.From, m.Wanted.Node, m.Empty, m.Step, tx.Now, m.Wanted.Location, string(labels), m.BackupAt).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// isHeld reports whether a move holds its service at present.
func isHeld(ctx context.Context, q db.Querier, id int64) (held bool, err error) {
	err = q.QueryRow(ctx, `SELECT held_at IS NOT NULL AND opened_at IS NULL AND closed_at IS NULL FROM moves_moves WHERE id = $1`, id).Scan(&held)
	return held, err
}

func write(ctx context.Context, tx *db.Tx, m Move) error {
	if m.Refused == nil {
		m.Refused = []int64{}
	}
	refused, err := json.Marshal(m.Refused)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE moves_moves SET to_panel = $1, backup_id = $2, refused = $3, epoch = $4, step = $5, step_at = $6, tries = $7,
			failure_key = $8, cause = $9, committed_at = $10, opened_at = $11, left_at = $12, closed_at = $13, pinned = $14, lowered_until = $15, backup_at = $16, held_at = $17
		WHERE id = $18`,
		m.To, m.BackupID, string(refused), m.Epoch, m.Step, m.StepAt, m.Tries, m.FailureKey, m.Cause, m.CommittedAt, m.OpenedAt, m.LeftAt,
		m.ClosedAt, m.Pinned, m.LoweredUntil, m.BackupAt, m.HeldAt, m.ID)
	return err
}

// open lists the moves of which something is left to do, in the order of their ids, after one of them.
func open(ctx context.Context, q db.Querier, after int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) },
		`SELECT id FROM moves_moves WHERE step <> 'closed' AND id > $1 ORDER BY id LIMIT $2`, after, limit)
}

// underWay is the move of a service that is not on the other machine yet; fault.NotFound when there is none.
func underWay(ctx context.Context, q db.Querier, serviceID int64) (Move, error) {
	return found(rows.Scan(q.QueryRow(ctx, selectUnderWay(), serviceID)))
}

// lockUnderWay is underWay, with the move locked until tx ends: what a step of it was about to commit is seen.
func lockUnderWay(ctx context.Context, tx *db.Tx, serviceID int64) (Move, error) {
	return found(rows.Scan(tx.QueryRow(ctx, selectUnderWay()+tx.ForUpdate(), serviceID)))
}

func selectUnderWay() string {
	return `SELECT ` + rows.Columns() + ` FROM moves_moves WHERE service_id = $1 AND step NOT IN ('undo', 'leave', 'keep', 'closed')`
}

// leftFrom lists the moves away from a panel of which something is left there. A machine that lives keeps the account unchanged
// until the step leave tells it where visitors and mail belong.
func leftFrom(ctx context.Context, q db.Querier, panelName string) ([]Move, error) {
	return db.Collect(ctx, q, rows.Scan, `SELECT `+rows.Columns()+` FROM moves_moves
		WHERE from_panel = $1 AND epoch IS NOT NULL AND step <> 'closed' AND (kind <> 'move' OR step = 'keep') ORDER BY id`, panelName)
}

// lookedAfter lists the services of which something is left on a panel, and that a move looks after.
func lookedAfter(ctx context.Context, q db.Querier, panelName string) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) },
		`SELECT service_id FROM moves_moves WHERE from_panel = $1 AND epoch IS NOT NULL AND step <> 'closed'`, panelName)
}

// leftOf are the panels on which something of a service is left: those that it has left, and those where a move has failed.
func leftOf(ctx context.Context, q db.Querier, serviceID int64) ([]string, error) {
	return db.Collect(ctx, q, func(row db.Row) (name string, err error) { return name, row.Scan(&name) },
		`SELECT CASE WHEN step = 'undo' THEN to_panel ELSE from_panel END FROM moves_moves
			WHERE service_id = $1 AND step <> 'closed' AND (epoch IS NOT NULL OR step = 'undo')`, serviceID)
}

// leftSince is when a service left the first of the machines on which something of it is left; nil when there is none.
func leftSince(ctx context.Context, q db.Querier, serviceID int64) (since *time.Time, err error) {
	err = q.QueryRow(ctx, `SELECT min(committed_at) FROM moves_moves WHERE service_id = $1 AND step <> 'closed' AND epoch IS NOT NULL`, serviceID).Scan(&since)
	return since, err
}

// list reads a page of the moves that a filter lets through, the newest first.
func list(ctx context.Context, q db.Querier, f Filter, p page.Params) (all []Move, total int, err error) {
	const where = ` FROM moves_moves WHERE (CAST($1 AS BIGINT) = 0 OR service_id = $1)
		AND (CAST($2 AS TEXT) = '' OR from_panel = $2 OR to_panel = $2)
		AND (NOT CAST($3 AS BOOLEAN) OR step NOT IN ('leave', 'keep', 'closed'))`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, f.ServiceID, f.Panel, f.Open).Scan(&total); err != nil {
		return nil, 0, err
	}
	all, err = db.Collect(ctx, q, rows.Scan, `SELECT `+rows.Columns()+where+` ORDER BY id DESC LIMIT $4 OFFSET $5`,
		f.ServiceID, f.Panel, f.Open, p.Limit(), p.Offset())
	return all, total, err
}

// forgetTarget notes of a move that failed that nothing of it is left on the machine to which the service was to come.
func forgetTarget(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE moves_moves SET to_panel = '' WHERE id = $1 AND step = 'undo'`, id)
	return err
}

// leaving counts the moves of services from a panel that are between the plan and the end.
func leaving(ctx context.Context, q db.Querier, panelName string) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM moves_moves
		WHERE from_panel = $1 AND kind = 'move' AND step NOT IN ('lower', 'plan', 'undo', 'leave', 'keep', 'closed')`, panelName).Scan(&n)
	return n, err
}

// failures counts the moves that failed of those that were begun with one. An evacuation begins its moves at one moment, which
// is of no other.
func failures(ctx context.Context, q db.Querier, m Move) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM moves_moves WHERE kind = 'move' AND from_panel = $1 AND created_at = $2 AND epoch IS NULL
		AND step IN ('undo', 'closed') AND failure_key NOT IN ($3, $4)`, m.From, m.CreatedAt, errCancelled.Key, errStopped.Key).Scan(&n)
	return n, err
}
