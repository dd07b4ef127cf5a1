package moves

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

const (
	// atATime is how many services leave a node at once when all of them are to go.
	atATime = 2
	// failuresMost is how many moves of an evacuation fail until those that have not begun are left: something is wrong that
	// an operator has to look at.
	failuresMost = 3
	// lease is how long a machine keeps an account unchanged without being asked again.
	lease = 3 * time.Minute
	// settling is how long an account is held before its last copy begins: mail that was accepted just before is delivered by then.
	settling = 2 * time.Second
	// longestHold bounds how long the last copy of a service may take.
	longestHold = 15 * time.Minute
	// mostCopies bounds how many copies a move makes.
	mostCopies = 5
)

// quick is the wait until a step looks again at a machine's task while customers feel it.
func (s *Service) quick(m Move) outcome {
	return later(m, min(soon, 100*time.Millisecond+s.Clock.Now().Sub(m.StepAt)/4))
}

// lower has the DNS say for a short time only where the service is, and waits until what it said before has run out everywhere:
// then hardly anybody asks the former machine once the service has moved.
func (s *Service) lower(ctx context.Context, m Move) (outcome, error) {
	if m.LoweredUntil == nil {
		return s.change(ctx, m, func(ctx context.Context, tx *db.Tx, of site.Site) (outcome, error) {
			if of.Panel != m.From || !live(of) {
				return ended(of), nil
			}
			kept, err := s.DNS.LowerTTL(ctx, tx, m.ServiceID)
			wait := min(kept, s.Wait)
			until := tx.Now.Add(wait)
			if err == nil && wait >= time.Minute {
				err = s.Services.TellMovePlanned(ctx, tx, m.ServiceID, wait)
			}
			return later(m, 0).with(func(m *Move) { m.LoweredUntil = &until }), err
		})
	}
	if wait := m.LoweredUntil.Sub(s.Clock.Now()); wait > 0 {
		return later(m, min(wait, pause)), nil
	}
	if m.To == "" { // of an evacuation
		return on(Plan), nil
	}
	return on(Save), nil
}

// save has the machine copy the service while it lives, so that little is left for the last copy.
func (s *Service) save(ctx context.Context, m Move) (outcome, error) {
	of, err := s.Services.Wanted(ctx, s.DB, m.ServiceID)
	if err != nil {
		return outcome{}, err
	}
	if of.Panel != m.From || !live(of) {
		return ended(of), nil
	}
	done, o, err := s.copy(ctx, m)
	if err != nil || !done {
		return o, err
	}
	return on(Adopt), nil
}

// copiedParts are the parts of a move's copies: logs too, unless the agent of a machine is too old for them.
func (s *Service) copiedParts(m Move) []panel.BackupPart {
	parts := restored(panel.BackupParts)
	for _, name := range []string{m.From, m.To} {
		p, ok := s.Panels.Panel(name)
		if has, selective := p.(panel.Selective); !ok || !selective || !has.Can(panel.CapMovedLogs) {
			return parts
		}
	}
	return append(parts, panel.PartLogs)
}

// copy has the machine that the service leaves make the present copy, and tells when it is done.
func (s *Service) copy(ctx context.Context, m Move) (done bool, _ outcome, _ error) {
	from, err := capability[panel.Backups](s, m.From, panel.CapBackups)
	if err != nil {
		return false, outcome{}, err
	}
	task, err := from.BackupTask(ctx, m.ref(), m.copied())
	if errors.Is(err, panel.ErrNotFound) {
		task, err = from.StartBackup(ctx, m.ref(), panel.BackupRequest{ID: m.copied(), Parts: s.copiedParts(m)})
	}
	switch {
	case err != nil:
		return false, outcome{}, err
	case task.Status == panel.TaskCompleted:
		return true, outcome{}, nil
	case task.Status == panel.TaskRunning:
		return false, s.quick(m), nil
	case m.Tries+1 < mostCopies:
		return false, later(m, pause).with(func(m *Move) { m.Tries++ }), nil
	default:
		return false, fail(errNotCopied.Key, "the copy failed on the machine, whose log says why: "+task.Failure.Error()), nil
	}
}

func ended(of site.Site) outcome {
	return fail("conflict", fmt.Sprintf("the service is %s on %s", of.Status, of.Panel))
}

// handOver gives the other machine the present copy.
func (s *Service) handOver(ctx context.Context, m Move, to panel.Handover) error {
	from, err := capability[panel.Handover](s, m.From, panel.CapHandover)
	if err != nil {
		return err
	}
	passport, err := from.BackupPassport(ctx, m.ref(), m.copied())
	if err != nil {
		return err
	}
	return to.AdoptBackup(ctx, m.ref(), passport)
}

// holds keeps the account unchanged on the machine that it leaves; 0 keeps it so until that machine is told otherwise.
func (s *Service) holds(ctx context.Context, m Move, lasting time.Duration) error {
	from, err := capability[panel.Moving](s, m.From, panel.CapMoving)
	if err == nil {
		err = from.HoldAccount(ctx, m.ref(), panel.Hold{Move: m.ID, Try: m.Tries, For: lasting})
	}
	return err
}

// holdAnew begins another hold and another copy.
func holdAnew() outcome {
	return outcome{next: Hold, anew: true, change: func(m *Move) {
		m.Tries++
		m.Pinned = false
		m.HeldAt = nil
	}}
}

// disturbed is what follows when a hold could not be kept up: another one, when it has ended.
func (*Service) disturbed(m Move, err error) (outcome, error) {
	switch {
	case !errors.Is(err, panel.ErrNotFound):
		return outcome{}, err
	case m.Tries >= mostCopies:
		return fail(errDisturbed.Key, err.Error()), nil
	default:
		return holdAnew(), nil
	}
}

// hold keeps the service from changing, and has the last copy made of it.
func (s *Service) hold(ctx context.Context, m Move) (outcome, error) {
	of, err := s.Services.Wanted(ctx, s.DB, m.ServiceID)
	if err != nil {
		return outcome{}, err
	}
	switch {
	case of.Panel != m.From || !live(of):
		return ended(of), nil
	case s.Clock.Now().Sub(m.StepAt) > longestHold:
		return fail(errDisturbed.Key, fmt.Sprintf("the last copy took more than %s", longestHold)), nil
	case !of.Moving:
		return s.change(ctx, m, func(ctx context.Context, tx *db.Tx, _ site.Site) (outcome, error) {
			return later(m, 0), s.Services.SetMoving(ctx, tx, m.ServiceID, true)
		})
	}
	began := s.Clock.Now()
	if err := s.holds(ctx, m, lease); err != nil {
		return s.disturbed(m, err)
	}
	if m.HeldAt == nil {
		return later(m, settling).with(func(m *Move) { m.HeldAt = &began }), nil
	}
	if wait := settling - s.Clock.Now().Sub(*m.HeldAt); wait > 0 {
		return later(m, wait), nil
	}
	done, o, err := s.copy(ctx, m)
	if errors.Is(err, panel.ErrBusy) {
		// The service does not stand still for a backup that was begun before: another copy follows it while the service lives.
		if err := s.thaw(ctx, m); err != nil {
			return outcome{}, err
		}
		return s.change(ctx, m, func(ctx context.Context, tx *db.Tx, _ site.Site) (outcome, error) {
			o := on(Save).with(func(m *Move) { m.HeldAt = nil })
			return o, s.Services.SetMoving(ctx, tx, m.ServiceID, false)
		})
	}
	if err != nil || !done {
		return o, err
	}
	return on(Ready), nil
}

// ready makes the account on the other machine what the last copy says. The service is still where it was.
func (s *Service) ready(ctx context.Context, m Move) (outcome, error) {
	if s.Clock.Now().Sub(m.StepAt) > longestHold {
		return fail(errDisturbed.Key, fmt.Sprintf("the last copy took more than %s to restore", longestHold)), nil
	}
	if err := s.holds(ctx, m, lease); err != nil {
		return s.disturbed(m, err)
	}
	to, err := capability[panel.Backups](s, m.To, panel.CapBackups)
	if err != nil {
		return outcome{}, err
	}
	task, err := to.BackupTask(ctx, m.ref(), m.restoreTask())
	if errors.Is(err, panel.ErrNotFound) {
		task, err = s.startLast(ctx, m, to)
	}
	switch {
	case err != nil:
		return outcome{}, err
	case task.Status == panel.TaskRunning:
		return s.quick(m), nil
	case task.Status == panel.TaskFailed:
		return fail(errNotCopied.Key, "the restore failed on the machine, whose log says why: "+task.Failure.Error()), nil
	default:
		return on(Commit).with(func(m *Move) { m.Pinned = true }), s.carryCounts(ctx, m)
	}
}

// carryCounts has the other machine go on with what the former one has counted: visits, and the traffic of the month.
func (s *Service) carryCounts(ctx context.Context, m Move) error {
	from, err := capability[panel.Moving](s, m.From, panel.CapMoving)
	if err != nil {
		return err
	}
	to, err := capability[panel.Moving](s, m.To, panel.CapMoving)
	if err != nil {
		return err
	}
	counted, err := from.Counted(ctx, m.ref())
	if err == nil {
		err = to.TakeCounted(ctx, m.ref(), counted)
	}
	if panel.KindOf(err) == panel.ErrInvalid || panel.KindOf(err) == panel.ErrUnsupported {
		s.Log.WarnContext(ctx, "a service moves without its statistics", "service", m.ServiceID, "error", err)
		return nil
	}
	return err
}

func (s *Service) startLast(ctx context.Context, m Move, to panel.Backups) (panel.BackupTask, error) {
	hand, err := capability[panel.Handover](s, m.To, panel.CapHandover)
	if err == nil {
		err = s.handOver(ctx, m, hand)
	}
	if err == nil {
		err = s.first(site.Elsewhere(ctx, m.ServiceID, m.To), m)
	}
	var accounts panel.Accounts
	if err == nil {
		accounts, err = capability[panel.Accounts](s, m.To, panel.CapAccounts)
	}
	if err == nil {
		err = accounts.UnsuspendAccount(ctx, m.ref()) // nothing is restored into a suspended one
	}
	if err != nil {
		return panel.BackupTask{}, err
	}
	copied, err := to.BackupTask(ctx, m.ref(), m.copied())
	if err != nil {
		return panel.BackupTask{}, err
	}
	var parts []panel.BackupPart
	for _, p := range copied.Parts {
		parts = append(parts, p.Part)
	}
	return to.StartRestore(ctx, m.ref(), panel.RestoreRequest{ID: m.restoreTask(), Backup: m.copied(), Parts: parts})
}

// thaw lets the service be changed again on the machine where it stays. One that does not answer does so by itself, unless it
// is pinned.
func (s *Service) thaw(ctx context.Context, m Move) error {
	gone, err := s.Nodes.Gone(ctx, s.DB, m.From)
	if err != nil || gone {
		return err
	}
	from, err := capability[panel.Moving](s, m.From, panel.CapMoving)
	if err == nil {
		err = from.ReleaseAccount(ctx, m.ref(), m.ID)
	}
	if errors.Is(err, panel.ErrNotFound) || errors.Is(err, panel.ErrUnsupported) || err != nil && !m.Pinned && ctx.Err() == nil {
		return nil
	}
	return err
}

// dropCopies deletes the copies that a move has made, from one of its machines. What cannot be deleted costs room and no more.
func (s *Service) dropCopies(ctx context.Context, m Move, panelName string) {
	if m.Kind != Live {
		return
	}
	on, err := capability[panel.Backups](s, panelName, panel.CapBackups)
	for try := int64(0); err == nil && try <= m.Tries; try++ {
		err = on.DeleteBackup(ctx, m.ref(), m.copyOf(try))
	}
	if err != nil && !errors.Is(err, panel.ErrNotFound) {
		s.Log.WarnContext(ctx, "copies of a service that moved are left", "service", m.ServiceID, "machine", panelName, "error", err)
	}
}

// address is where the machine to which a service has moved answers for it; none when that is not known.
func (s *Service) address(ctx context.Context, m Move) (to panel.Forward, _ error) {
	of, err := s.Services.Wanted(ctx, s.DB, m.ServiceID)
	if err != nil || of.Panel != m.To || !live(of) {
		return to, err
	}
	for _, text := range of.Addresses() {
		if ip, err := netip.ParseAddr(text); err == nil && s.Machines.Allows(ip) {
			to = panel.Forward{
				HTTP: netip.AddrPortFrom(ip, 80).String(), HTTPS: netip.AddrPortFrom(ip, 443).String(), Mail: netip.AddrPortFrom(ip, 25).String(),
			}
			break
		}
	}
	if to.HTTPS != "" {
		there, err := capability[panel.Moving](s, m.To, panel.CapMoving)
		if err == nil {
			to.Proof, err = there.Proof(ctx)
		}
		if err != nil && !errors.Is(err, panel.ErrUnsupported) {
			return to, err
		}
		if to.Proof == "" { // nothing is passed on to a machine that cannot prove itself
			to.HTTPS = ""
		}
	}
	// A machine that is used as it is may answer at another port.
	if u, err := url.Parse(of.OriginURL); err == nil && u.Scheme == "http" {
		host, port := u.Hostname(), u.Port()
		if at, err := netip.ParseAddrPort(net.JoinHostPort(host, port)); err == nil && s.Machines.Allows(at.Addr()) {
			to = panel.Forward{HTTP: at.String()}
		}
	}
	return to, nil
}
