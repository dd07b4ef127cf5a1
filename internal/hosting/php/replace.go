package php

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// Settings returns how the programs of one of the account's services run, with the version that the panel has chosen where
// none was set. It asks the panel.
func (s *Service) Settings(ctx context.Context, accountID, serviceID int64) (panel.PHPSettings, error) {
	v, err := s.get(ctx, accountID, serviceID)
	return v.settings(), err
}

// settings are those that run, or are to run: another version than the panel's own choice can be told from it.
func (v view) settings() panel.PHPSettings {
	out := v.PHPSettings
	out.Version = v.version
	return out
}

// With returns the settings of a service after a change of version and options, which is judged as one of the interface, and
// is not made.
func (s *Service) With(ctx context.Context, accountID, serviceID int64, version *string, options map[string]json.RawMessage) (panel.PHPSettings, error) {
	v, err := s.get(ctx, accountID, serviceID)
	if err != nil {
		return panel.PHPSettings{}, err
	}
	before := v.row
	before.PHPSettings = v.settings()
	after, err := before.with(change{version: version, options: options}, v.offer, len(v.versions) > 0, v.most)
	return after.PHPSettings, err
}

// Replace sets the settings of a service, which must be as before: false when they are not. The panel follows at once, or by
// the job when it cannot be reached.
func (s *Service) Replace(ctx context.Context, accountID, serviceID int64, before, after panel.PHPSettings) (bool, error) {
	v, err := s.get(ctx, accountID, serviceID)
	if err != nil || !equal(v.settings(), before) {
		return false, err
	}
	replaced := false
	err = s.collection().Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, _ site.Site) error {
		now, err := s.of(ctx, tx, accountID, serviceID)
		if err != nil || !reflect.DeepEqual(now.PHPSettings, v.PHPSettings) { // somebody was faster
			return err
		}
		replaced = true
		now.PHPSettings = after
		if err := set(ctx, tx, now); err != nil {
			return err
		}
		return s.collection().Enqueue(ctx, tx, accountID, serviceID)
	})
	if err != nil || !replaced {
		return false, err
	}
	_ = s.Apply(ctx, accountID, serviceID) // the job goes on with it
	return true, nil
}

// equal compares settings; no options are no options, whether they are nil or empty.
func equal(a, b panel.PHPSettings) bool {
	return a.Version == b.Version && maps.Equal(a.Options, b.Options) && slices.Equal(a.Extensions, b.Extensions)
}
