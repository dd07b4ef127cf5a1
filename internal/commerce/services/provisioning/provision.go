package provisioning

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// panelTimeout is how long a panel may take for an account. It is shorter than the
// queue's timeout for a job, so that the job can still write what came of it.
const panelTimeout = 40 * time.Second

// patientAttempts is how often a panel that does not answer is asked for an account before another one is. An agent that
// is started anew is back by then.
const patientAttempts = 2

// errMoved says that the service was placed on another panel: the job comes again at once.
var errMoved = errors.New("provisioning: the service is placed elsewhere")

// Provision makes the account of a service in provisioning, at the nth attempt. It may run twice, and
// at any time die: the panel answers a second request for the same ref with the
// account that it made at the first.
func (s *Service) Provision(ctx context.Context, id int64, attempt int) error {
	wanted, err := s.Services.Wanted(ctx, s.DB, id)
	if err != nil || wanted.Status != "provisioning" {
		return err
	}
	if err := s.Services.Cleaning(ctx, s.DB, id); err != nil {
		return err
	}
	maySend, err := s.Domains.MaySend(ctx, s.DB, wanted)
	if err != nil {
		return err
	}
	account, err := s.createAccount(ctx, wanted, maySend)
	switch {
	case err == nil:
		return s.Services.Made(ctx, id, wanted.Panel, account)
	case ctx.Err() != nil:
		return err
	case errors.Is(err, panel.ErrUnreachable) && attempt >= patientAttempts:
		moved, moveErr := s.Services.PlaceElsewhere(ctx, id, wanted.Panel)
		if moved {
			return errMoved
		}
		if moveErr != nil {
			return errors.Join(err, moveErr)
		}
	}
	if attempt < Attempts && worthRetrying(err) {
		return err
	}
	if attempt < Attempts && errors.Is(err, panel.ErrExists) {
		leaving, readErr := s.Services.Leaving(ctx, s.DB, id)
		if leaving || readErr != nil {
			return errors.Join(err, readErr) // it is free when that service's panel has followed
		}
	}
	return s.Services.Refused(ctx, id, failureKey(panel.KindOf(err)))
}

func (s *Service) createAccount(ctx context.Context, wanted site.Site, maySend bool) (panel.Account, error) {
	accounts, err := s.accounts(wanted)
	if err != nil {
		return panel.Account{}, err
	}
	spec := SpecOf(wanted)
	spec.NoMail = !maySend
	call, cancel := context.WithTimeout(ctx, panelTimeout)
	defer cancel()
	account, err := accounts.CreateAccount(call, spec)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = panel.Wrap("accounts.create", spec.Ref, fmt.Errorf("%w: no answer within %v", panel.ErrUnreachable, panelTimeout))
	}
	return account, err
}

// refOf is the service's name on every panel.
func refOf(s site.Site) string { return strconv.FormatInt(s.ServiceID, 10) }

// SpecOf is the account that a service asks of its panel, but for NoMail. It depends on nothing but the service, so that a job that runs
// twice asks twice for the same.
func SpecOf(s site.Site) panel.AccountSpec {
	spec := panel.AccountSpec{Ref: refOf(s), Username: s.Username, PrimaryDomain: s.Domain, Epoch: s.Epoch}
	// A plan without a limit says -1, a panel 0. A plan counts domains and
	// subdomains apart; to a panel all of them are names.
	plan := s.Limits
	spec.Limits = panel.Limits{
		DiskMB: max(0, plan["disk_mb"]), Inodes: max(0, plan["inodes"]),
		CPUPercent: max(0, int(plan["cpu_percent"])), MemoryMB: max(0, int(plan["memory_mb"])), Processes: max(0, int(plan["processes"])),
	}
	if plan["domains"] > 0 && plan["subdomains"] >= 0 {
		spec.Limits.Domains = int(plan["domains"] + plan["subdomains"])
	}
	return spec
}

// CleanUp removes what is left of the account of a service that failed, or could not come back. A service that comes back
// meanwhile has its account made when this has ended.
func (s *Service) CleanUp(ctx context.Context, id int64) error {
	over, err := s.Services.Clean(ctx, id)
	if err != nil || !over {
		return err
	}
	err = s.removeRest(ctx, id)
	if ctx.Err() != nil || errors.Is(err, panel.ErrUnreachable) {
		return err // the panel may still be at it
	}
	return errors.Join(err, s.Services.Cleaned(ctx, id))
}

func (s *Service) removeRest(ctx context.Context, id int64) error {
	wanted, err := s.Services.Wanted(ctx, s.DB, id)
	if err != nil {
		return err
	}
	accounts, err := s.accounts(wanted)
	if errors.Is(err, panel.ErrUnsupported) {
		return nil // it makes no accounts, so it has none of ours
	}
	if err != nil {
		return err
	}
	if err := accounts.DeleteAccount(ctx, refOf(wanted)); !errors.Is(err, panel.ErrNotFound) {
		return err
	}
	return nil
}

// makingTime is how long a panel may take at most for an account after nobody waits for it any more.
const makingTime = 2 * time.Minute

// Clear removes what a panel made of a service that was placed elsewhere because it did not answer. It answers when to
// come again; zero when nothing is left.
func (s *Service) Clear(ctx context.Context, id int64, panelName string) (time.Duration, error) {
	left, ok, err := s.Services.LeftOn(ctx, s.DB, id, panelName)
	if err != nil || !ok {
		return 0, err
	}
	there := site.Site{ServiceID: id, Panel: panelName}
	accounts, err := s.accounts(there)
	if errors.Is(err, panel.ErrUnsupported) {
		return 0, s.Services.Cleared(ctx, id, panelName) // it makes no accounts
	}
	if err != nil {
		return 0, err
	}
	err = accounts.DeleteAccount(ctx, refOf(there))
	if err != nil && !errors.Is(err, panel.ErrNotFound) {
		return 0, err
	}
	if wait := left.Since.Add(makingTime).Sub(s.Clock.Now()); wait > 0 {
		return wait, nil // it may be made still
	}
	return 0, s.Services.Cleared(ctx, id, panelName)
}

// FollowSuspension makes the panel suspend the account, or the contrary.
func (s *Service) FollowSuspension(ctx context.Context, id int64) error {
	wanted, err := s.Services.Wanted(ctx, s.DB, id)
	for err == nil {
		offline := wanted.Status == "suspended"
		if !offline && !wanted.Online() {
			return nil
		}
		var accounts panel.Accounts
		if accounts, err = s.accounts(wanted); err != nil {
			return err
		}
		if offline {
			err = accounts.SuspendAccount(ctx, wanted.Ref)
		} else {
			err = accounts.UnsuspendAccount(ctx, wanted.Ref)
		}
		if err != nil {
			return err
		}
		if wanted, err = s.Services.Wanted(ctx, s.DB, id); err == nil && (wanted.Status == "suspended") == offline {
			return nil
		}
	}
	return err
}

// FollowLimits gives the account the limits of the service's plan.
func (s *Service) FollowLimits(ctx context.Context, id int64) error {
	wanted, err := s.Services.Wanted(ctx, s.DB, id)
	for err == nil && wanted.Ref != "" && !wanted.Ended() {
		var accounts panel.Accounts
		if accounts, err = s.accounts(wanted); err != nil {
			return err
		}
		done := SpecOf(wanted).Limits
		if _, err = accounts.UpdateAccount(ctx, wanted.Ref, done); err != nil {
			return err
		}
		if wanted, err = s.Services.Wanted(ctx, s.DB, id); err == nil && SpecOf(wanted).Limits == done {
			return nil
		}
	}
	return err
}

// How often the keeper is asked whether all is kept: the seldomer the longer it takes.
const (
	askKeeper     = 5 * time.Second
	askKeeperSoon = 250 * time.Millisecond
)

// End takes a terminating service on: first all is kept, then the account goes. The
// answer is when to come again; zero when the service has ended. It may die at any
// point: what was kept is found again, and an account that is gone is no reason to stop. One that ends unkept has no
// final backup.
func (s *Service) End(ctx context.Context, id int64, unkept bool) (time.Duration, error) {
	wanted, err := s.Services.Wanted(ctx, s.DB, id)
	if err != nil || wanted.Status != "terminating" {
		return 0, err
	}
	accounts, err := s.accounts(wanted)
	if err != nil {
		return 0, err
	}
	_, err = accounts.Account(ctx, wanted.Ref)
	if err != nil && !errors.Is(err, panel.ErrNotFound) {
		return 0, err
	}
	if err == nil {
		if !unkept {
			if kept, err := s.Keeper.Keep(ctx, wanted.AccountID, id); err != nil || !kept {
				return askKeeper, err
			}
		}
		if err := accounts.DeleteAccount(ctx, wanted.Ref); err != nil && !errors.Is(err, panel.ErrNotFound) {
			return 0, err
		}
	}
	return 0, s.Services.Removed(ctx, id)
}

// When a service in provisioning is taken for stuck, and how many are read at once.
const (
	stuckAfter     = 2 * time.Minute
	reconcileBatch = 100
)

// Reconcile gives a job to every service that has been in provisioning for some
// time, and to every one that is terminating; one that has a job keeps that. A
// periodic job calls it.
func (s *Service) Reconcile(ctx context.Context) error {
	inProvisioning := func(ctx context.Context, tx *db.Tx, after int64) ([]int64, error) {
		return s.Services.Stuck(ctx, tx, tx.Now.Add(-stuckAfter), after, reconcileBatch)
	}
	terminating := func(ctx context.Context, tx *db.Tx, after int64) ([]int64, error) {
		return s.Services.Ending(ctx, tx, after, reconcileBatch)
	}
	end := func(ctx context.Context, tx *db.Tx, id int64) error { return s.EnqueueEnd(ctx, tx, id, false) }
	err := errors.Join(s.reconcile(ctx, inProvisioning, s.EnqueueProvision), s.reconcile(ctx, terminating, end), s.clearAll(ctx))
	if err != nil {
		return fmt.Errorf("provisioning: reconcile: %w", err)
	}
	return nil
}

// clearAll gives a job to all that is left on panels.
func (s *Service) clearAll(ctx context.Context) error {
	find := func(ctx context.Context, tx *db.Tx, after int64) (ids []int64, err error) {
		left, err := s.Services.Left(ctx, tx, after, reconcileBatch)
		for _, l := range left {
			if err := s.EnqueueClear(ctx, tx, l.ServiceID, l.Panel); err != nil {
				return nil, err
			}
			ids = append(ids, l.ServiceID)
		}
		return ids, err
	}
	return s.reconcile(ctx, find, func(context.Context, *db.Tx, int64) error { return nil })
}

// reconcile has give called with every service that find lists, page after page.
func (s *Service) reconcile(ctx context.Context, find func(ctx context.Context, tx *db.Tx, after int64) ([]int64, error),
	give func(ctx context.Context, tx *db.Tx, id int64) error,
) error {
	for after, more := int64(0), true; more; {
		var next int64
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			next = after
			ids, err := find(ctx, tx, after)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := give(ctx, tx, id); err != nil {
					return err
				}
				next = id
			}
			more = len(ids) == reconcileBatch
			return nil
		})
		if err != nil {
			return err
		}
		after = next
	}
	return nil
}

// worthRetrying tells whether the panel may accept later what it has refused now.
func worthRetrying(err error) bool {
	kind := panel.KindOf(err)
	return kind.Temporary() || kind == panel.ErrInternal
}

// failureKey is the public key for an account that could not be made.
func failureKey(kind panel.Kind) string {
	switch kind {
	case panel.ErrUnreachable:
		return "panel_unreachable"
	case panel.ErrBusy:
		return "panel_busy"
	case panel.ErrExists, panel.ErrInUse:
		return "domain_unavailable"
	case panel.ErrInvalid:
		return "domain_invalid"
	case panel.ErrLimit:
		return "limit_reached"
	case panel.ErrDiskFull:
		return "disk_full"
	case panel.ErrUnsupported:
		return "unsupported_operation"
	default:
		return "internal_error"
	}
}
