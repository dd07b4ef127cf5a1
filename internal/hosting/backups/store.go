package backups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

// table has the backups of services. No panel follows its rows: each is a task, whose status is that of the task.
var table = site.Table[backup]{
	Name: "backups", Plain: true, Order: "id DESC",
	Rows: db.Map(func(b *backup) db.Fields {
		return b.Fields(db.Fields{
			"kind": &b.kind, "final": &b.final, "status": &b.status, "parts": db.JSON(&b.parts), "size_bytes": &b.size, "storage": &b.storage,
			"note": &b.note, "error_key": &b.errorKey, "created_at": &b.createdAt, "finished_at": &b.finishedAt, "expires_at": &b.expiresAt,
		})
	}),
}

// list reads one page of the backups of an account's service, the newest first.
func list(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []backup, total int, err error) {
	if rows, total, err = table.List(ctx, q, accountID, serviceID, p); err != nil {
		return nil, 0, err
	}
	return rows, total, addRestores(ctx, q, serviceID, rows)
}

// withNote reads the backups of a service by hand with a note.
func withNote(ctx context.Context, q db.Querier, serviceID int64, note string) ([]backup, error) {
	return table.Where(ctx, q, `service_id = $1 AND kind = $2 AND note = $3 ORDER BY id`, serviceID, Manual, note)
}

// addRestores gives each backup its newest restore.
func addRestores(ctx context.Context, q db.Querier, serviceID int64, rows []backup) error {
	all, err := restores.Where(ctx, q, `id IN (SELECT MAX(id) FROM backups_restores WHERE service_id = $1 GROUP BY backup_id)`, serviceID)
	for _, r := range all {
		for i := range rows {
			if rows[i].ID == r.backupID {
				rows[i].last = &r
			}
		}
	}
	return err
}

// getOwn reads a backup of the account's service, with its newest restore.
func getOwn(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (backup, error) {
	b, err := table.Get(ctx, q, accountID, serviceID, id)
	if err != nil {
		return b, err
	}
	one := []backup{b}
	err = addRestores(ctx, q, serviceID, one)
	return one[0], err
}

// isBusy tells whether something is under way with the backups of a service.
func isBusy(ctx context.Context, q db.Querier, serviceID int64) (is bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM backups WHERE service_id = $1 AND status IN ('queued', 'running'))
		OR EXISTS (SELECT 1 FROM backups_restores WHERE service_id = $1 AND status NOT IN ('completed', 'failed'))`, serviceID).Scan(&is)
	return is, err
}

// count counts what the plan's limit is about.
func count(ctx context.Context, q db.Querier, serviceID int64) (auto, manual int64, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE(SUM(CASE WHEN kind = 'auto' THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN kind = 'manual' THEN 1 ELSE 0 END), 0)
		FROM backups WHERE service_id = $1 AND status NOT IN ('failed', 'deleted')`, serviceID).Scan(&auto, &manual)
	return auto, manual, err
}

func insert(ctx context.Context, tx *db.Tx, b backup) (id int64, err error) {
	return table.Insert(ctx, tx, b.AccountID, b.ServiceID, site.Values{
		"kind": b.kind, "final": b.final, "status": Queued, "parts": marshal(b.parts), "note": b.note,
	})
}

// setRunning notes how far the panel is with a backup.
func setRunning(ctx context.Context, tx *db.Tx, id int64, parts []part, size int64) error {
	_, err := tx.Exec(ctx, `UPDATE backups SET status = $1, parts = $2, size_bytes = $3 WHERE id = $4 AND status IN ('queued', 'running')`,
		Running, marshal(parts), size, id)
	return err
}

// setEnded notes the end of a backup's making; false when it was noted before.
func setEnded(ctx context.Context, tx *db.Tx, b backup) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE backups SET status = $1, parts = $2, size_bytes = $3, storage = $4, error_key = $5, finished_at = $6,
			expires_at = $7, passport = $9 WHERE id = $8 AND status IN ('queued', 'running')`,
		b.status, marshal(b.parts), b.size, b.storage, b.errorKey, tx.Now, b.expiresAt, b.ID, b.passport)
	return n == 1, err
}

// setStatus moves a backup whose making has ended; false when it is not in the state
// that it leaves.
func setStatus(ctx context.Context, tx *db.Tx, id int64, from, to Status) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE backups SET status = $1 WHERE id = $2 AND status = $3`, to, id, from)
	return n == 1, err
}

// setDamaged notes that a backup cannot be read back.
func setDamaged(ctx context.Context, tx *db.Tx, id int64) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE backups SET status = $1, error_key = $2 WHERE id = $3 AND status IN ('completed', 'restoring')`,
		Failed, ErrNotRestorable.Key, id)
	return n == 1, err
}

// setOrdinary makes the final backup of a service that came back one like others, and so those that failed before it.
func setOrdinary(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `UPDATE backups SET final = FALSE WHERE service_id = $1`, serviceID)
	return err
}

// takeExpired marks backups as deleted whose time is over.
func takeExpired(ctx context.Context, tx *db.Tx, limit int) ([]int64, error) {
	return db.Collect(ctx, tx, scanID, `UPDATE backups SET status = 'deleted' WHERE id IN (
			SELECT id FROM backups WHERE status IN ('completed', 'failed') AND expires_at <= $1 ORDER BY expires_at LIMIT $2)
		RETURNING id`, tx.Now, limit)
}

func scanID(row db.Row) (id int64, err error) {
	err = row.Scan(&id)
	return id, err
}

func remove(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM backups WHERE id = $1 AND status = 'deleted'`, id)
	return err
}

// unfinished lists backups whose making began before a time and has not ended, in the order of their ids.
func unfinished(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, scanID, `SELECT id FROM backups WHERE status IN ('queued', 'running') AND created_at <= $1 AND id > $2
		ORDER BY id LIMIT $3`, before, after, limit)
}

// unfinishedRestores is unfinished for restores.
func unfinishedRestores(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, scanID, `SELECT id FROM backups_restores WHERE status NOT IN ('completed', 'failed') AND created_at <= $1
		AND id > $2 ORDER BY id LIMIT $3`, before, after, limit)
}

// deleted lists backups that were made before a time and are still to go.
func deleted(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, scanID, `SELECT id FROM backups WHERE status = 'deleted' AND created_at <= $1 AND id > $2
		ORDER BY id LIMIT $3`, before, after, limit)
}

// restores has the restores of backups.
var restores = site.Table[restore]{
	Name: "backups_restores", Plain: true,
	Rows: db.Map(func(r *restore) db.Fields {
		return r.Fields(db.Fields{
			"backup_id": &r.backupID, "pre_backup_id": &r.preBackupID, "parts": db.JSON(&r.parts), "items": db.JSON(&r.items),
			"target": &r.target, "status": &r.status, "error_key": &r.errorKey, "created_at": &r.createdAt, "finished_at": &r.finishedAt,
		})
	}),
}

func insertRestore(ctx context.Context, tx *db.Tx, r restore) (id int64, err error) {
	if r.items == nil {
		r.items = []string{}
	}
	return restores.Insert(ctx, tx, r.AccountID, r.ServiceID, site.Values{
		"backup_id": r.backupID, "pre_backup_id": r.preBackupID, "parts": marshal(r.parts), "items": marshal(r.items), "target": r.target,
		"status": waiting,
	})
}

// setStep moves a restore on; false when it is elsewhere already.
func setStep(ctx context.Context, tx *db.Tx, id int64, from, to step) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE backups_restores SET status = $1 WHERE id = $2 AND status = $3`, to, id, from)
	return n == 1, err
}

// endRestore notes the end of a restore; false when it was noted before.
func endRestore(ctx context.Context, tx *db.Tx, id int64, to step, errorKey *string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE backups_restores SET status = $1, error_key = $2, finished_at = $3
		WHERE id = $4 AND status NOT IN ('completed', 'failed')`, to, errorKey, tx.Now, id)
	return n == 1, err
}

func insertSchedule(ctx context.Context, tx *db.Tx, t site.Target, due, check time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO backups_schedules (service_id, account_id, due_at, check_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (service_id) DO NOTHING`, t.ServiceID, t.AccountID, due, check)
	return err
}

// setDue has an automatic backup of a service made at once.
func setDue(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `UPDATE backups_schedules SET due_at = $1 WHERE service_id = $2`, tx.Now, serviceID)
	return err
}

func removeSchedule(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM backups_schedules WHERE service_id = $1`, serviceID)
	return err
}

// takeSchedules makes a function that lists services whose column is due, and puts each off until its own next time.
func takeSchedules(column string, every time.Duration) func(ctx context.Context, tx *db.Tx, limit int) ([]site.Target, error) {
	return func(ctx context.Context, tx *db.Tx, limit int) ([]site.Target, error) {
		due, err := db.Collect(ctx, tx, site.ScanTarget, fmt.Sprintf(`SELECT account_id, service_id FROM backups_schedules
			WHERE %[1]s <= $1 ORDER BY %[1]s LIMIT $2`, column)+tx.ForUpdate(), tx.Now, limit)
		if err != nil {
			return nil, err
		}
		for _, t := range due {
			_, err := tx.Exec(ctx, fmt.Sprintf(`UPDATE backups_schedules SET %s = $1 WHERE service_id = $2`, column),
				nextAt(tx.Now, t.ServiceID, every), t.ServiceID)
			if err != nil {
				return nil, err
			}
		}
		return due, nil
	}
}

// finalOf is the newest final backup of a service; false when there is none.
func finalOf(ctx context.Context, q db.Querier, serviceID int64) (b backup, ok bool, err error) {
	all, err := table.Where(ctx, q, `service_id = $1 AND final AND status <> 'deleted' ORDER BY id DESC LIMIT 1`, serviceID)
	if err != nil || len(all) == 0 {
		return b, false, err
	}
	return all[0], true, nil
}

// finalsKept are the services whose final backup is complete.
func finalsKept(ctx context.Context, q db.Querier, serviceIDs []int64) ([]int64, error) {
	in, args := db.In(q, 1, serviceIDs)
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) }, `SELECT service_id FROM backups
		WHERE id IN (SELECT MAX(id) FROM backups WHERE service_id `+in+` AND final AND status <> 'deleted' GROUP BY service_id)
		AND status = 'completed'`, args...)
}

func countFailedFinals(ctx context.Context, q db.Querier, serviceID int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM backups WHERE service_id = $1 AND final AND status = 'failed'`, serviceID).Scan(&n)
	return n, err
}

// newestComplete is when the newest backup of a service was complete; nil when there is none.
func newestComplete(ctx context.Context, q db.Querier, serviceID int64) (at *time.Time, err error) {
	err = q.QueryRow(ctx, `SELECT finished_at FROM backups WHERE service_id = $1 AND status IN ('completed', 'restoring') ORDER BY id DESC LIMIT 1`,
		serviceID).Scan(&at)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	return at, err
}
