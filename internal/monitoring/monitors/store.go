package monitors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/page"
)

var monitorRows = db.Map(func(m *monitor) db.Fields {
	return db.Fields{
		"id": &m.id, "account_id": &m.accountID, "service_id": &m.serviceID, "built_in": &m.builtIn, "shard": &m.shard,
		"name": &m.name, "settings": &m.rawSettings, "headers": &m.headers, "paused": &m.paused, "status": &m.status,
		"memory": db.JSON(&m.memory), "error_key": &m.errorKey, "last_checked_at": &m.lastCheckedAt,
		"last_status_change_at": &m.lastStatusChangeAt, "last_response_ms": &m.lastResponseMS,
		"last_beat_at": &m.lastBeatAt, "certificate": db.JSON(&m.certificate), "domain_expires_at": &m.domainExpiresAt,
		"badge_token": &m.badgeToken, "push_token": &m.push, "created_at": &m.createdAt,
	}
})

var columns = monitorRows.Columns()

func scan(row db.Row) (monitor, error) {
	m, err := monitorRows.Scan(row)
	if err == nil {
		err = json.Unmarshal([]byte(m.rawSettings), &m.settings)
	}
	return m, err
}

func insert(ctx context.Context, tx *db.Tx, m monitor, pushHash []byte) (id int64, err error) {
	raw, err := json.Marshal(m.settings)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `INSERT INTO monitors (account_id, service_id, built_in, shard, name, type, settings, headers, paused, pause_reason,
			status, memory, badge_token, push_hash, push_token, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '{}', $12, $13, $14, $15) RETURNING id`,
		m.accountID, m.serviceID, m.builtIn, m.shard, m.name, m.settings.Target.Type, string(raw), m.headers, m.paused, pauseReason(m.paused),
		m.status, m.badgeToken, pushHash, m.push, m.createdAt).Scan(&id)
	return id, err
}

// pauseReason is that of a monitor that its owner paused.
func pauseReason(paused bool) *string {
	if !paused {
		return nil
	}
	owner := pausedByOwner
	return &owner
}

const (
	pausedByOwner = "owner"
	pausedByPlan  = "plan"
)

func setSecrets(ctx context.Context, tx *db.Tx, id int64, headers, push []byte) error {
	_, err := tx.Exec(ctx, `UPDATE monitors SET headers = $1, push_token = $2 WHERE id = $3`, headers, push, id)
	return err
}

// put writes what an owner can change, and what the state machine keeps.
func put(ctx context.Context, tx *db.Tx, m monitor, reason *string) error {
	raw, err := json.Marshal(m.settings)
	if err != nil {
		return err
	}
	kept, err := json.Marshal(m.memory)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE monitors SET service_id = $1, name = $2, type = $3, settings = $4, headers = $5, paused = $6, pause_reason = $7,
			status = $8, memory = $9, error_key = $10, last_status_change_at = $11 WHERE id = $12`,
		m.serviceID, m.name, m.settings.Target.Type, string(raw), m.headers, m.paused, reason, m.status, string(kept), m.errorKey,
		m.lastStatusChangeAt, m.id)
	return err
}

func get(ctx context.Context, q db.Querier, accountID, id int64) (monitor, error) {
	return scan(q.QueryRow(ctx, `SELECT `+columns+` FROM monitors WHERE account_id = $1 AND id = $2`, accountID, id))
}

func lock(ctx context.Context, tx *db.Tx, accountID, id int64) (monitor, error) {
	return scan(tx.QueryRow(ctx, `SELECT `+columns+` FROM monitors WHERE account_id = $1 AND id = $2`+tx.ForUpdate(), accountID, id))
}

func byID(ctx context.Context, q db.Querier, id int64) (monitor, error) {
	return scan(q.QueryRow(ctx, `SELECT `+columns+` FROM monitors WHERE id = $1`, id))
}

func byBadge(ctx context.Context, q db.Querier, token string) (monitor, error) {
	return scan(q.QueryRow(ctx, `SELECT `+columns+` FROM monitors WHERE badge_token = $1`, token))
}

func lockByPush(ctx context.Context, tx *db.Tx, hash []byte) (monitor, error) {
	return scan(tx.QueryRow(ctx, `SELECT `+columns+` FROM monitors WHERE push_hash = $1`+tx.ForUpdate(), hash))
}

// builtInOf is the monitor that a service has by itself, locked.
func builtInOf(ctx context.Context, tx *db.Tx, serviceID int64) (monitor, error) {
	return scan(tx.QueryRow(ctx, `SELECT `+columns+` FROM monitors WHERE service_id = $1 AND built_in`+tx.ForUpdate(), serviceID))
}

// lockAll locks monitors, in the order of their ids.
func lockAll(ctx context.Context, tx *db.Tx, ids []int64) ([]monitor, error) {
	in, args := db.In(tx, 1, ids)
	return db.Collect(ctx, tx, scan, `SELECT `+columns+` FROM monitors WHERE id `+in+` ORDER BY id`+tx.ForUpdate(), args...)
}

// lockOfAccount locks an account's monitors that count for its plans, the oldest first.
func lockOfAccount(ctx context.Context, tx *db.Tx, accountID int64) ([]monitor, error) {
	return db.Collect(ctx, tx, scan, `SELECT `+columns+` FROM monitors WHERE account_id = $1 AND NOT built_in ORDER BY id`+tx.ForUpdate(), accountID)
}

// filter selects monitors; an empty member selects all.
type filter struct {
	serviceID   *int64 // 0: those of no service
	status, typ string
}

func list(ctx context.Context, q db.Querier, accountID int64, f filter, p page.Params) (rows []monitor, total int, err error) {
	where, args := ` FROM monitors WHERE account_id = $1`, []any{accountID}
	also := func(condition string, value any) {
		args = append(args, value)
		where += fmt.Sprintf(condition, len(args))
	}
	switch {
	case f.serviceID == nil:
	case *f.serviceID == 0:
		where += ` AND service_id IS NULL`
	default:
		also(` AND service_id = $%d`, *f.serviceID)
	}
	if f.status != "" {
		also(` AND status = $%d`, f.status)
	}
	if f.typ != "" {
		also(` AND type = $%d`, f.typ)
	}
	if err := q.QueryRow(ctx, `SELECT COUNT(*)`+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	query := fmt.Sprintf(`SELECT `+columns+where+` ORDER BY id DESC LIMIT $%d OFFSET $%d`, len(args)+1, len(args)+2)
	rows, err = db.Collect(ctx, q, scan, query, append(args, p.Limit(), p.Offset())...)
	return rows, total, err
}

// lockAccount lets the transactions that add monitors to an account follow one another.
func lockAccount(ctx context.Context, tx *db.Tx, accountID int64) error {
	if _, err := tx.Exec(ctx, `INSERT INTO monitors_accounts (account_id) VALUES ($1) ON CONFLICT DO NOTHING`, accountID); err != nil {
		return err
	}
	return tx.QueryRow(ctx, `SELECT account_id FROM monitors_accounts WHERE account_id = $1`+tx.ForUpdate(), accountID).Scan(&accountID)
}

// count counts an account's monitors that count for its plans.
func count(ctx context.Context, q db.Querier, accountID int64) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM monitors WHERE account_id = $1 AND NOT built_in`, accountID).Scan(&n)
	return n, err
}

func remove(ctx context.Context, tx *db.Tx, accountID, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM monitors WHERE account_id = $1 AND id = $2`, accountID, id)
	return err
}

func removeOfAccount(ctx context.Context, tx *db.Tx, accountID int64) error {
	if _, err := tx.Exec(ctx, `DELETE FROM monitors_accounts WHERE account_id = $1`, accountID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM monitors WHERE account_id = $1`, accountID)
	return err
}

// removeOfService removes what was about a service that has ended, but for what SLA still reads: the monitor that the
// service had by itself goes with its account.
func removeOfService(ctx context.Context, tx *db.Tx, accountID, serviceID int64) ([]int64, error) {
	return db.Collect(ctx, tx, scanID, `DELETE FROM monitors WHERE account_id = $1 AND service_id = $2 AND NOT built_in RETURNING id`, accountID, serviceID)
}

func scanID(row db.Row) (id int64, err error) {
	err = row.Scan(&id)
	return id, err
}

// builtIn are the monitors that services have by themselves, by service.
func builtIn(ctx context.Context, q db.Querier, services []int64) (map[int64]int64, error) {
	found := map[int64]int64{}
	if len(services) == 0 {
		return found, nil
	}
	in, args := db.In(q, 1, services)
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var service, id int64
		err := row.Scan(&service, &id)
		found[service] = id
		return struct{}{}, err
	}, `SELECT service_id, id FROM monitors WHERE built_in AND service_id `+in, args...)
	return found, err
}

// ofShards are the monitors of shards that are checked, in pieces: those whose id is above the given one.
func ofShards(ctx context.Context, q db.Querier, shards []int64, above int64, most int) ([]monitor, error) {
	in, args := db.In(q, 3, shards)
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM monitors WHERE id > $1 AND NOT paused AND shard `+in+` ORDER BY id LIMIT $2`,
		append([]any{above, most}, args...)...)
}

// revisionsOfShards is ofShards of what a revision is made of: the other members are empty.
func revisionsOfShards(ctx context.Context, q db.Querier, shards []int64, above int64, most int) ([]monitor, error) {
	in, args := db.In(q, 3, shards)
	return db.Collect(ctx, q, func(row db.Row) (m monitor, err error) { return m, row.Scan(&m.id, &m.rawSettings, &m.headers) },
		`SELECT id, settings, headers FROM monitors WHERE id > $1 AND NOT paused AND shard `+in+` ORDER BY id LIMIT $2`, append([]any{above, most}, args...)...)
}

// running are the monitors that are checked, in pieces: those whose id is above the given one.
func running(ctx context.Context, q db.Querier, above int64, most int) ([]monitor, error) {
	return db.Collect(ctx, q, scan, `SELECT `+columns+` FROM monitors WHERE id > $1 AND NOT paused ORDER BY id LIMIT $2`, above, most)
}

// outage is a row of monitors_outages.
type outage struct {
	id, monitorID int64
	startedAt     time.Time
	endedAt       *time.Time
	cause         string
	regions       []int64
	confirmedBy   int
}

const outageColumns = `id, monitor_id, started_at, ended_at, cause, regions, confirmed_by`

func scanOutage(row db.Row) (o outage, err error) {
	var regions string
	err = row.Scan(&o.id, &o.monitorID, &o.startedAt, &o.endedAt, &o.cause, &regions, &o.confirmedBy)
	if err == nil {
		err = json.Unmarshal([]byte(regions), &o.regions)
	}
	return o, err
}

func openOutage(ctx context.Context, tx *db.Tx, o outage) (int64, error) {
	if o.regions == nil {
		o.regions = []int64{}
	}
	regions, err := json.Marshal(o.regions)
	if err != nil {
		return 0, err
	}
	var id int64
	err = tx.QueryRow(ctx, `INSERT INTO monitors_outages (monitor_id, started_at, cause, regions, confirmed_by) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT DO NOTHING RETURNING id`, o.monitorID, o.startedAt, o.cause, string(regions), o.confirmedBy).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// openOutageOf is the outage of a monitor that goes on; 0 when there is none.
func openOutageOf(ctx context.Context, tx *db.Tx, monitorID int64) (id int64, err error) {
	err = tx.QueryRow(ctx, `SELECT id FROM monitors_outages WHERE monitor_id = $1 AND ended_at IS NULL`, monitorID).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

func endOutage(ctx context.Context, tx *db.Tx, monitorID int64, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE monitors_outages SET ended_at = CASE WHEN started_at > $1 THEN started_at ELSE $1 END
		WHERE monitor_id = $2 AND ended_at IS NULL`, at, monitorID)
	return err
}

// outages are those of a monitor that touch a time, the newest first.
func outages(ctx context.Context, q db.Querier, monitorID int64, from, to time.Time, most int) ([]outage, error) {
	return db.Collect(ctx, q, scanOutage, `SELECT `+outageColumns+` FROM monitors_outages
		WHERE monitor_id = $1 AND started_at < $2 AND (ended_at IS NULL OR ended_at > $3) ORDER BY started_at DESC LIMIT $4`, monitorID, to, from, most)
}
