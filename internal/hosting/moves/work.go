package moves

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// How long a step waits until it looks again.
const (
	soon    = time.Second
	pause   = 30 * time.Second
	longest = 10 * time.Minute
)

// Step takes a move one step on. It may run twice and die at any point. The answer is when to come again; zero when nothing is
// left to do.
func (s *Service) Step(ctx context.Context, id int64) (time.Duration, error) {
	m, err := get(ctx, s.DB, id)
	if err != nil || m.Step == Closed {
		return 0, err
	}
	o, err := s.act(ctx, m)
	if err != nil {
		return 0, err
	}
	return s.note(ctx, m, o)
}

// act does what a step says. An error is the database's, or that the process ends: the step runs again.
func (s *Service) act(ctx context.Context, m Move) (outcome, error) {
	o, err := s.acts()[m.Step](ctx, m)
	var failed *panel.Error
	switch {
	case err == nil || ctx.Err() != nil || !errors.As(err, &failed):
		return o, err
	case m.committed() || m.Step == Undo || panel.KindOf(err).Temporary() || panel.KindOf(err) == panel.ErrInternal:
		// A machine cannot do it now. After the commit there is no way back, so it is tried until it can.
		return later(m, s.patience(m)).because(failureOf(err).Key, err.Error()), nil
	default:
		return fail(failureOf(err).Key, err.Error()), nil
	}
}

func (s *Service) acts() map[Step]func(context.Context, Move) (outcome, error) {
	return map[Step]func(context.Context, Move) (outcome, error){
		Lower: s.lower, Plan: s.plan, Save: s.save, Adopt: s.adopt, Check: s.check, Make: s.make, Hold: s.hold, Ready: s.ready, Commit: s.commit, Fill: s.fill,
		Restore: s.restore, Open: s.open, Undo: s.undo, Leave: s.leave, Keep: s.keep,
	}
}

// patience grows while a step does not come on.
func (s *Service) patience(m Move) time.Duration {
	return min(max(soon, s.Clock.Now().Sub(m.StepAt)/4), longest)
}

// note writes what became of a step, unless the move is at another one by now.
func (s *Service) note(ctx context.Context, m Move, o outcome) (time.Duration, error) {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		now, err := lock(ctx, tx, m.ID)
		if err != nil || now.Step != m.Step {
			return err
		}
		return write(ctx, tx, now.apply(o, tx.Now))
	})
	switch {
	case err != nil || o.next == Closed:
		return 0, err
	case o.wait == 0:
		return time.Millisecond, nil
	default:
		return o.wait, nil
	}
}

// change runs f with the move and its service locked, in the transaction that writes the outcome which f answers: step and
// effect are one commit.
func (s *Service) change(ctx context.Context, m Move, f func(ctx context.Context, tx *db.Tx, on site.Site) (outcome, error)) (outcome, error) {
	var o outcome
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		of, err := s.Base.Services.LockSite(ctx, tx, m.AccountID, m.ServiceID)
		if err != nil {
			return err
		}
		now, err := lock(ctx, tx, m.ID)
		if err != nil {
			return err
		}
		if now.Step != m.Step {
			o = later(now, soon)
			return nil
		}
		if o, err = f(ctx, tx, of); err != nil {
			return err
		}
		return write(ctx, tx, now.apply(o, tx.Now))
	})
	return outcome{next: o.next, wait: o.wait}, err
}

// plan reserves room on another node.
func (s *Service) plan(ctx context.Context, m Move) (outcome, error) {
	o, err := s.change(ctx, m, func(ctx context.Context, tx *db.Tx, of site.Site) (outcome, error) {
		if of.Panel != m.From || !live(of) {
			return fail(fault.Conflict.Key, fmt.Sprintf("the service is %s on %s", of.Status, of.Panel)), nil
		}
		except, err := leftOf(ctx, tx, m.ServiceID)
		if err != nil {
			return outcome{}, err
		}
		next := Adopt
		if m.Kind == Live {
			next = Save
			if failed, err := failures(ctx, tx, m); err != nil || failed >= failuresMost {
				return fail(errStopped.Key, fmt.Sprintf("%d services of the evacuation could not be moved", failed)), err
			}
			if running, err := leaving(ctx, tx, m.From); err != nil || running >= atATime {
				return later(m, pause/3), err
			}
		}
		to, err := s.Places.Take(ctx, tx, m.ServiceID, m.Wanted, append(except, m.From))
		if err != nil {
			return outcome{}, err
		}
		return on(next).with(func(m *Move) { m.To = to }), nil
	})
	if errors.Is(err, fault.OutOfStock) {
		// The operator may add a node, or call the move off.
		return later(m, pause).because(fault.OutOfStock.Key, err.Error()), nil
	}
	return o, err
}

// live tells that a service has an account, suspended or not.
func live(of site.Site) bool { return of.Online() || of.Status == "suspended" }

// capability is one of a machine.
func capability[C any](s *Service, panelName string, c panel.Capability) (C, error) {
	return site.On[C](s.Panels, site.Site{Panel: panelName}, c)
}

// adopt finds the newest backup that the other node has in its store.
func (s *Service) adopt(ctx context.Context, m Move) (outcome, error) {
	to, err := capability[panel.Handover](s, m.To, panel.CapHandover)
	if err != nil {
		return outcome{}, err
	}
	if m.Kind == Live {
		err := s.handOver(ctx, m, to)
		if hopeless(err) {
			return fail(errNoStore.Key, err.Error()), nil
		}
		return on(Check), err
	}
	copies, err := s.Backups.Portable(ctx, s.DB, m.ServiceID)
	if err != nil {
		return outcome{}, err
	}
	refused := slices.Clone(m.Refused)
	for _, c := range copies {
		if slices.Contains(refused, c.ID) || len(restored(c.Parts)) == 0 {
			continue
		}
		err := s.adoptOne(ctx, m, to, c)
		if err == nil {
			return on(Check).with(func(m *Move) { m.BackupID, m.BackupAt, m.Refused = &c.ID, &c.At, refused }), nil
		}
		if !hopeless(err) {
			return outcome{}, err
		}
		s.Log.WarnContext(ctx, "a backup cannot be had on another machine", "service", m.ServiceID, "backup", c.ID, "machine", m.To, "error", err)
		refused = append(refused, c.ID)
	}
	if !m.Empty {
		return fail(ErrNoBackup.Key, fmt.Sprintf("%d backups, none of which %s has in its store", len(copies), m.To)), nil
	}
	if err := to.KeepApart(ctx, m.ref()); err != nil {
		return outcome{}, err
	}
	return on(Make).with(func(m *Move) { m.BackupID, m.BackupAt, m.Refused = nil, nil, refused }), nil
}

func (s *Service) adoptOne(ctx context.Context, m Move, to panel.Handover, c Copy) error {
	passport, err := s.Backups.Passport(ctx, s.DB, c.ID)
	if err != nil {
		return err
	}
	return to.AdoptBackup(ctx, m.ref(), passport)
}

// hopeless tells that a backup cannot be had on a machine, however often it is asked for.
func hopeless(err error) bool {
	return errors.Is(err, panel.ErrNotFound) || errors.Is(err, panel.ErrInvalid) || errors.Is(err, fault.NotFound)
}

// chosen is the backup that the service is restored from.
func (s *Service) chosen(ctx context.Context, m Move) (Copy, error) {
	copies, err := s.Backups.Portable(ctx, s.DB, m.ServiceID)
	if err != nil {
		return Copy{}, err
	}
	i := slices.IndexFunc(copies, func(c Copy) bool { return c.ID == *m.BackupID })
	if i < 0 {
		return Copy{}, fault.NotFound.Wrapf("moves: backup %d is not there any more", *m.BackupID)
	}
	return copies[i], nil
}

// refuse chooses another backup.
func refuse(m Move) outcome {
	refused := append(slices.Clone(m.Refused), *m.BackupID)
	return on(Adopt).with(func(m *Move) { m.BackupID, m.Refused = nil, refused })
}

// check has the other node read the backup whole.
func (s *Service) check(ctx context.Context, m Move) (outcome, error) {
	c := Copy{Name: m.copied()}
	again := func(m Move) outcome { return fail(errNotCopied.Key, "the other machine cannot read the copy whole") }
	if m.Kind == Recover {
		again = refuse
		var err error
		c, err = s.chosen(ctx, m)
		if errors.Is(err, fault.NotFound) {
			return again(m), nil
		}
		if err != nil {
			return outcome{}, err
		}
	}
	to, err := capability[panel.Backups](s, m.To, panel.CapBackups)
	if err != nil {
		return outcome{}, err
	}
	task, err := to.BackupTask(ctx, m.ref(), m.checkTask())
	if errors.Is(err, panel.ErrNotFound) {
		task, err = to.StartBackupCheck(ctx, m.ref(), panel.CheckRequest{ID: m.checkTask(), Backup: c.Name})
	}
	switch {
	case errors.Is(err, panel.ErrNotFound):
		return again(m), nil // the machine has forgotten it
	case err != nil:
		return outcome{}, err
	case task.Status == panel.TaskRunning:
		return later(m, soon), nil
	case task.Status == panel.TaskFailed:
		s.Log.WarnContext(ctx, "a backup is damaged", "service", m.ServiceID, "backup", c.Name, "machine", m.To)
		return again(m), nil
	default:
		return on(Make), nil
	}
}

// make makes the account on the other node.
func (s *Service) make(ctx context.Context, m Move) (outcome, error) {
	of, err := s.Services.Wanted(ctx, s.DB, m.ServiceID)
	if err != nil {
		return outcome{}, err
	}
	if of.Panel != m.From || !live(of) {
		return fail(fault.Conflict.Key, fmt.Sprintf("the service is %s on %s", of.Status, of.Panel)), nil
	}
	to, err := capability[panel.Accounts](s, m.To, panel.CapAccounts)
	if err != nil {
		return outcome{}, err
	}
	of.Epoch++
	spec := s.Spec(of)
	spec.Arriving = true
	if _, err := to.CreateAccount(ctx, spec); err != nil {
		return outcome{}, err
	}
	// It may have been called off, and undone, while the account was being made.
	if now, err := get(ctx, s.DB, m.ID); err != nil || !now.committed() && (now.Step == Undo || now.Step == Closed) {
		if err == nil {
			err = to.DeleteAccount(ctx, m.ref())
		}
		if err != nil && !errors.Is(err, panel.ErrNotFound) {
			return outcome{}, err
		}
		return later(m, soon), nil
	}
	if m.Kind == Live {
		return holdAnew(), nil
	}
	return on(Commit), nil
}

// commit makes the other node the one that serves the service.
func (s *Service) commit(ctx context.Context, m Move) (outcome, error) {
	to, err := capability[panel.Accounts](s, m.To, panel.CapAccounts)
	if err != nil {
		return outcome{}, err
	}
	account, err := to.Account(ctx, m.ref())
	if errors.Is(err, panel.ErrNotFound) {
		return on(Make), nil // somebody removed it
	}
	if err != nil {
		return outcome{}, err
	}
	if m.Kind == Live {
		// From now on it does not thaw by itself, so that nothing is written there after the commit.
		if err := s.holds(ctx, m, 0); err != nil {
			return s.disturbed(m, err)
		}
	}
	o, err := s.change(ctx, m, func(ctx context.Context, tx *db.Tx, _ site.Site) (outcome, error) {
		epoch, err := s.Services.Relocate(ctx, tx, m.ServiceID, m.From, m.To, account, 0)
		if err != nil {
			return outcome{}, err
		}
		if err := s.Services.SetMoving(ctx, tx, m.ServiceID, true); err != nil {
			return outcome{}, err
		}
		now := tx.Now
		return on(Fill).with(func(m *Move) { m.Epoch, m.CommittedAt = &epoch, &now }), s.Backups.Moved(ctx, tx, m.ServiceID)
	})
	if errors.Is(err, fault.Conflict) {
		return fail(fault.Conflict.Key, err.Error()), nil
	}
	return o, err
}

// fill has the account follow the rows of the service. What a backup is restored into must be there; the rest is looked
// after by its sections from now on.
func (s *Service) fill(ctx context.Context, m Move) (outcome, error) {
	if over, err := s.over(ctx, m); err != nil || over {
		return on(Open), err
	}
	if err := s.first(ctx, m); err != nil {
		return outcome{}, err
	}
	if err := s.All(ctx, m.AccountID, m.ServiceID); err != nil {
		s.Log.WarnContext(ctx, "not everything of a service that moves is on its new machine yet", "service", m.ServiceID, "error", err)
	}
	if m.BackupID == nil {
		return on(Open), nil
	}
	return on(Restore), nil
}

// first makes what a backup is restored into.
func (s *Service) first(ctx context.Context, m Move) error {
	for _, f := range s.First {
		if err := f.Apply(ctx, m.AccountID, m.ServiceID); err != nil {
			return err
		}
	}
	return nil
}

// over tells that a service has ended since it moved, or moved on: nothing is to be restored of it.
func (s *Service) over(ctx context.Context, m Move) (bool, error) {
	of, err := s.Services.Wanted(ctx, s.DB, m.ServiceID)
	return err == nil && (of.Panel != m.To || !live(of)), err
}

// restore has the other node restore the backup.
func (s *Service) restore(ctx context.Context, m Move) (outcome, error) {
	if over, err := s.over(ctx, m); err != nil || over {
		return on(Open), err
	}
	to, err := capability[panel.Backups](s, m.To, panel.CapBackups)
	if err != nil {
		return outcome{}, err
	}
	task, err := to.BackupTask(ctx, m.ref(), m.restoreTask())
	if errors.Is(err, panel.ErrNotFound) {
		task, err = s.startRestore(ctx, m, to)
	}
	switch {
	case errors.Is(err, fault.NotFound): // the backup expired
		return unrestored(ErrNoBackup.Key, err.Error()), nil
	case err != nil:
		return outcome{}, err
	case task.Status == panel.TaskRunning:
		return later(m, soon), nil
	case task.Status == panel.TaskCompleted:
		return on(Open), nil
	case m.Tries+1 < restoreTries:
		return later(m, pause).with(func(m *Move) { m.Tries++ }), nil
	default:
		return unrestored(failureOf(task.Failure).Key, "the restore failed on the machine, whose log says why: "+task.Failure.Error()), nil
	}
}

// unrestored goes on with a service whose backup could not be restored: it is on the other node, with its rows, and its
// backups are there for another try by hand.
func unrestored(key, cause string) outcome {
	return on(Open).with(func(m *Move) { m.FailureKey, m.Cause = &key, cause })
}

func (s *Service) startRestore(ctx context.Context, m Move, to panel.Backups) (panel.BackupTask, error) {
	c, err := s.chosen(ctx, m)
	if err != nil {
		return panel.BackupTask{}, err
	}
	// Nothing is restored into a suspended account. When all is there, it is suspended again.
	accounts, err := capability[panel.Accounts](s, m.To, panel.CapAccounts)
	if err == nil {
		err = accounts.UnsuspendAccount(ctx, m.ref())
	}
	if err != nil {
		return panel.BackupTask{}, err
	}
	return to.StartRestore(ctx, m.ref(), panel.RestoreRequest{ID: m.restoreTask(), Backup: c.Name, Parts: restored(c.Parts)})
}

// open adopts what else there is of backups, and lets the owner change things again.
func (s *Service) open(ctx context.Context, m Move) (outcome, error) {
	has, err := s.adoptRest(ctx, m)
	if err != nil {
		return outcome{}, err
	}
	if to, err := capability[panel.Moving](s, m.To, panel.CapMoving); err == nil {
		err = to.ReleaseAccount(ctx, m.ref(), m.ID)
		if errors.Is(err, panel.ErrUnsupported) {
			err = nil // an older agent, which serves an account from the beginning
		}
		if over, readErr := s.over(ctx, m); err != nil && (readErr != nil || !over) {
			return outcome{}, errors.Join(err, readErr)
		}
	}
	// While it is held: afterwards its own backups and restores read where the copies are.
	s.dropCopies(ctx, m, m.From)
	s.dropCopies(ctx, m, m.To)
	if m.HeldAt != nil {
		s.Log.InfoContext(ctx, "a service has moved", "service", m.ServiceID, "from", m.From, "to", m.To, "held", s.Clock.Now().Sub(*m.HeldAt))
	}
	return s.change(ctx, m, func(ctx context.Context, tx *db.Tx, of site.Site) (outcome, error) {
		now := tx.Now
		o := on(Leave).with(func(m *Move) { m.OpenedAt = &now })
		if of.Panel != m.To {
			return o, nil
		}
		err := s.Services.SetMoving(ctx, tx, m.ServiceID, false)
		if err == nil {
			err = s.DNS.RestoreTTL(ctx, tx, of)
		}
		if err != nil {
			return o, err
		}
		if err := s.Backups.LeftBehind(ctx, tx, m.ServiceID, has); err != nil || !live(of) {
			return o, err
		}
		return o, s.Services.FollowStatus(ctx, tx, m.ServiceID)
	})
}

// adoptRest answers the backups that the other node has in the end.
func (s *Service) adoptRest(ctx context.Context, m Move) (has map[string]bool, err error) {
	to, err := capability[panel.Handover](s, m.To, panel.CapHandover)
	if err != nil {
		return nil, err
	}
	copies, err := s.Backups.Portable(ctx, s.DB, m.ServiceID)
	if err != nil {
		return nil, err
	}
	for _, c := range copies {
		if slices.Contains(m.Refused, c.ID) {
			continue
		}
		err := s.adoptOne(ctx, m, to, c)
		if err != nil && !hopeless(err) {
			return nil, err
		}
	}
	backups, err := capability[panel.Backups](s, m.To, panel.CapBackups)
	if err != nil {
		return nil, err
	}
	listed, err := backups.ListBackups(ctx, m.ref())
	if err != nil && !errors.Is(err, panel.ErrNotFound) {
		return nil, err
	}
	has = map[string]bool{}
	for _, b := range listed {
		has[b.ID] = true
	}
	return has, nil
}

// undo leaves a service where it was, and deletes what was made of it on the other machine. Each is tried whatever becomes of
// the other: a machine that is dead does not keep the owner from the one that lives.
func (s *Service) undo(ctx context.Context, m Move) (outcome, error) {
	of, err := s.Services.Wanted(ctx, s.DB, m.ServiceID)
	if err != nil {
		return outcome{}, err
	}
	return on(Closed), errors.Join(s.stay(ctx, m, of), s.discard(ctx, m, of))
}

// stay lets a service be used and changed again where it was, and gives its room back. It may have been done before, and
// another move may have begun since.
func (s *Service) stay(ctx context.Context, m Move, of site.Site) error {
	other, err := underWay(ctx, s.DB, m.ServiceID)
	if err != nil && !errors.Is(err, fault.NotFound) {
		return err
	}
	if of.Panel != m.From || other.committed() {
		return nil // a machine from which it moved on, or to which it is just coming back
	}
	if m.Kind == Live {
		if err := s.thaw(ctx, m); err != nil {
			return err
		}
		s.dropCopies(ctx, m, m.From)
		if m.Tries > 0 && of.Moving && live(of) {
			// What sections have noted of the other machine, such as the keys of mail in the DNS, is again what it was.
			if err := s.All(ctx, m.AccountID, m.ServiceID); err != nil {
				s.Log.WarnContext(ctx, "not everything of a service that stayed is as it was yet", "service", m.ServiceID, "error", err)
			}
		}
	}
	_, err = s.change(ctx, m, func(ctx context.Context, tx *db.Tx, of site.Site) (outcome, error) {
		same := later(m, soon)
		if m.To == "" && m.Kind == Recover || of.Panel != m.From || !live(of) {
			return same, nil
		}
		if _, err := underWay(ctx, tx, m.ServiceID); !errors.Is(err, fault.NotFound) {
			return same, err // the room is another move's by now
		}
		if err := s.DNS.RestoreTTL(ctx, tx, of); err != nil {
			return outcome{}, err
		}
		if err := s.Services.SetMoving(ctx, tx, m.ServiceID, false); err != nil {
			return outcome{}, err
		}
		return same, s.Places.GiveBack(ctx, tx, m.ServiceID, m.From)
	})
	return err
}

// discard deletes what was made of a service on the machine to which it does not come; one that was removed has nothing any more.
func (s *Service) discard(ctx context.Context, m Move, of site.Site) error {
	if m.To == "" || of.Panel == m.To {
		return nil
	}
	gone, err := s.Nodes.Gone(ctx, s.DB, m.To)
	if err != nil {
		return err
	}
	if !gone {
		if opened, err := s.opened(ctx, m); err != nil || opened {
			return err
		}
		to, err := capability[panel.Accounts](s, m.To, panel.CapAccounts)
		if err == nil {
			err = to.DeleteAccount(ctx, m.ref())
		}
		if err != nil && !errors.Is(err, panel.ErrNotFound) && !errors.Is(err, panel.ErrUnsupported) {
			return err
		}
		// The backups are the former machine's, and nothing that happens there may touch them.
		hand, err := capability[panel.Handover](s, m.To, panel.CapHandover)
		if err == nil {
			err = hand.DisownBackups(ctx, m.ref())
		}
		if err != nil && !errors.Is(err, panel.ErrUnsupported) {
			return err
		}
	}
	if m.Kind != Live {
		return nil
	}
	// Nothing is left on the other machine, which another move may want, however long the former one is silent.
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return forgetTarget(ctx, tx, m.ID) })
}

// leave tells the former machine, when it answers, that it has the account no more.
func (s *Service) leave(ctx context.Context, m Move) (outcome, error) {
	gone, err := s.Nodes.Gone(ctx, s.DB, m.From)
	if err != nil || gone {
		return on(Closed), err
	}
	to, err := s.address(ctx, m)
	if err != nil {
		return outcome{}, err
	}
	from, err := capability[panel.Moving](s, m.From, panel.CapMoving)
	forwards := err == nil && to.HTTP != ""
	if forwards {
		err = from.ForwardAccount(ctx, m.ref(), *m.Epoch, to)
	}
	if err == nil && !forwards || forwards && errors.Is(err, panel.ErrUnsupported) { // an older agent forwards nothing
		err = from.LeaveAccount(ctx, m.ref(), *m.Epoch)
	}
	if err != nil && !errors.Is(err, panel.ErrNotFound) {
		if ctx.Err() != nil {
			return outcome{}, err
		}
		return later(m, s.patience(m)), nil // of a recovery it is expected to be dead
	}
	now := s.Clock.Now()
	return on(Keep).with(func(m *Move) { m.LeftAt = &now }), nil
}

// keep deletes what is left on the former machine, when it is a week old, all was restored, and there is a newer backup.
func (s *Service) keep(ctx context.Context, m Move) (outcome, error) {
	gone, err := s.Nodes.Gone(ctx, s.DB, m.From)
	if err != nil || gone {
		return on(Closed), err
	}
	if wait := m.LeftAt.Add(keptAfter).Sub(s.Clock.Now()); wait > 0 {
		return later(m, min(wait, time.Hour)), nil
	}
	of, err := s.Services.Wanted(ctx, s.DB, m.ServiceID)
	if err != nil {
		return outcome{}, err
	}
	newest, err := s.Backups.Newest(ctx, s.DB, m.ServiceID)
	if err != nil {
		return outcome{}, err
	}
	// Where the restore failed, what is left may be all that there is.
	if !of.Ended() && (newest == nil || m.FailureKey != nil || newest.Before(*m.OpenedAt)) {
		return later(m, time.Hour), nil
	}
	from, err := capability[panel.Moving](s, m.From, panel.CapMoving)
	if err == nil {
		err = from.DropAccount(ctx, m.ref(), *m.Epoch)
	}
	if err != nil && !errors.Is(err, panel.ErrNotFound) {
		return outcome{}, err
	}
	return on(Closed), nil
}

// failureOf is the public key for what a machine could not do.
func failureOf(err error) *fault.Def {
	switch panel.KindOf(err) {
	case panel.ErrUnreachable:
		return fault.PanelUnreachable
	case panel.ErrBusy:
		return fault.PanelBusy
	case panel.ErrExists, panel.ErrInUse:
		return fault.DomainUnavailable
	case panel.ErrLimit:
		return fault.LimitReached
	case panel.ErrUnsupported:
		return fault.UnsupportedOperation
	case panel.ErrNotFound:
		return fault.NotFound
	default:
		return fault.Internal
	}
}
