package templates

import (
	"context"
	"encoding/json"
	"errors"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

var installationRows = db.Map(func(i *Installation) db.Fields {
	return db.Fields{
		"id": &i.ID, "service_id": &i.ServiceID, "account_id": &i.AccountID, "slug": &i.Slug, "language": &i.Language,
		"title": &i.Title, "directory": &i.Directory, "overwrite": &i.Overwrite, "status": &i.Status,
		"failure_key": &i.FailureKey, "kept_in": &i.KeptIn, "created_at": &i.CreatedAt, "finished_at": &i.FinishedAt,
	}
})

// ofService reads what was last put on a service of the account, or returns fault.NotFound.
func ofService(ctx context.Context, q db.Querier, accountID, serviceID int64) (Installation, error) {
	i, err := installationRows.Scan(q.QueryRow(ctx, `SELECT `+installationRows.Columns()+` FROM templates_installations WHERE service_id = $1 AND account_id = $2`, serviceID, accountID))
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return i, err
}

// find reads an installation that is to be done; false when it is finished, or gave way to another.
func find(ctx context.Context, q db.Querier, id int64) (Installation, bool, error) {
	i, err := installationRows.Scan(q.QueryRow(ctx, `SELECT `+installationRows.Columns()+` FROM templates_installations WHERE id = $1 AND status = $2`, id, Pending))
	if errors.Is(err, db.ErrNoRows) {
		return i, false, nil
	}
	return i, err == nil, err
}

// isRunning reports whether a job is at work on the service's site. The service is locked.
func isRunning(ctx context.Context, tx *db.Tx, serviceID int64) (running bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM templates_installations WHERE service_id = $1 AND status = $2 AND created_at > $3)`,
		serviceID, Pending, tx.Now.Add(-abandoned)).Scan(&running)
	return running, err
}

// replace writes the installation in the place of the service's last one.
func replace(ctx context.Context, tx *db.Tx, i Installation) (Installation, error) {
	if _, err := tx.Exec(ctx, `DELETE FROM templates_installations WHERE service_id = $1`, i.ServiceID); err != nil {
		return i, err
	}
	return installationRows.Scan(tx.QueryRow(ctx, `INSERT INTO templates_installations (service_id, account_id, slug, language, title, directory, overwrite, status,
			created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING `+installationRows.Columns(),
		i.ServiceID, i.AccountID, i.Slug, i.Language, i.Title, i.Directory, i.Overwrite, i.Status, tx.Now))
}

// noteAbsent writes which files of the template were not there, unless an earlier run has, and returns what is written.
func noteAbsent(ctx context.Context, tx *db.Tx, id int64, names []string) (first []string, err error) {
	encoded, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	var noted string
	err = tx.QueryRow(ctx, `UPDATE templates_installations SET absent = COALESCE(absent, CAST($1 AS TEXT)) WHERE id = $2 RETURNING absent`, string(encoded), id).Scan(&noted)
	if err == nil {
		err = json.Unmarshal([]byte(noted), &first)
	}
	return first, err
}

// finish writes the end of an installation; a second run writes nothing, which is false.
func finish(ctx context.Context, tx *db.Tx, id int64, status Status, failureKey *string, keptIn string) (first bool, err error) {
	changed, err := tx.Exec(ctx, `UPDATE templates_installations SET status = $1, failure_key = $2, kept_in = $3, finished_at = $4
		WHERE id = $5 AND status = $6`, status, failureKey, keptIn, tx.Now, id, Pending)
	return changed > 0, err
}

func forget(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM templates_installations WHERE account_id = $1`, accountID)
	return err
}

// used counts the services that have each template.
func used(ctx context.Context, q db.Querier) (map[string]int, error) {
	counts := map[string]int{}
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var (
			slug string
			n    int
		)
		err := row.Scan(&slug, &n)
		counts[slug] = n
		return struct{}{}, err
	}, `SELECT slug, count(*) FROM templates_installations WHERE status = $1 GROUP BY slug`, Completed)
	return counts, err
}

// hidden reads the ids of the templates that are not offered.
func hidden(ctx context.Context, q db.Querier) (map[int64]bool, error) {
	ids := map[int64]bool{}
	_, err := db.Collect(ctx, q, func(row db.Row) (struct{}, error) {
		var id int64
		err := row.Scan(&id)
		ids[id] = true
		return struct{}{}, err
	}, `SELECT template_id FROM templates_hidden`)
	return ids, err
}

func isHidden(ctx context.Context, q db.Querier, id int64) (out bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM templates_hidden WHERE template_id = $1)`, id).Scan(&out)
	return out, err
}

func hide(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO templates_hidden (template_id) VALUES ($1) ON CONFLICT (template_id) DO NOTHING`, id)
	return err
}

func show(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM templates_hidden WHERE template_id = $1`, id)
	return err
}
