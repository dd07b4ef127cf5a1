package services

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// errMoved says that a service changed while its panel was at work. The job is
// run again and looks anew.
var errMoved = errors.New("services: the service changed meanwhile")

// panelTimeout is how long a panel may take for an account. It is shorter than the
// queue's timeout for a job, so that the job can still write what came of it.
const panelTimeout = 40 * time.Second

// provision makes the account of a service in provisioning. It may run twice, and
// at any time die: the panel answers a second request for the same ref with the
// account that it made at the first. last says that it will not be tried again.
func (s *Service) provision(ctx context.Context, id int64, last bool) error {
	r, err := get(ctx, s.DB, id)
	if err != nil {
		return err
	}
	if r.status != Provisioning {
		return nil
	}
	if r.cleaning(s.Clock.Now()) {
		return errCleaning
	}
	account, err := s.createAccount(ctx, r)
	switch {
	case err == nil:
		if err = s.activate(ctx, id, account); errors.Is(err, ErrRestoreWindow) {
			return s.giveUp(ctx, id, err)
		}
		return err
	case ctx.Err() != nil || (worthRetrying(err) && !last):
		return err
	default:
		return s.giveUp(ctx, id, err)
	}
}

func (s *Service) createAccount(ctx context.Context, r record) (panel.Account, error) {
	accounts, err := s.accounts(r.panel)
	if err != nil {
		return panel.Account{}, err
	}
	spec, err := r.spec()
	if err != nil {
		return panel.Account{}, err
	}
	call, cancel := context.WithTimeout(ctx, panelTimeout)
	defer cancel()
	account, err := accounts.CreateAccount(call, spec)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = panel.Wrap("accounts.create", spec.Ref, fmt.Errorf("%w: no answer within %v", panel.ErrUnreachable, panelTimeout))
	}
	return account, err
}

// activate commits what the panel made: the service is active, its order complete.
func (s *Service) activate(ctx context.Context, id int64, account panel.Account) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// The row is not locked yet: the order's and the wallet's rows come first.
		return s.read(ctx, tx, id, func(r record) error {
			if _, ok := r.status.after(accountMade); !ok {
				if r.status.live() {
					return nil // another run of this job was faster
				}
				// Another run gave up while the panel was making the account.
				return s.enqueueCleanUp(ctx, tx, id)
			}
			if r.returning() {
				return s.comeBack(ctx, tx, r, account)
			}
			if err := s.Orders.Complete(ctx, tx, r.orderID); err != nil {
				return fmt.Errorf("services: complete order %d: %w", r.orderID, err)
			}
			until := addMonths(tx.Now, r.periodMonths)
			if err := s.open(ctx, tx, r, account, until); err != nil {
				return err
			}
			if err := insertPeriod(ctx, tx, id, tx.Now, until, r.firstPrice); err != nil {
				return err
			}
			return s.emitMove(ctx, tx, "service.provisioned", r)
		})
	})
}

// open makes a service active that has its account, and whoever hears of it may work with its domain.
func (s *Service) open(ctx context.Context, tx *db.Tx, r record, account panel.Account, until time.Time) error {
	moved, err := setActive(ctx, tx, r.id, account.Ref, placeOf(account), until)
	if err == nil && !moved {
		err = errMoved
	}
	if err == nil && r.domain != nil {
		err = s.Names.Serve(ctx, tx, r.id)
	}
	if err == nil {
		err = s.planRenewal(ctx, tx, r.id)
	}
	return err
}

// giveUp fails a service that its panel will not have, or of which nothing is kept any more: the order returns the money,
// and a job removes what may have been made.
func (s *Service) giveUp(ctx context.Context, id int64, reason error) error {
	key := failureKey(panel.KindOf(reason))
	if errors.Is(reason, ErrRestoreWindow) {
		key = ErrRestoreWindow.Key
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.read(ctx, tx, id, func(r record) error {
			if _, ok := r.status.after(accountRefused); !ok {
				return nil
			}
			if r.returning() {
				return s.stayAway(ctx, tx, r, key)
			}
			if err := s.Orders.Fail(ctx, tx, r.orderID, key); err != nil {
				return fmt.Errorf("services: fail order %d: %w", r.orderID, err)
			}
			moved, err := setFailed(ctx, tx, id, key)
			if err == nil && !moved {
				err = errMoved
			}
			if err != nil {
				return err
			}
			if err := s.emitMove(ctx, tx, "service.provision_failed", r); err != nil {
				return err
			}
			return s.enqueueCleanUp(ctx, tx, id)
		})
	})
}

// emitMove tells of a service that has left the state in which it was read.
func (s *Service) emitMove(ctx context.Context, tx *db.Tx, eventType string, before record) error {
	now, err := get(ctx, tx, before.id)
	if err != nil {
		return err
	}
	return s.emit(ctx, tx, eventType, now, map[string]any{"status": before.status})
}

// errCleaning says that what is left of an earlier account of a service is being removed: it would take the new one with
// it.
var errCleaning = errors.New("services: the account that was there before is being removed")

// cleaningTime is longer than a job runs, so that nobody removes an account any more when it is over.
const cleaningTime = 2 * time.Minute

// cleanUp removes the account of a service that failed, or could not come back. A service that comes back meanwhile has
// its account made when this has ended.
func (s *Service) cleanUp(ctx context.Context, id int64) error {
	var r record
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if r, err = lock(ctx, tx, id); err != nil || !r.over() {
			return err
		}
		if r.cleaning(tx.Now) {
			return errCleaning
		}
		until := tx.Now.Add(cleaningTime)
		return setCleaning(ctx, tx, id, &until)
	})
	if err != nil || !r.over() {
		return err
	}
	err = s.removeAccount(ctx, r)
	if ctx.Err() != nil || errors.Is(err, panel.ErrUnreachable) {
		return err // the panel may still be at it
	}
	return errors.Join(err, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setCleaning(ctx, tx, id, nil) }))
}

// cleaning tells that what is left of the service's account may be being removed.
func (r record) cleaning(now time.Time) bool {
	return r.cleaningUntil != nil && now.Before(*r.cleaningUntil)
}

// over tells that the service has no account, and that what is left of one is to go.
func (r record) over() bool { return r.status == Failed || r.status == Terminated }

func (s *Service) removeAccount(ctx context.Context, r record) error {
	accounts, err := s.accounts(r.panel)
	if errors.Is(err, panel.ErrUnsupported) {
		return nil // it makes no accounts, so it has none of ours
	}
	if err != nil {
		return err
	}
	if err := accounts.DeleteAccount(ctx, refOf(r.id)); !errors.Is(err, panel.ErrNotFound) {
		return err
	}
	return nil
}

// followOnPanel makes the panel suspend the account, or the contrary, as the row
// now says. It looks again after it has acted: of two runs at once, the one that
// acts last leaves the panel as the row is.
func (s *Service) followOnPanel(ctx context.Context, id int64) error {
	r, err := get(ctx, s.DB, id)
	if err != nil {
		return err
	}
	for {
		accounts, err := s.accounts(r.panel)
		if err != nil {
			return err
		}
		offline := r.status == Suspended
		switch r.status {
		case Suspended:
			err = accounts.SuspendAccount(ctx, r.panelRef)
		case Active, PastDue:
			err = accounts.UnsuspendAccount(ctx, r.panelRef)
		default:
			return nil
		}
		if err != nil {
			return err
		}
		if r, err = get(ctx, s.DB, id); err != nil {
			return err
		}
		if (r.status == Suspended) == offline {
			return nil
		}
	}
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
		return stuck(ctx, tx, tx.Now.Add(-stuckAfter), after, reconcileBatch)
	}
	terminating := func(ctx context.Context, tx *db.Tx, after int64) ([]int64, error) {
		return ending(ctx, tx, after, reconcileBatch)
	}
	err := errors.Join(s.reconcile(ctx, inProvisioning, s.enqueueProvision), s.reconcile(ctx, terminating, s.enqueueEnd))
	if err != nil {
		return fmt.Errorf("services: reconcile: %w", err)
	}
	return nil
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
