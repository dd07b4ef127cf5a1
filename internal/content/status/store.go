package status

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

var incidentRows = db.Map(func(n *Incident) db.Fields {
	return db.Fields{
		"id": &n.ID, "title": db.JSON(&n.Title), "impact": &n.Impact, "status": &n.Stage, "components": db.JSON(&n.Components),
		"started_at": &n.StartedAt, "resolved_at": &n.ResolvedAt,
	}
})

var updateRows = db.Map(func(u *Update) db.Fields {
	return db.Fields{"incident_id": &u.IncidentID, "status": &u.Stage, "body": db.JSON(&u.Body), "created_at": &u.CreatedAt}
})

var plannedRows = db.Map(func(p *Planned) db.Fields {
	return db.Fields{
		"id": &p.ID, "title": db.JSON(&p.Title), "components": db.JSON(&p.Components), "starts_at": &p.StartsAt, "ends_at": &p.EndsAt,
		"cancelled_at": &p.CancelledAt, "created_at": &p.AnnouncedAt,
	}
})

// most bounds the incidents, and the maintenance, that are shown.
const most = 50

// standing reads the newest incidents that go on.
func standing(ctx context.Context, q db.Querier) ([]Incident, error) {
	return db.Collect(ctx, q, incidentRows.Scan, `SELECT `+incidentRows.Columns()+` FROM status_incidents
		WHERE resolved_at IS NULL ORDER BY id DESC LIMIT $1`, most)
}

// ended reads the incidents that ended last, after a time.
func ended(ctx context.Context, q db.Querier, after time.Time) ([]Incident, error) {
	return db.Collect(ctx, q, incidentRows.Scan, `SELECT `+incidentRows.Columns()+` FROM status_incidents
		WHERE resolved_at > $1 ORDER BY resolved_at DESC, id DESC LIMIT $2`, after, most)
}

// addUpdates reads the updates of incidents.
func addUpdates(ctx context.Context, q db.Querier, incidents []Incident) error {
	if len(incidents) == 0 {
		return nil
	}
	ids, at := make([]int64, len(incidents)), map[int64]int{}
	for i, n := range incidents {
		ids[i], at[n.ID] = n.ID, i
	}
	condition, args := db.In(q, 1, ids)
	all, err := db.Collect(ctx, q, updateRows.Scan, `SELECT `+updateRows.Columns()+` FROM status_updates
		WHERE incident_id `+condition+` ORDER BY id DESC`, args...)
	for _, u := range all {
		n := &incidents[at[u.IncidentID]]
		n.Updates = append(n.Updates, u)
	}
	return err
}

func lockIncident(ctx context.Context, tx *db.Tx, id int64) (Incident, error) {
	n, err := incidentRows.Scan(tx.QueryRow(ctx, `SELECT `+incidentRows.Columns()+` FROM status_incidents WHERE id = $1`+tx.ForUpdate(), id))
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.Wrapf("there is no incident %d", id)
	}
	return n, err
}

func insertIncident(ctx context.Context, tx *db.Tx, n Incident) (id int64, err error) {
	title, keys, err := encoded(n.Title, n.Components)
	if err == nil {
		err = tx.QueryRow(ctx, `INSERT INTO status_incidents (title, impact, status, components, started_at)
			VALUES ($1, $2, $3, $4, $5) RETURNING id`, title, n.Impact, n.Stage, keys, tx.Now).Scan(&id)
	}
	return id, err
}

// putIncident writes what can change of an incident.
func putIncident(ctx context.Context, tx *db.Tx, n Incident) error {
	_, err := tx.Exec(ctx, `UPDATE status_incidents SET impact = $1, status = $2, resolved_at = $3 WHERE id = $4`,
		n.Impact, n.Stage, n.ResolvedAt, n.ID)
	return err
}

func insertUpdate(ctx context.Context, tx *db.Tx, u Update) (id int64, err error) {
	body, err := json.Marshal(u.Body)
	if err == nil {
		err = tx.QueryRow(ctx, `INSERT INTO status_updates (incident_id, status, body, created_at) VALUES ($1, $2, $3, $4) RETURNING id`,
			u.IncidentID, u.Stage, string(body), tx.Now).Scan(&id)
	}
	return id, err
}

// ahead reads the maintenance that is not over at a time, the next first.
func ahead(ctx context.Context, q db.Querier, now time.Time) ([]Planned, error) {
	return db.Collect(ctx, q, plannedRows.Scan, `SELECT `+plannedRows.Columns()+` FROM status_maintenance
		WHERE ends_at > $1 AND cancelled_at IS NULL ORDER BY starts_at, id LIMIT $2`, now, most)
}

// plannedWithin reads the maintenance that touches a time, also what was called off.
func plannedWithin(ctx context.Context, q db.Querier, from, to time.Time) ([]Planned, error) {
	return db.Collect(ctx, q, plannedRows.Scan, `SELECT `+plannedRows.Columns()+` FROM status_maintenance
		WHERE ends_at > $1 AND starts_at < $2 ORDER BY ends_at, id`, from, to)
}

func insertPlanned(ctx context.Context, tx *db.Tx, p Planned) (id int64, err error) {
	title, keys, err := encoded(p.Title, p.Components)
	if err == nil {
		err = tx.QueryRow(ctx, `INSERT INTO status_maintenance (title, components, starts_at, ends_at, created_at)
			VALUES ($1, $2, $3, $4, $5) RETURNING id`, title, keys, p.StartsAt, p.EndsAt, tx.Now).Scan(&id)
	}
	return id, err
}

// cancel calls maintenance off that is not over.
func cancel(ctx context.Context, tx *db.Tx, id int64) (Planned, error) {
	p, err := plannedRows.Scan(tx.QueryRow(ctx, `UPDATE status_maintenance SET cancelled_at = $1
		WHERE id = $2 AND cancelled_at IS NULL AND ends_at > $1 RETURNING `+plannedRows.Columns(), tx.Now, id))
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.Wrapf("there is no maintenance %d ahead", id)
	}
	return p, err
}

// encoded returns a text and keys as the tables have them.
func encoded(text map[string]string, keys []string) (title, list string, err error) {
	if keys == nil {
		keys = []string{}
	}
	t, err := json.Marshal(text)
	if err != nil {
		return "", "", err
	}
	k, err := json.Marshal(keys)
	return string(t), string(k), err
}

// day is the worst that was seen of a component on a day.
type day struct {
	Day       time.Time
	Component string
	Level     Level
}

// days reads the history from a day on, the oldest first.
func days(ctx context.Context, q db.Querier, from time.Time) ([]day, error) {
	return db.Collect(ctx, q, func(r db.Row) (d day, err error) {
		err = r.Scan(&d.Day, &d.Component, &d.Level)
		return d, err
	}, `SELECT day, component, level FROM status_days WHERE day >= $1 ORDER BY day, component`, from)
}

// noteDay makes the row of a component's day no better than its level.
func noteDay(ctx context.Context, tx *db.Tx, d day) error {
	_, err := tx.Exec(ctx, `INSERT INTO status_days (day, component, level) VALUES ($1, $2, $3)
		ON CONFLICT (day, component) DO UPDATE SET level = excluded.level WHERE status_days.level < excluded.level`,
		d.Day, d.Component, int(d.Level))
	return err
}

func deleteDays(ctx context.Context, tx *db.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, `DELETE FROM status_days WHERE day < $1`, before)
	return err
}
