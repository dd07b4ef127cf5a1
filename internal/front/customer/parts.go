package customer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/clock"
	stead "stead.dev/stead/sdk/go"
)

// AllBackups returns the backups of a service, the newest first.
func (s *Session) AllBackups(ctx context.Context, service int64) ([]stead.Backup, error) {
	return collect(s.Backups.All(ctx, service, stead.BackupsQuery{PerPage: 50}))
}

// Backup returns a backup of a service.
func (s *Session) Backup(ctx context.Context, service, id int64) (*stead.Backup, error) {
	for b, err := range s.Backups.All(ctx, service, stead.BackupsQuery{PerPage: 50}) {
		if err != nil {
			return nil, err
		}
		if b.ID == id {
			return &b, nil
		}
	}
	return nil, notFound("the service has no backup %d", id)
}

// AllDatabases returns the databases of a service.
func (s *Session) AllDatabases(ctx context.Context, service int64) ([]stead.Database, error) {
	return collect(s.Databases.All(ctx, service, stead.DatabasesQuery{PerPage: 50}))
}

// Database finds a database by its name, else by its name without the account's, else by its id: a name may be a number, too.
func (s *Session) Database(ctx context.Context, service int64, name string) (*stead.Database, error) {
	all, err := s.AllDatabases(ctx, service)
	if err != nil {
		return nil, err
	}
	for _, match := range []func(d stead.Database) bool{
		func(d stead.Database) bool { return d.Name == name },
		func(d stead.Database) bool { _, short, _ := strings.Cut(d.Name, "_"); return short == name },
		func(d stead.Database) bool { return strconv.FormatInt(d.ID, 10) == name },
	} {
		if at := slices.IndexFunc(all, match); at >= 0 {
			return &all[at], nil
		}
	}
	return nil, notFound("the service has no database %q", name)
}

func (s *Session) databaseOf(ctx context.Context, service, id int64) (*stead.Database, error) {
	for d, err := range s.Databases.All(ctx, service, stead.DatabasesQuery{PerPage: 50}) {
		if err != nil {
			return nil, err
		}
		if d.ID == id {
			return &d, nil
		}
	}
	return nil, notFound("the service has no database %d", id)
}

// createPause is how often a new database is looked at.
const createPause = 500 * time.Millisecond

// CreateDatabase creates a database; with wait it returns when the hosting server has made it, or refuses to.
func (s *Session) CreateDatabase(ctx context.Context, service int64, body stead.DatabasesCreateBody, wait bool) (*stead.Database, error) {
	d, err := s.Databases.Create(ctx, service, body)
	for err == nil && wait && d.Status == stead.DatabaseStatusCreating {
		if err = clock.Sleep(ctx, createPause); err == nil {
			d, err = s.databaseOf(ctx, service, d.ID)
		}
	}
	return d, err
}

// Lines choose lines of a log.
type Lines struct {
	Type, Text string
	Since      time.Duration // 0: all
	Most       int64
}

// LogLines returns the newest lines of a log, the oldest of them first, and where the log goes on.
func (s *Session) LogLines(ctx context.Context, service int64, l Lines) (lines []stead.LogsLine, cursor string, err error) {
	query := stead.LogsQuery{Type: l.Type, Q: l.Text, Limit: l.Most}
	if l.Since > 0 {
		query.Since = s.settings.Clock.Now().Add(-l.Since)
	}
	list, err := s.Logs.List(ctx, service, query)
	if err != nil {
		return nil, "", err
	}
	lines = append([]stead.LogsLine{}, list.Data...)
	slices.Reverse(lines)
	if len(lines) > 0 {
		cursor = lines[len(lines)-1].Cursor
	}
	return lines, cursor, nil
}

// followPause keeps a server that ends each stream at once from being asked without a break.
const followPause = time.Second

// Follow tells lines as they are written, from the cursor on, until ctx ends or tell fails.
func (s *Session) Follow(ctx context.Context, service int64, l Lines, cursor string, tell func(stead.LogsLine) error) error {
	for {
		query := stead.LogsQuery{Type: l.Type, Q: l.Text, Cursor: cursor}
		for event, err := range s.Logs.ListEvents(ctx, service, query) {
			if err != nil {
				return err
			}
			var line stead.LogsLine
			if err := json.Unmarshal(event.Data, &line); err != nil {
				return fmt.Errorf("a line of the log cannot be read: %w", err)
			}
			cursor = line.Cursor
			if err := tell(line); err != nil {
				return err
			}
		}
		// The server ends a stream after an hour.
		if err := clock.Sleep(ctx, followPause); err != nil {
			return err
		}
	}
}
