package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// How long a panel may be out of reach, or busy, until a backup or restore is given
// up, and how often it is asked.
const (
	patience  = 6 * time.Hour
	askSoon   = time.Second
	askLater  = 30 * time.Second
	soonWhile = time.Minute
)

// pause is how long to wait until a panel is asked again about what began at the given
// time.
func (s *Service) pause(began time.Time) time.Duration {
	if s.Clock.Now().Sub(began) < soonWhile {
		return askSoon
	}
	return 5 * askSoon
}

// isRetryable tells whether a failure is temporary, and what began at the given time may still be tried.
func (s *Service) isRetryable(err error, began time.Time) bool {
	return panel.KindOf(err).Temporary() && s.Clock.Now().Sub(began) < patience
}

// panelOf returns the backups of a service's panel, and the service's account there.
func (s *Service) panelOf(ctx context.Context, accountID, serviceID int64) (panel.Backups, string, error) {
	found, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return nil, "", err
	}
	p, err := site.On[panel.Backups](s.Panels, found, panel.CapBackups)
	if err == nil && found.Ref == "" {
		err = panel.Wrap(string(panel.CapBackups), "", panel.ErrNotFound)
	}
	return p, found.Ref, err
}

// advance takes the making of a backup on: it asks the panel for it, or how far it is.
// The answer is when to come again; zero when it has ended.
func (s *Service) advance(ctx context.Context, id int64) (time.Duration, error) {
	b, err := table.Find(ctx, s.DB, id)
	if errors.Is(err, fault.NotFound) || err == nil && b.finishedAt != nil {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	task, err := s.make(ctx, b)
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.Is(err, errDatabase) && s.Clock.Now().Sub(b.createdAt) < patience:
		return 0, err
	case s.isRetryable(err, b.createdAt):
		return askLater, nil
	default:
		return 0, s.finish(ctx, b, Failed, failureKey(panel.KindOf(err)), err)
	}
	b.parts, b.size = partsOf(task.Parts)
	switch task.Status {
	case panel.TaskCompleted:
		if b.passport, err = s.askPassport(ctx, b); err != nil {
			if ctx.Err() != nil {
				return 0, err
			}
			return askLater, nil
		}
		return 0, s.finish(ctx, b, Completed, "", nil)
	case panel.TaskFailed:
		return 0, s.finish(ctx, b, Failed, failureKey(task.Failure), nil)
	default:
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setRunning(ctx, tx, b.ID, b.parts, b.size) })
		return s.pause(b.createdAt), err
	}
}

// errDatabase marks failures that are not the panel's.
var errDatabase = errors.New("backups: the database")

// make has the panel make a backup, or asks how far it is.
func (s *Service) make(ctx context.Context, b backup) (panel.BackupTask, error) {
	p, ref, err := s.panelOf(ctx, b.AccountID, b.ServiceID)
	if err != nil {
		return panel.BackupTask{}, err
	}
	task, err := p.BackupTask(ctx, ref, b.name())
	if !errors.Is(err, panel.ErrNotFound) {
		return task, err
	}
	in := panel.BackupRequest{ID: b.name(), Parts: b.partNames(), Documents: map[panel.BackupPart]json.RawMessage{}}
	for _, name := range in.Parts {
		doc, err := s.export(ctx, b, name)
		if err != nil {
			return task, fmt.Errorf("%w: export of %s: %w", errDatabase, name, err)
		}
		if doc != nil {
			in.Documents[name] = doc
		}
	}
	return p.StartBackup(ctx, ref, in)
}

// dnsDocument is the document of the part dns: the zone, and what comes back only with a service that had ended: its names
// and settings.
type dnsDocument struct {
	Zone  json.RawMessage `json:"zone,omitempty"`
	Names json.RawMessage `json:"names,omitempty"`

	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// export is the document of a part; nil when no section has something of it.
func (s *Service) export(ctx context.Context, b backup, name panel.BackupPart) (doc json.RawMessage, err error) {
	if from := s.Sources[name]; from != nil {
		if doc, err = from.Export(ctx, s.DB, b.AccountID, b.ServiceID); err != nil {
			return nil, err
		}
	}
	if name != panel.PartDNS {
		return doc, nil
	}
	all := dnsDocument{Zone: doc, Settings: map[string]json.RawMessage{}}
	if all.Names, err = s.Names.Export(ctx, s.DB, b.AccountID, b.ServiceID); err != nil {
		return nil, err
	}
	for of, from := range s.Settings {
		doc, err := from.Export(ctx, s.DB, b.AccountID, b.ServiceID)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			all.Settings[of] = doc
		}
	}
	if all.Zone == nil && all.Names == nil && len(all.Settings) == 0 {
		return nil, nil
	}
	return json.Marshal(all)
}

// finish writes how the making of a backup ended, emits the event, and makes room for it.
func (s *Service) finish(ctx context.Context, b backup, status Status, key string, cause error) error {
	b.status = status
	keep := b.keep()
	eventType := "backup.completed"
	if status == Failed {
		b.errorKey, keep, eventType = &key, keptFailed, "backup.failed"
		for i := range b.parts {
			if b.parts[i].Status != Completed {
				b.parts[i].Status = Failed
			}
		}
	}
	found, err := s.Services.Site(ctx, s.DB, b.AccountID, b.ServiceID)
	if err != nil {
		return err
	}
	listed := s.listed(ctx, found)
	if status == Completed {
		b.storage = listed[b.name()].Storage
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if b.final && status == Completed {
			var err error
			if keep, err = s.keptFinal(ctx, tx, b.ServiceID); err != nil {
				return err
			}
		}
		expires := tx.Now.Add(keep)
		b.expiresAt = &expires
		moved, err := setEnded(ctx, tx, b)
		if err != nil || !moved {
			return err
		}
		if err := s.emit(ctx, tx, eventType, b.ID, b.errorKey); err != nil {
			return err
		}
		if isSuspicious(listed) {
			// The making of this backup found that earlier ones are damaged.
			if err := s.enqueue(ctx, tx, reviewArgs{b.AccountID, b.ServiceID}); err != nil {
				return err
			}
		}
		if b.kind == PreChange || status != Completed {
			return nil
		}
		return s.makeRoom(ctx, tx, found)
	})
	if err != nil && cause != nil {
		return errors.Join(err, cause)
	}
	return err
}

// listed are the backups that the panel has of a service, by their names; that it cannot be asked is no failure.
func (s *Service) listed(ctx context.Context, on site.Site) map[string]panel.Backup {
	p, err := site.On[panel.Backups](s.Panels, on, panel.CapBackups)
	if err != nil {
		return nil
	}
	all, err := p.ListBackups(ctx, on.Ref)
	if err != nil {
		return nil
	}
	listed := map[string]panel.Backup{}
	for _, had := range all {
		listed[had.ID] = had
	}
	return listed
}

// makeRoom deletes the oldest automatic backups when there are more than the plan allows. One always stays.
func (s *Service) makeRoom(ctx context.Context, tx *db.Tx, on site.Site) error {
	most := on.Limits.Of("backups")
	if most == site.Unlimited {
		return nil
	}
	all, err := table.OfService(ctx, tx, on.ServiceID)
	if err != nil {
		return err
	}
	left := most
	for _, b := range all {
		if b.kind == Manual && b.status != Failed && b.status != Deleted {
			left--
		}
	}
	left = max(left, 1)
	for _, b := range all {
		if b.kind != Auto || b.status != Completed && b.status != Restoring {
			continue
		}
		if left--; left < 0 && b.status == Completed {
			if err := s.expire(ctx, tx, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget has the panel delete a backup, and then deletes its row.
func (s *Service) forget(ctx context.Context, id int64) (time.Duration, error) {
	b, err := table.Find(ctx, s.DB, id)
	if errors.Is(err, fault.NotFound) || err == nil && b.status != Deleted {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	p, ref, err := s.panelOf(ctx, b.AccountID, b.ServiceID)
	if err == nil {
		err = p.DeleteBackup(ctx, ref, b.name())
	}
	switch {
	case errors.Is(err, panel.ErrBusy):
		return askLater, nil
	case err != nil && !errors.Is(err, panel.ErrNotFound):
		return 0, err
	}
	return 0, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return remove(ctx, tx, id) })
}
