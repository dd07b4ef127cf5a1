package php

import (
	"context"
	"encoding/json"
	"errors"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/site"
)

// of reads what should be of an account's service; one of which nothing was set has a row that is not
// stored.
func of(ctx context.Context, q db.Querier, accountID, serviceID int64) (row, error) {
	r := row{serviceID: serviceID, accountID: accountID, status: site.Active}
	var options, extensions string
	err := q.QueryRow(ctx, `SELECT version, options, extensions, status, failure_key, revision FROM php_settings
		WHERE service_id = $1 AND account_id = $2`, serviceID, accountID).
		Scan(&r.Version, &options, &extensions, &r.status, &r.failureKey, &r.revision)
	if errors.Is(err, db.ErrNoRows) {
		return r, nil
	}
	r.stored = true
	if err == nil {
		err = json.Unmarshal([]byte(options), &r.Options)
	}
	if err == nil {
		err = json.Unmarshal([]byte(extensions), &r.Extensions)
	}
	return r, err
}

// set writes what should be; the panel has to follow.
func set(ctx context.Context, tx *db.Tx, r row) error {
	options, err := json.Marshal(r.Options)
	if err != nil {
		return err
	}
	extensions, err := json.Marshal(r.Extensions)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO php_settings (service_id, account_id, version, options, extensions, status, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (service_id) DO UPDATE SET version = $3, options = $4, extensions = $5, status = $6, failure_key = NULL,
			revision = php_settings.revision + 1, updated_at = $7`,
		r.serviceID, r.accountID, r.Version, string(options), string(extensions), site.Pending, tx.Now)
	return err
}

// note writes how far the panel has followed, unless the row was changed since r was read.
func note(ctx context.Context, tx *db.Tx, r row, status site.Status, failureKey *string) error {
	_, err := tx.Exec(ctx, `UPDATE php_settings SET status = $1, failure_key = $2 WHERE service_id = $3 AND revision = $4`,
		status, failureKey, r.serviceID, r.revision)
	return err
}

func remove(ctx context.Context, tx *db.Tx, serviceID int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM php_settings WHERE service_id = $1`, serviceID)
	return err
}

// offered reads what a panel was seen to have; false when nobody saw it.
func offered(ctx context.Context, q db.Querier, name string) (o offer, known bool, err error) {
	var versions, extensions string
	err = q.QueryRow(ctx, `SELECT versions, extensions FROM php_panels WHERE panel = $1`, name).Scan(&versions, &extensions)
	if errors.Is(err, db.ErrNoRows) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(versions), &o.versions)
	}
	if err == nil {
		err = json.Unmarshal([]byte(extensions), &o.extensions)
	}
	return o, err == nil, err
}

func setOffered(ctx context.Context, tx *db.Tx, name string, o offer) error {
	versions, err := json.Marshal(o.versions)
	if err != nil {
		return err
	}
	extensions, err := json.Marshal(o.extensions)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO php_panels (panel, versions, extensions, seen_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (panel) DO UPDATE SET versions = $2, extensions = $3, seen_at = $4`, name, string(versions), string(extensions), tx.Now)
	return err
}

// seen is what a panel answered of an account, without what is the account's own.
func seen(state panel.PHPState) offer {
	o := offer{versions: state.Versions, extensions: map[string][]panel.PHPExtension{}}
	for version, choice := range state.Choice {
		for _, e := range choice {
			if e.State == panel.PHPEnabled {
				e.State = panel.PHPDisabled
			}
			o.extensions[version] = append(o.extensions[version], e)
		}
	}
	return o
}
