package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// advanceRestore takes a restore one step on, or asks the panel how far it is.
func (s *Service) advanceRestore(ctx context.Context, id int64) (time.Duration, error) {
	r, err := restores.Find(ctx, s.DB, id)
	if errors.Is(err, fault.NotFound) || err == nil && r.ended() {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	switch r.status {
	case waiting:
		return s.awaitPreBackup(ctx, r)
	case verifying:
		return s.verify(ctx, r)
	case importing:
		return s.importRows(ctx, r)
	default:
		return s.putBack(ctx, r)
	}
}

// move writes that a restore is at its next step.
func (s *Service) move(ctx context.Context, r restore, to step) (time.Duration, error) {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := setStep(ctx, tx, r.ID, r.status, to)
		return err
	})
	return atOnce, err
}

// atOnce comes again without waiting.
const atOnce = time.Millisecond

func (s *Service) awaitPreBackup(ctx context.Context, r restore) (time.Duration, error) {
	if r.preBackupID == nil {
		return s.move(ctx, r, verifying)
	}
	before, err := table.Find(ctx, s.DB, *r.preBackupID)
	switch {
	case errors.Is(err, fault.NotFound):
		return 0, s.restoreFailed(ctx, r, fault.Internal.Key)
	case err != nil:
		return 0, err
	case before.finishedAt == nil:
		return s.pause(r.createdAt), nil
	case before.status == Failed:
		return 0, s.restoreFailed(ctx, r, *before.errorKey)
	default:
		return s.move(ctx, r, verifying)
	}
}

// task asks the panel for the task of that name, which is started when it is not there.
func (s *Service) task(ctx context.Context, r restore, name string, start func(p panel.Backups, ref string) (panel.BackupTask, error)) (panel.BackupTask, error) {
	p, ref, err := s.panelOf(ctx, r.AccountID, r.ServiceID)
	if err != nil {
		return panel.BackupTask{}, err
	}
	task, err := p.BackupTask(ctx, ref, name)
	if errors.Is(err, panel.ErrNotFound) {
		task, err = start(p, ref)
	}
	return task, err
}

// settle says what is to be done after the panel was asked: come again (true), go on, or
// the restore has failed.
func (s *Service) settle(ctx context.Context, r restore, task panel.BackupTask, err error) (wait time.Duration, goOn bool, _ error) {
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.Is(err, errDatabase):
		return 0, false, err
	case s.isRetryable(err, r.createdAt):
		return askLater, false, nil
	case errors.Is(err, panel.ErrNotFound): // the backup, for the account is there
		return 0, false, s.restoreFailed(ctx, r, ErrNotRestorable.Key)
	default:
		return 0, false, s.restoreFailed(ctx, r, restoreKey(panel.KindOf(err)))
	}
	switch task.Status {
	case panel.TaskRunning:
		return s.pause(r.createdAt), false, nil
	case panel.TaskFailed:
		return 0, false, s.restoreFailed(ctx, r, restoreKey(task.Failure))
	default:
		return 0, true, nil
	}
}

// verify has the panel read the backup whole.
func (s *Service) verify(ctx context.Context, r restore) (time.Duration, error) {
	b := backup{Owned: site.Owned{ID: r.backupID}}
	task, err := s.task(ctx, r, r.checkName(), func(p panel.Backups, ref string) (panel.BackupTask, error) {
		return p.StartBackupCheck(ctx, ref, panel.CheckRequest{ID: r.checkName(), Backup: b.name()})
	})
	wait, goOn, err := s.settle(ctx, r, task, err)
	if !goOn {
		return wait, err
	}
	return s.move(ctx, r, importing)
}

// importRows has the sections take their rows back; all of them or none.
func (s *Service) importRows(ctx context.Context, r restore) (time.Duration, error) {
	docs, err := s.documents(ctx, r)
	wait, goOn, err := s.settle(ctx, r, panel.BackupTask{Status: panel.TaskCompleted}, err)
	if !goOn {
		return wait, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// The service before the rows of the sections, as they do themselves.
		if _, err := s.Services.LockSite(ctx, tx, r.AccountID, r.ServiceID); err != nil {
			return err
		}
		moved, err := setStep(ctx, tx, r.ID, importing, restoring)
		if err != nil || !moved {
			return err
		}
		// Backwards, for mailboxes are of names, which the part dns has.
		for _, name := range slices.Backward(r.parts) {
			if docs[name] == nil {
				continue
			}
			if err := s.importPart(ctx, tx, r, name, docs[name]); err != nil {
				return fmt.Errorf("backups: import of %s: %w", name, err)
			}
		}
		return nil
	})
	var refused *fault.Error
	switch {
	case err == nil:
		return atOnce, nil
	case errors.As(err, &refused):
		return 0, s.restoreFailed(ctx, r, refused.Def.Key)
	case errors.Is(err, panel.ErrInvalid):
		return 0, s.restoreFailed(ctx, r, ErrNotRestorable.Key)
	case ctx.Err() != nil || s.Clock.Now().Sub(r.createdAt) < patience:
		return 0, err
	default: // rows that no database takes, such as with a NUL; the service would wait for ever
		s.Log.ErrorContext(ctx, "what a backup has cannot be imported", "service", r.ServiceID, "backup", r.backupID, "error", err)
		return 0, s.restoreFailed(ctx, r, fault.Internal.Key)
	}
}

// documents reads what the backup has for the sections; nothing is asked when none of
// the parts is theirs.
func (s *Service) documents(ctx context.Context, r restore) (map[panel.BackupPart]json.RawMessage, error) {
	asked := r.revivesService()
	for _, name := range r.parts {
		asked = asked || s.Sources[name] != nil
	}
	if !asked {
		return nil, nil
	}
	p, ref, err := s.panelOf(ctx, r.AccountID, r.ServiceID)
	if err != nil {
		return nil, err
	}
	return p.BackupDocuments(ctx, ref, backup{Owned: site.Owned{ID: r.backupID}}.name())
}

// putBack has the panel follow the rows that are back, and then put the rest back.
func (s *Service) putBack(ctx context.Context, r restore) (time.Duration, error) {
	task, err := s.task(ctx, r, r.name(), func(p panel.Backups, ref string) (panel.BackupTask, error) {
		followed := []Source{}
		if r.revivesService() {
			followed = append(followed, s.Names)
			followed = slices.AppendSeq(followed, maps.Values(s.Settings))
		}
		for _, name := range r.parts {
			followed = append(followed, s.Sources[name])
		}
		for _, from := range followed {
			if part, ok := from.(applier); ok {
				if err := part.Apply(ctx, r.AccountID, r.ServiceID); err != nil {
					return panel.BackupTask{}, fmt.Errorf("backups: apply: %w", err)
				}
			}
		}
		return p.StartRestore(ctx, ref, panel.RestoreRequest{
			ID: r.name(), Backup: backup{Owned: site.Owned{ID: r.backupID}}.name(), Parts: r.parts, Items: r.items, Target: r.target,
		})
	})
	wait, goOn, err := s.settle(ctx, r, task, err)
	if !goOn {
		return wait, err
	}
	return 0, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		moved, err := endRestore(ctx, tx, r.ID, done, nil)
		if err != nil || !moved {
			return err
		}
		if _, err := setStatus(ctx, tx, r.backupID, Restoring, Completed); err != nil {
			return err
		}
		return s.emit(ctx, tx, "backup.restored", r.backupID, nil)
	})
}

// restoreFailed ends a restore. A backup that turned out to be damaged is not offered
// again.
func (s *Service) restoreFailed(ctx context.Context, r restore, key string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		moved, err := endRestore(ctx, tx, r.ID, broken, &key)
		if err != nil || !moved {
			return err
		}
		if key == ErrNotRestorable.Key {
			_, err = setDamaged(ctx, tx, r.backupID)
			err = errors.Join(err, s.enqueue(ctx, tx, reviewArgs{r.AccountID, r.ServiceID}))
		} else {
			_, err = setStatus(ctx, tx, r.backupID, Restoring, Completed)
		}
		if err != nil {
			return err
		}
		return s.emit(ctx, tx, "backup.restore_failed", r.backupID, &key)
	})
}

// importPart has the sections take back what the document of a part has.
func (s *Service) importPart(ctx context.Context, tx *db.Tx, r restore, name panel.BackupPart, doc json.RawMessage) error {
	if name == panel.PartDNS {
		var all dnsDocument
		if err := site.ReadDocument(doc, &all); err != nil {
			return err
		}
		if r.revivesService() {
			if err := s.importOwn(ctx, tx, r, all); err != nil {
				return err
			}
		}
		doc = all.Zone
	}
	if doc == nil || s.Sources[name] == nil {
		return nil
	}
	return s.Sources[name].Import(ctx, tx, r.AccountID, r.ServiceID, doc, r.items)
}

// importOwn gives a service that came back its names and settings.
func (s *Service) importOwn(ctx context.Context, tx *db.Tx, r restore, all dnsDocument) error {
	if all.Names != nil {
		if err := s.Names.Import(ctx, tx, r.AccountID, r.ServiceID, all.Names, nil); err != nil {
			return err
		}
	}
	for _, of := range slices.Sorted(maps.Keys(all.Settings)) {
		if from := s.Settings[of]; from != nil {
			if err := from.Import(ctx, tx, r.AccountID, r.ServiceID, all.Settings[of], nil); err != nil {
				return fmt.Errorf("%s: %w", of, err)
			}
		}
	}
	return nil
}
