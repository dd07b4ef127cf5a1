package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
)

// Source is a section whose rows of a service go into its backups, as a document that
// nobody else reads. A source that is also a site.Part has its Apply called once the
// rows are back.
type Source interface {
	// Export answers the section's rows of the service; nil when it has none.
	Export(ctx context.Context, q db.Querier, accountID, serviceID int64) (json.RawMessage, error)
	// Import makes the rows as a document says, which Export once answered; those of the named
	// items only, when there are any. What came since goes. A document that does not fit any
	// more is a fault.
	Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, items []string) error
}

// applier is the part of site.Part that a restore needs.
type applier interface {
	Apply(ctx context.Context, accountID, serviceID int64) error
}

// Config is what the section works with; all is needed.
type Config struct {
	site.Base
	Clock  clock.Clock
	Events outbox.Events
	Log    *slog.Logger // tells operators of damage
	Box    *secret.Box  // seals what another machine needs to restore a backup
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	// Sources are the sections whose rows a part of backups holds.
	Sources map[panel.BackupPart]Source
	// Names keeps the domain names of services. They go with the part dns, and come back
	// with a service that ended only: otherwise a service has the names that it has.
	Names Source
	// Settings are the sections that have settings of services which are of no part: how one signs in, how programs
	// run. They go with the part dns, too, and come back with a service that ended only.
	Settings map[string]Source
	Terms    Terms
}

// NoRows is a Source without rows.
type NoRows struct{}

// Export implements Source.
func (NoRows) Export(context.Context, db.Querier, int64, int64) (json.RawMessage, error) {
	return nil, nil
}

// Import implements Source.
func (NoRows) Import(context.Context, *db.Tx, int64, int64, json.RawMessage, []string) error {
	return nil
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// Terms say how long a service that ended can come back.
type Terms interface {
	// KeptFor is how long the final backup of a service is retained; with zero none is made.
	KeptFor(ctx context.Context, q db.Querier, serviceID int64) (time.Duration, error)
}

var _ site.Part = (*Service)(nil)

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// keptFinal is how long the final backup of a service is retained.
func (s *Service) keptFinal(ctx context.Context, q db.Querier, serviceID int64) (time.Duration, error) {
	return s.Terms.KeptFor(ctx, q, serviceID)
}

// list answers one page of the backups of one of the account's services.
func (s *Service) list(ctx context.Context, accountID, serviceID int64, p page.Params) ([]backup, int, error) {
	if _, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil {
		return nil, 0, err
	}
	return list(ctx, s.DB, accountID, serviceID, p)
}

// create asks for a backup by hand.
func (s *Service) create(ctx context.Context, accountID, serviceID int64, parts []panel.BackupPart, note string) (b backup, err error) {
	if parts, err = selectParts(parts, panel.BackupParts); err != nil {
		return b, err
	}
	if note = strings.TrimSpace(note); strings.ContainsFunc(note, unicode.IsControl) {
		return b, fault.Invalid("note", "characters")
	}
	err = s.change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) (err error) {
		b, err = s.queue(ctx, tx, on, parts, note)
		return err
	})
	return b, err
}

// Request asks for a backup of all parts, unless one was asked for before with the same note: then it answers that one. So
// who asks again after a crash gets what they have asked for.
func (s *Service) Request(ctx context.Context, accountID, serviceID int64, note string) (id int64, err error) {
	err = s.change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		known, err := withNote(ctx, tx, serviceID, note)
		if err == nil && len(known) == 0 {
			var b backup
			b, err = s.queue(ctx, tx, on, panel.BackupParts, note)
			known = []backup{b}
		}
		if err == nil {
			id = known[0].ID
		}
		return err
	})
	return id, err
}

// queue writes a backup by hand. The service is locked.
func (s *Service) queue(ctx context.Context, tx *db.Tx, on site.Site, parts []panel.BackupPart, note string) (backup, error) {
	if err := refuseBusy(ctx, tx, on.ServiceID); err != nil {
		return backup{}, err
	}
	_, manual, err := count(ctx, tx, on.ServiceID)
	if err != nil {
		return backup{}, err
	}
	if err := on.Limits.Refuse("backups", manual, manual+1); err != nil {
		return backup{}, err
	}
	return s.begin(ctx, tx, backup{Owned: site.Owned{AccountID: on.AccountID, ServiceID: on.ServiceID}, kind: Manual, parts: queuedParts(parts), note: note})
}

func (s *Service) change(ctx context.Context, accountID, serviceID int64, f func(ctx context.Context, tx *db.Tx, on site.Site) error) error {
	return site.Change[panel.Backups](ctx, s.DB, s.Services, s.Panels, panel.CapBackups, accountID, serviceID, f)
}

func refuseBusy(ctx context.Context, tx *db.Tx, serviceID int64) error {
	is, err := isBusy(ctx, tx, serviceID)
	if err == nil && is {
		err = fault.JobRunning.New()
	}
	return err
}

// begin writes a backup that is to be made, and the job that has it made. The service
// is locked.
func (s *Service) begin(ctx context.Context, tx *db.Tx, b backup) (backup, error) {
	id, err := insert(ctx, tx, b)
	if err != nil {
		return b, err
	}
	if b, err = table.Find(ctx, tx, id); err != nil {
		return b, err
	}
	return b, s.enqueue(ctx, tx, makeArgs{id})
}

// restore puts parts of a backup back, after a backup of what is there now.
func (s *Service) restore(ctx context.Context, accountID, serviceID, id int64, w wish) (b backup, err error) {
	err = s.change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, _ site.Site) error {
		if b, err = getOwn(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		if err := b.usable(); err != nil {
			return err
		}
		if w, err = w.parse(b); err != nil {
			return err
		}
		if err := refuseBusy(ctx, tx, serviceID); err != nil {
			return err
		}
		before, err := s.begin(ctx, tx, backup{Owned: site.Owned{AccountID: accountID, ServiceID: serviceID}, kind: PreChange, parts: queuedParts(w.parts)})
		if err != nil {
			return err
		}
		b, err = s.beginRestore(ctx, tx, b, restore{preBackupID: &before.ID, parts: w.parts, items: w.items, target: w.target})
		return err
	})
	return b, err
}

// beginRestore writes a restore of b and its job. The service is locked.
func (s *Service) beginRestore(ctx context.Context, tx *db.Tx, b backup, r restore) (backup, error) {
	r.Owned, r.backupID = site.Owned{AccountID: b.AccountID, ServiceID: b.ServiceID}, b.ID
	moved, err := setStatus(ctx, tx, b.ID, Completed, Restoring)
	if err == nil && !moved {
		err = fault.JobRunning.New()
	}
	if err != nil {
		return b, err
	}
	id, err := insertRestore(ctx, tx, r)
	if err != nil {
		return b, err
	}
	if err := s.enqueue(ctx, tx, restoreArgs{id}); err != nil {
		return b, err
	}
	return getOwn(ctx, tx, b.AccountID, b.ServiceID, b.ID)
}

// open streams the archive of a backup; of a service that ended, of what was kept.
func (s *Service) open(ctx context.Context, accountID, serviceID, id int64) (io.ReadCloser, error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	b, err := getOwn(ctx, s.DB, accountID, serviceID, id)
	if err != nil {
		return nil, err
	}
	if err := b.usable(); err != nil && !b.downloadable() {
		return nil, err
	}
	from, err := site.On[panel.Backups](s.Panels, on, panel.CapBackups)
	if err != nil {
		return nil, site.Refusal(err)
	}
	stream, err := from.OpenBackup(ctx, on.Ref, b.name())
	return stream, refusal(err)
}

// refusal translates a failure of the panel that has the archive. One that is not
// there, or damaged, cannot be used.
func refusal(err error) error {
	if errors.Is(err, panel.ErrInvalid) || errors.Is(err, panel.ErrNotFound) {
		return ErrNotRestorable.Wrap(err)
	}
	return site.Refusal(err)
}

// Count implements site.Part: automatic and manual backups.
func (s *Service) Count(ctx context.Context, q db.Querier, serviceID int64, into map[string]int64) error {
	auto, manual, err := count(ctx, q, serviceID)
	into["backups"] = auto + manual
	return err
}

// Apply implements site.Part: a service that has an account has automatic backups; one
// that ended keeps the final one.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
		if err != nil {
			return err
		}
		if on.Ended() {
			return s.end(ctx, tx, on)
		}
		if _, err := site.On[panel.Backups](s.Panels, on, panel.CapBackups); on.Ref == "" || errors.Is(err, panel.ErrUnsupported) {
			return nil
		}
		return schedule(ctx, tx, on)
	})
}

// schedule has a service backed up and its backups checked.
func schedule(ctx context.Context, tx *db.Tx, on site.Site) error {
	return insertSchedule(ctx, tx, site.Target{AccountID: on.AccountID, ServiceID: on.ServiceID},
		nextAt(tx.Now, on.ServiceID, backupEvery), nextAt(tx.Now, on.ServiceID, checkEvery))
}

// end lets the backups of a service go that has ended, but for the final one. Where that could not be made, they are all
// that is left of the service, and go in their own time. What stays is checked.
func (s *Service) end(ctx context.Context, tx *db.Tx, on site.Site) error {
	all, err := table.OfService(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	final, ok, err := finalOf(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	isKept := false
	for _, b := range all {
		if b.final || ok && final.status == Failed || !slices.Contains([]Status{Completed, Failed}, b.status) {
			isKept = isKept || b.status == Completed
			continue
		}
		if err := s.expire(ctx, tx, b); err != nil {
			return err
		}
	}
	if isKept {
		return schedule(ctx, tx, on)
	}
	return removeSchedule(ctx, tx, on.ServiceID)
}

// expire marks a backup as deleted and has the panel forget it.
func (s *Service) expire(ctx context.Context, tx *db.Tx, b backup) error {
	moved, err := setStatus(ctx, tx, b.ID, b.status, Deleted)
	if err != nil || !moved {
		return err
	}
	return s.enqueue(ctx, tx, removeArgs{b.ID})
}

// emit tells of a backup as it now is.
func (s *Service) emit(ctx context.Context, tx *db.Tx, eventType string, id int64, errorKey *string) error {
	b, err := table.Find(ctx, tx, id)
	if err != nil {
		return fmt.Errorf("backups: event of backup %d: %w", id, err)
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: eventType, AccountID: b.AccountID, Subject: "service", SubjectID: b.ServiceID, Data: eventOf(b, errorKey),
	})
}
