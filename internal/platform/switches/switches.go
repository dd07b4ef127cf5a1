// Package switches holds which sections of the platform the operator has switched off (specification, "General rules"):
// they answer 404 and disappear from GET /api/v1/me. Every replica applies a change within a second.
package switches

import (
	"context"
	"fmt"
	"log/slog"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/signal"
)

const topic = "sections"

// Switches answers from memory; the database is read at start and when a
// change is signalled.
type Switches struct {
	db  *db.DB
	hub *signal.Hub
	off *signal.Copy[map[api.Section]bool]
}

// Load reads the switches and follows their changes.
func Load(ctx context.Context, d *db.DB, hub *signal.Hub, log *slog.Logger) (*Switches, error) {
	s := &Switches{db: d, hub: hub}
	s.off = signal.NewCopy(nil, s.read)
	if err := s.off.Follow(ctx, hub, topic, log); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Switches) read(ctx context.Context) (map[api.Section]bool, error) {
	names, err := db.Collect(ctx, s.db, func(r db.Row) (name string, err error) {
		err = r.Scan(&name)
		return name, err
	}, `SELECT section FROM section_switches WHERE NOT enabled`)
	if err != nil {
		return nil, fmt.Errorf("read sections: %w", err)
	}
	off := map[api.Section]bool{}
	for _, n := range names {
		off[api.Section(n)] = true
	}
	return off, nil
}

// Enabled tells whether the section is switched on. Sections are on unless
// switched off.
func (s *Switches) Enabled(section api.Section) bool { return !s.off.Get()[section] }

// Set switches a section on or off.
func (s *Switches) Set(ctx context.Context, tx *db.Tx, section api.Section, on bool) error {
	_, err := tx.Exec(ctx, `INSERT INTO section_switches (section, enabled, changed_at) VALUES ($1, $2, $3)
		ON CONFLICT (section) DO UPDATE SET enabled = excluded.enabled, changed_at = excluded.changed_at`,
		string(section), on, tx.Now)
	if err != nil {
		return err
	}
	return s.hub.Send(ctx, tx, topic, string(section))
}
