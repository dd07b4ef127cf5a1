package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/site"
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

// again tells whether a failure may be another's tomorrow, of what began at the given
// time.
func (s *Service) again(err error, began time.Time) bool {
	return panel.KindOf(err).Temporary() && s.Clock.Now().Sub(began) < patience
}

// on is the panel's part for backups of a service.
func (s *Service) on(ctx context.Context, accountID, serviceID int64) (panel.Backups, string, error) {
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
	b, err := get(ctx, s.DB, id)
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
	case s.again(err, b.createdAt):
		return askLater, nil
	default:
		return 0, s.ended(ctx, b, Failed, failureKey(panel.KindOf(err)), err)
	}
	b.parts, b.size = partsOf(task.Parts)
	switch task.Status {
	case panel.TaskCompleted:
		return 0, s.ended(ctx, b, Completed, "", nil)
	case panel.TaskFailed:
		return 0, s.ended(ctx, b, Failed, failureKey(task.Failure), nil)
	default:
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setRunning(ctx, tx, b.id, b.parts, b.size) })
		return s.pause(b.createdAt), err
	}
}

// errDatabase marks failures that are not the panel's.
var errDatabase = errors.New("backups: the database")

// make has the panel make a backup, or asks how far it is.
func (s *Service) make(ctx context.Context, b backup) (panel.BackupTask, error) {
	p, ref, err := s.on(ctx, b.accountID, b.serviceID)
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

// zoned is the document of the part dns: what the zone's section knows, and what comes back with a
// service that ended: the names and the settings.
type zoned struct {
	Zone  json.RawMessage `json:"zone,omitempty"`
	Names json.RawMessage `json:"names,omitempty"`

	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// export is the document of a part; nil when no section has something of it.
func (s *Service) export(ctx context.Context, b backup, name panel.BackupPart) (doc json.RawMessage, err error) {
	if from := s.sources[name]; from != nil {
		if doc, err = from.Export(ctx, s.DB, b.accountID, b.serviceID); err != nil {
			return nil, err
		}
	}
	if name != panel.PartDNS {
		return doc, nil
	}
	all := zoned{Zone: doc, Settings: map[string]json.RawMessage{}}
	if s.names != nil {
		if all.Names, err = s.names.Export(ctx, s.DB, b.accountID, b.serviceID); err != nil {
			return nil, err
		}
	}
	for of, from := range s.settings {
		doc, err := from.Export(ctx, s.DB, b.accountID, b.serviceID)
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

// importPart has the sections take back what the document of a part has.
func (s *Service) importPart(ctx context.Context, tx *db.Tx, r restore, name panel.BackupPart, doc json.RawMessage) error {
	if name == panel.PartDNS {
		var all zoned
		if err := json.Unmarshal(doc, &all); err != nil {
			return fmt.Errorf("backups: document: %w", err)
		}
		if r.returns() {
			if err := s.importOwn(ctx, tx, r, all); err != nil {
				return err
			}
		}
		doc = all.Zone
	}
	if doc == nil || s.sources[name] == nil {
		return nil
	}
	return s.sources[name].Import(ctx, tx, r.accountID, r.serviceID, doc, r.items)
}

// importOwn gives a service that came back its names and settings.
func (s *Service) importOwn(ctx context.Context, tx *db.Tx, r restore, all zoned) error {
	if s.names != nil && all.Names != nil {
		if err := s.names.Import(ctx, tx, r.accountID, r.serviceID, all.Names, nil); err != nil {
			return err
		}
	}
	for _, of := range slices.Sorted(maps.Keys(all.Settings)) {
		if from := s.settings[of]; from != nil {
			if err := from.Import(ctx, tx, r.accountID, r.serviceID, all.Settings[of], nil); err != nil {
				return fmt.Errorf("%s: %w", of, err)
			}
		}
	}
	return nil
}

// ended writes the end of a backup's making, tells of it, and makes room.
func (s *Service) ended(ctx context.Context, b backup, status Status, key string, cause error) error {
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
	found, err := s.Services.Site(ctx, s.DB, b.accountID, b.serviceID)
	if err != nil {
		return err
	}
	if status == Completed {
		b.storage = s.storage(ctx, b, found)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if b.final && status == Completed {
			var err error
			if keep, err = s.keptFinal(ctx, tx, b.serviceID); err != nil {
				return err
			}
		}
		expires := tx.Now.Add(keep)
		b.expiresAt = &expires
		moved, err := setEnded(ctx, tx, b)
		if err != nil || !moved {
			return err
		}
		if err := s.emit(ctx, tx, eventType, b.id, b.errorKey); err != nil {
			return err
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

// storage asks where the panel keeps a backup; that it cannot be asked is no failure.
func (s *Service) storage(ctx context.Context, b backup, on site.Site) string {
	p, err := site.On[panel.Backups](s.Panels, on, panel.CapBackups)
	if err != nil {
		return ""
	}
	all, err := p.ListBackups(ctx, on.Ref)
	if err != nil {
		return ""
	}
	for _, had := range all {
		if had.ID == b.name() {
			return had.Storage
		}
	}
	return ""
}

// makeRoom lets the oldest automatic backups go that are too many for the plan. One
// always stays.
func (s *Service) makeRoom(ctx context.Context, tx *db.Tx, on site.Site) error {
	l, err := site.ParseLimits(on)
	if err != nil {
		return err
	}
	most := l.Of("backups")
	if most == site.Unlimited {
		return nil
	}
	all, err := ofService(ctx, tx, on.ServiceID)
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

// advanceRestore takes a restore one step on, or asks the panel how far it is.
func (s *Service) advanceRestore(ctx context.Context, id int64) (time.Duration, error) {
	r, err := getRestore(ctx, s.DB, id)
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
		_, err := setStep(ctx, tx, r.id, r.status, to)
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
	before, err := get(ctx, s.DB, *r.preBackupID)
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
	p, ref, err := s.on(ctx, r.accountID, r.serviceID)
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
	case s.again(err, r.createdAt):
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
	b := backup{id: r.backupID}
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
		if _, err := s.Services.LockSite(ctx, tx, r.accountID, r.serviceID); err != nil {
			return err
		}
		moved, err := setStep(ctx, tx, r.id, importing, restoring)
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
	if errors.As(err, &refused) {
		return 0, s.restoreFailed(ctx, r, refused.Def.Key)
	}
	return atOnce, err
}

// documents reads what the backup has for the sections; nothing is asked when none of
// the parts is theirs.
func (s *Service) documents(ctx context.Context, r restore) (map[panel.BackupPart]json.RawMessage, error) {
	asked := r.returns()
	for _, name := range r.parts {
		asked = asked || s.sources[name] != nil
	}
	if !asked {
		return nil, nil
	}
	p, ref, err := s.on(ctx, r.accountID, r.serviceID)
	if err != nil {
		return nil, err
	}
	return p.BackupDocuments(ctx, ref, backup{id: r.backupID}.name())
}

// putBack has the panel follow the rows that are back, and then put the rest back.
func (s *Service) putBack(ctx context.Context, r restore) (time.Duration, error) {
	task, err := s.task(ctx, r, r.name(), func(p panel.Backups, ref string) (panel.BackupTask, error) {
		followed := []Source{}
		if r.returns() {
			followed = append(followed, s.names)
			followed = slices.AppendSeq(followed, maps.Values(s.settings))
		}
		for _, name := range r.parts {
			followed = append(followed, s.sources[name])
		}
		for _, from := range followed {
			if part, ok := from.(applier); ok {
				if err := part.Apply(ctx, r.accountID, r.serviceID); err != nil {
					return panel.BackupTask{}, fmt.Errorf("backups: apply: %w", err)
				}
			}
		}
		return p.StartRestore(ctx, ref, panel.RestoreRequest{
			ID: r.name(), Backup: backup{id: r.backupID}.name(), Parts: r.parts, Items: r.items, Target: r.target,
		})
	})
	wait, goOn, err := s.settle(ctx, r, task, err)
	if !goOn {
		return wait, err
	}
	return 0, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		moved, err := endRestore(ctx, tx, r.id, done, nil)
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
		moved, err := endRestore(ctx, tx, r.id, broken, &key)
		if err != nil || !moved {
			return err
		}
		if key == ErrNotRestorable.Key {
			_, err = setDamaged(ctx, tx, r.backupID)
		} else {
			_, err = setStatus(ctx, tx, r.backupID, Restoring, Completed)
		}
		if err != nil {
			return err
		}
		return s.emit(ctx, tx, "backup.restore_failed", r.backupID, &key)
	})
}

// forget has the panel delete a backup, and then lets its row go.
func (s *Service) forget(ctx context.Context, id int64) (time.Duration, error) {
	b, err := get(ctx, s.DB, id)
	if errors.Is(err, fault.NotFound) || err == nil && b.status != Deleted {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	p, ref, err := s.on(ctx, b.accountID, b.serviceID)
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

// sweepBatch is how many rows a sweep takes at once.
const sweepBatch = 200

// Sweep begins what is due: automatic backups, checks, and the end of backups whose
// time is over; and it takes up again what no job does any more. A periodic job calls it; each
// service gets a job of its own.
func (s *Service) Sweep(ctx context.Context) error {
	for _, take := range []func(ctx context.Context, tx *db.Tx) (int, error){s.takeBackups, s.takeChecks, s.takeExpired} {
		for n := sweepBatch; n == sweepBatch; {
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
				n, err = take(ctx, tx)
				return err
			})
			if err != nil {
				return fmt.Errorf("backups: sweep: %w", err)
			}
		}
	}
	for _, l := range []struct {
		left func(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error)
		job  func(id int64) river.JobArgs
	}{
		{unfinished, func(id int64) river.JobArgs { return makeArgs{id} }},
		{unfinishedRestores, func(id int64) river.JobArgs { return restoreArgs{id} }},
		{deleted, func(id int64) river.JobArgs { return removeArgs{id} }},
	} {
		if err := s.takeUp(ctx, l.left, l.job); err != nil {
			return fmt.Errorf("backups: sweep: %w", err)
		}
	}
	return nil
}

// lostAfter is when what has not ended is looked at: its job may have been given up.
const lostAfter = time.Hour

// takeUp gives a job to everything that is left; what has one keeps that.
func (s *Service) takeUp(ctx context.Context, left func(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error),
	job func(id int64) river.JobArgs,
) error {
	for after, more := int64(0), true; more; {
		ids, err := left(ctx, s.DB, s.Clock.Now().Add(-lostAfter), after, sweepBatch)
		if err != nil {
			return err
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			for _, id := range ids {
				if err := s.enqueue(ctx, tx, job(id)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if more = len(ids) == sweepBatch; more {
			after = ids[len(ids)-1]
		}
	}
	return nil
}

func (s *Service) takeBackups(ctx context.Context, tx *db.Tx) (int, error) {
	next := func(serviceID int64) time.Time { return nextAt(tx.Now, serviceID, backupEvery) }
	due, err := takeDue(ctx, tx, "due_at", next, sweepBatch)
	for _, o := range due {
		err = errors.Join(err, s.enqueue(ctx, tx, dailyArgs{o.accountID, o.serviceID}))
	}
	return len(due), err
}

func (s *Service) takeChecks(ctx context.Context, tx *db.Tx) (int, error) {
	next := func(serviceID int64) time.Time { return nextAt(tx.Now, serviceID, checkEvery) }
	due, err := takeDue(ctx, tx, "check_at", next, sweepBatch)
	for _, o := range due {
		err = errors.Join(err, s.enqueue(ctx, tx, checkArgs{o.accountID, o.serviceID, tx.Now.Unix()}))
	}
	return len(due), err
}

func (s *Service) takeExpired(ctx context.Context, tx *db.Tx) (int, error) {
	ids, err := takeExpired(ctx, tx, sweepBatch)
	for _, id := range ids {
		err = errors.Join(err, s.enqueue(ctx, tx, removeArgs{id}))
	}
	return len(ids), err
}

// daily begins the automatic backup of a service. One that is not online, whose plan
// has none, or that is busy has its next one tomorrow.
func (s *Service) daily(ctx context.Context, accountID, serviceID int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		on, err := s.Services.LockSite(ctx, tx, accountID, serviceID)
		if err != nil {
			return err
		}
		l, err := site.ParseLimits(on)
		if err != nil {
			return err
		}
		is, err := busy(ctx, tx, serviceID)
		if err != nil || is || !on.Online() || l.Of("backups") == 0 {
			return err
		}
		_, err = s.begin(ctx, tx, backup{accountID: accountID, serviceID: serviceID, kind: Auto, parts: queued(panel.BackupParts)})
		return err
	})
}

// check has the newest backup of a service read whole. One that is damaged is told of
// and not offered any more. A service that is not online is left for the next week: one whose account
// goes must not lose its final backup because the panel has no account to look for it.
func (s *Service) check(ctx context.Context, accountID, serviceID int64, began time.Time) (time.Duration, error) {
	if on, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil || !on.Online() {
		return 0, err
	}
	all, err := ofService(ctx, s.DB, serviceID)
	if err != nil {
		return 0, err
	}
	var newest *backup
	for i := range all {
		if all[i].status == Completed {
			newest = &all[i]
			break
		}
	}
	if newest == nil {
		return 0, nil
	}
	name := fmt.Sprintf("c%d-%d", newest.id, began.Unix())
	r := restore{accountID: accountID, serviceID: serviceID}
	task, err := s.task(ctx, r, name, func(p panel.Backups, ref string) (panel.BackupTask, error) {
		return p.StartBackupCheck(ctx, ref, panel.CheckRequest{ID: name, Backup: newest.name()})
	})
	switch again := s.again(err, began); {
	case again:
		return askLater, nil
	case errors.Is(err, panel.ErrNotFound):
		return 0, s.damaged(ctx, newest.id) // the panel has lost it
	case err != nil:
		return 0, err
	}
	if task.Status == panel.TaskRunning {
		return s.pause(began), nil
	}
	if task.Failure != panel.ErrInvalid {
		return 0, nil //nolint:nilerr // it failed for a reason of its own, and is made again in its time
	}
	return 0, s.damaged(ctx, newest.id)
}

// damaged tells of a backup that was complete and cannot be read back.
func (s *Service) damaged(ctx context.Context, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		moved, err := setDamaged(ctx, tx, id)
		if err != nil || !moved {
			return err
		}
		return s.emit(ctx, tx, "backup.failed", id, &ErrNotRestorable.Key)
	})
}
