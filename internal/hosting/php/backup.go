package php

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// Export answers the settings of a service for its backup; nil when nothing was set.
func (s *Service) Export(ctx context.Context, q db.Querier, accountID, serviceID int64) (json.RawMessage, error) {
	r, err := s.of(ctx, q, accountID, serviceID)
	if err != nil || !r.stored() {
		return nil, err
	}
	return json.Marshal(r.PHPSettings)
}

// Import gives a service that came back the settings that it had. A version that its machine no longer
// has is left to the machine, extensions that it no longer has are left out, and a plan that has less
// memory by now is a refusal.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, _ []string) error {
	var kept panel.PHPSettings
	return s.collection().Import(ctx, tx, accountID, serviceID, document, &kept, func(on site.Site, _ []row) error {
		before, o, known, err := s.present(ctx, tx, on, accountID, serviceID)
		if err != nil {
			return err
		}
		c := change{options: map[string]json.RawMessage{}}
		if kept.Version != "" && (!known || slices.Contains(o.versions, kept.Version)) {
			c.version = &kept.Version
		}
		for name, value := range kept.Options {
			if c.options[name], err = json.Marshal(value); err != nil {
				return err
			}
		}
		version := cmp.Or(before.Version, newest(o.versions))
		if c.version != nil {
			version = *c.version
		}
		has, seen := o.extensions[version]
		for _, name := range kept.Extensions {
			if seen && !slices.ContainsFunc(has, func(e panel.PHPExtension) bool { return e.Name == name }) {
				continue
			}
			c.extensions = append(c.extensions, extension{name, true})
		}
		after, err := before.with(c, o, known, memory(on))
		if err != nil {
			return err
		}
		return set(ctx, tx, after)
	})
}
