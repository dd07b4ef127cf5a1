package php

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

var rows = db.Map(func(r *row) db.Fields {
	return r.OnlyFields(db.Fields{"version": &r.Version, "options": db.JSON(&r.Options), "extensions": db.JSON(&r.Extensions)})
})

// collection describes the settings of services: one row, or none where nothing was set.
func (s *Service) collection() site.Collection[row, panel.PHP, panel.PHPSettings] {
	return site.Collection[row, panel.PHP, panel.PHPSettings]{
		Base:       s.Base,
		Capability: panel.CapPHP,
		Event:      "php",
		Job:        func(t site.Target) river.JobArgs { return applyArgs{t} },
		Table:      site.Table[row]{Name: "php_settings", Rows: rows, Key: "service_id"},
		On:         s.kind,
		Keys:       map[panel.Kind]*fault.Def{panel.ErrUnsupported: ErrVersion, panel.ErrInvalid: ErrRange},
	}
}

// of reads what should be of an account's service; one of which nothing was set has a row that is not
// stored.
func (s *Service) of(ctx context.Context, q db.Querier, accountID, serviceID int64) (row, error) {
	r, err := s.collection().Get(ctx, q, accountID, serviceID, serviceID)
	if errors.Is(err, fault.NotFound) {
		return row{Item: site.Item{Owned: site.Owned{ServiceID: serviceID, AccountID: accountID}, Status: site.Active}}, nil
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
		r.ServiceID, r.AccountID, r.Version, string(options), string(extensions), site.Pending, tx.Now)
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
