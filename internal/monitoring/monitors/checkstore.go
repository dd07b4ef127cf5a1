package monitors

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// checked is a row of monitors_checks.
type checked struct {
	id, monitorID, region      int64
	scheduledAt, checkedAt     time.Time
	ok                         bool
	httpStatus                 *int
	response                   *int64
	lookup, connect, tls, ttfb *int64
	errorKey, detail           *string
}

// insertChecks writes results, and tells which of them are new.
func insertChecks(ctx context.Context, tx *db.Tx, all []checked) (map[[3]int64]bool, error) {
	var rows db.Values
	for _, c := range all {
		rows.Add(c.monitorID, c.region, c.scheduledAt, c.checkedAt, c.ok, c.httpStatus, c.response, c.lookup, c.connect, c.tls, c.ttfb, c.errorKey, c.detail)
	}
	table, args := rows.Table(tx)
	fresh := map[[3]int64]bool{}
	_, err := db.Collect(ctx, tx, func(row db.Row) (struct{}, error) {
		var k [3]int64
		err := row.Scan(&k[0], &k[1], &k[2])
		fresh[k] = true
		return struct{}{}, err
	}, `INSERT INTO monitors_checks (monitor_id, region, scheduled_at, checked_at, ok, http_status, response_ms, dns_ms, connect_ms, tls_ms, ttfb_ms,
			error_key, error) `+table+` ON CONFLICT DO NOTHING RETURNING monitor_id, region, scheduled_at`, args...)
	return fresh, err
}

var checkRows = db.Map(func(c *checked) db.Fields {
	return db.Fields{
		"id": &c.id, "monitor_id": &c.monitorID, "region": &c.region, "scheduled_at": &c.scheduledAt,
		"checked_at": &c.checkedAt, "ok": &c.ok, "http_status": &c.httpStatus, "response_ms": &c.response,
		"dns_ms": &c.lookup, "connect_ms": &c.connect, "tls_ms": &c.tls, "ttfb_ms": &c.ttfb, "error_key": &c.errorKey,
		"error": &c.detail,
	}
})

// lastChecks are the newest checks of a monitor.
func lastChecks(ctx context.Context, q db.Querier, monitorID int64, most int) ([]checked, error) {
	return db.Collect(ctx, q, checkRows.Scan, `SELECT `+checkRows.Columns()+` FROM monitors_checks WHERE monitor_id = $1 ORDER BY scheduled_at DESC LIMIT $2`, monitorID, most)
}

// forgetChecks deletes up to so many of the oldest checks that are from before a time, and tells how many it deleted. Rows
// are in the order of their ids nearly as they are in that of their time.
func forgetChecks(ctx context.Context, tx *db.Tx, before time.Time, most int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM monitors_checks WHERE id IN (SELECT id FROM monitors_checks ORDER BY id LIMIT $1) AND checked_at < $2`, most, before)
}

func forgetHours(ctx context.Context, tx *db.Tx, before time.Time, most int) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM monitors_hours WHERE (monitor_id, region, start) IN (
		SELECT monitor_id, region, start FROM monitors_hours WHERE start < $1 ORDER BY start LIMIT $2)`, before, most)
}

const totalColumns = `checks, failures, up_ms, degraded_ms, down_ms, maintenance_ms, unknown_ms, responses, response_sum, response_min, response_max`

func (t *totals) fields() []any {
	return []any{
		&t.Checks, &t.Failures, &t.Up, &t.Degraded, &t.Down, &t.Maintenance, &t.Unknown, &t.Responses, &t.ResponseSum, &t.ResponseMin, &t.ResponseMax,
	}
}

// onRollup adds a row to the one that is there.
const onRollup = ` ON CONFLICT (monitor_id, region, start) DO UPDATE SET checks = t.checks + excluded.checks,
	failures = t.failures + excluded.failures, up_ms = t.up_ms + excluded.up_ms, degraded_ms = t.degraded_ms + excluded.degraded_ms,
	down_ms = t.down_ms + excluded.down_ms, maintenance_ms = t.maintenance_ms + excluded.maintenance_ms,
	unknown_ms = t.unknown_ms + excluded.unknown_ms, responses = t.responses + excluded.responses,
	response_sum = t.response_sum + excluded.response_sum,
	response_min = CASE WHEN excluded.responses = 0 THEN t.response_min
		WHEN t.responses = 0 OR excluded.response_min < t.response_min THEN excluded.response_min ELSE t.response_min END,
	response_max = CASE WHEN excluded.response_max > t.response_max THEN excluded.response_max ELSE t.response_max END`

func (r rollup) values() (v db.Values) {
	for k, t := range r {
		v.Add(k.monitor, int64(0), k.start, t.Checks, t.Failures, t.Up, t.Degraded, t.Down, t.Maintenance, t.Unknown, t.Responses, t.ResponseSum,
			t.ResponseMin, t.ResponseMax)
	}
	return v
}

func addHours(ctx context.Context, tx *db.Tx, r rollup) error {
	v := r.values()
	if v.Empty() {
		return nil
	}
	table, args := v.Table(tx)
	_, err := tx.Exec(ctx, `INSERT INTO monitors_hours AS t (monitor_id, region, start, `+totalColumns+`) `+table+onRollup, args...)
	return err
}

func addDays(ctx context.Context, tx *db.Tx, r rollup) error {
	v := r.values()
	if v.Empty() {
		return nil
	}
	table, args := v.Table(tx)
	_, err := tx.Exec(ctx, `INSERT INTO monitors_days AS t (monitor_id, region, start, `+totalColumns+`) `+table+onRollup, args...)
	return err
}

// point is an hour or a day of a monitor.
type point struct {
	start time.Time
	totals
}

func scanPoint(row db.Row) (p point, err error) {
	err = row.Scan(append([]any{&p.start}, p.fields()...)...)
	return p, err
}

func hours(ctx context.Context, q db.Querier, monitorID int64, from, to time.Time) ([]point, error) {
	return db.Collect(ctx, q, scanPoint, `SELECT start, `+totalColumns+` FROM monitors_hours
		WHERE monitor_id = $1 AND region = 0 AND start >= $2 AND start < $3 ORDER BY start`, monitorID, from, to)
}

func days(ctx context.Context, q db.Querier, monitorID int64, from, to time.Time) ([]point, error) {
	return db.Collect(ctx, q, scanPoint, `SELECT start, `+totalColumns+` FROM monitors_days
		WHERE monitor_id = $1 AND region = 0 AND start >= $2 AND start < $3 ORDER BY start`, monitorID, from, to)
}

// uptimes are the times in which monitors were there and were not, since each of several moments.
func uptimes(ctx context.Context, q db.Querier, ids []int64, hoursSince, daysSince [2]time.Time) (map[int64]*[4]totals, error) {
	all := map[int64]*[4]totals{}
	if len(ids) == 0 {
		return all, nil
	}
	read := func(table string, first int, since [2]time.Time) error {
		in, args := db.In(q, 3, ids)
		_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
			var id, up1, down1, up2, down2 int64
			err := row.Scan(&id, &up1, &down1, &up2, &down2)
			if all[id] == nil {
				all[id] = &[4]totals{}
			}
			all[id][first], all[id][first+1] = totals{Up: up1, Down: down1}, totals{Up: up2, Down: down2}
			return struct{}{}, err
		}, `SELECT monitor_id, CAST(SUM(CASE WHEN start >= $1 THEN up_ms + degraded_ms ELSE 0 END) AS BIGINT),
				CAST(SUM(CASE WHEN start >= $1 THEN down_ms ELSE 0 END) AS BIGINT),
				CAST(SUM(up_ms + degraded_ms) AS BIGINT), CAST(SUM(down_ms) AS BIGINT)
			FROM `+table+` WHERE region = 0 AND start >= $2 AND monitor_id `+in+` GROUP BY monitor_id`,
			append([]any{since[0], since[1]}, args...)...)
		return err
	}
	err := read("monitors_hours", 0, hoursSince)
	if err == nil {
		err = read("monitors_days", 2, daysSince)
	}
	return all, err
}
