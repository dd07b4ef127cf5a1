package services

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

// Provisioner makes services on their panels what their rows say, and reports back by the methods of this file. What is
// enqueued is done by a job after the commit.
type Provisioner interface {
	// Check answers fault.OutOfStock for a service whose plan promises what no panel has.
	Check(ctx context.Context, q db.Querier, p provisioning.Placement) error
	// Place chooses the panel of a service that begins to be provisioned in tx, or answers fault.OutOfStock.
	Place(ctx context.Context, tx *db.Tx, p provisioning.Placement) (panelName string, err error)
	// PlaceElsewhere chooses another panel than those that failed the service, or answers fault.OutOfStock.
	PlaceElsewhere(ctx context.Context, tx *db.Tx, p provisioning.Placement, failed []string) (panelName string, err error)
	// EnqueueClear removes what a panel may have made of a service that was placed elsewhere.
	EnqueueClear(ctx context.Context, tx *db.Tx, id int64, panelName string) error
	EnqueueProvision(ctx context.Context, tx *db.Tx, id int64) error
	EnqueueSuspension(ctx context.Context, tx *db.Tx, id int64) error
	// EnqueueEnd removes the account of a terminating service: after its final backup, unless it ends unkept.
	EnqueueEnd(ctx context.Context, tx *db.Tx, id int64, unkept bool) error
	EnqueueCleanUp(ctx context.Context, tx *db.Tx, id int64, panelName string) error
}

// errMoved says that a service changed meanwhile. The job is run again and looks anew.
var errMoved = errors.New("services: the service changed meanwhile")

// Wanted is what a service should be on its panel, whoever owns it.
func (s *Service) Wanted(ctx context.Context, q db.Querier, id int64) (site.Site, error) {
	return hosted(get(ctx, q, id))
}

// Made commits what the panel made: the service is active, its order complete. One that comes back, and of which nothing is
// kept any more, cannot. What another panel made than the one that the service is on by now is left there, to be removed.
func (s *Service) Made(ctx context.Context, id int64, panelName string, account panel.Account) error {
	err := s.activate(ctx, id, panelName, account)
	if errors.Is(err, ErrRestoreWindow) {
		return s.Refused(ctx, id, ErrRestoreWindow.Key)
	}
	return err
}

func (s *Service) activate(ctx context.Context, id int64, panelName string, account panel.Account) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// The row is not locked yet: the order's and the wallet's rows come first.
		return s.read(ctx, tx, id, func(r Row) error {
			if r.panel != panelName {
				return nil
			}
			if _, ok := r.Status.after(accountMade); !ok {
				if r.Status.live() {
					return nil // another run of this job was faster
				}
				// Another run gave up while the panel was making the account.
				return s.Provisioner.EnqueueCleanUp(ctx, tx, id, r.panel)
			}
			if r.returning() {
				return s.comeBack(ctx, tx, r, account)
			}
			from, err := takeoverOf(ctx, tx, id)
			if err != nil {
				return err
			}
			if from != nil {
				return s.openTakenOver(ctx, tx, r, *from, account)
			}
			if err := s.Orders.Complete(ctx, tx, r.orderID); err != nil {
				return fmt.Errorf("services: complete order %d: %w", r.orderID, err)
			}
			until := sale.AddMonths(tx.Now, r.PeriodMonths)
			if err := s.open(ctx, tx, r, account, until); err != nil {
				return err
			}
			if err := s.Billing.NotePaid(ctx, tx, id, sale.PaidTime{Start: tx.Now, End: until, Amount: r.firstPrice, OrderID: r.orderID}); err != nil {
				return err
			}
			return s.emitMove(ctx, tx, "service.provisioned", r)
		})
	})
}

// Placed hears where the panel serves a service now: its addresses, names of servers and preview change with the machine's
// configuration.
func (s *Service) Placed(ctx context.Context, id int64, account panel.Account) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.read(ctx, tx, id, func(r Row) error {
			now := placementOf(account)
			if !r.Status.live() || r.place.same(now) {
				return nil
			}
			moved, err := setPlace(ctx, tx, id, now)
			if err != nil || !moved {
				return err
			}
			return s.emitMove(ctx, tx, "service.updated", r)
		})
	})
}

// open makes a service active that has its account, and whoever hears of it may work with its domain.
func (s *Service) open(ctx context.Context, tx *db.Tx, r Row, account panel.Account, until time.Time) error {
	moved, err := setActive(ctx, tx, r.ID, r.panel, account.Ref, placementOf(account), until)
	if err == nil && !moved {
		err = errMoved
	}
	if err == nil && r.Domain != nil {
		err = s.Names.Serve(ctx, tx, r.ID)
	}
	if err == nil {
		err = s.planRenewal(ctx, tx, r.ID)
	}
	return err
}

// Refused fails a service that its panel will not have: the order returns the money, and a job removes what may have been
// made.
func (s *Service) Refused(ctx context.Context, id int64, failureKey string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.read(ctx, tx, id, func(r Row) error {
			if _, ok := r.Status.after(accountRefused); !ok {
				return nil
			}
			if r.returning() {
				return s.stayAway(ctx, tx, r, failureKey)
			}
			from, err := takeoverOf(ctx, tx, id)
			if err != nil {
				return err
			}
			if from != nil { // its order cost nothing, and is closed
				err = s.Plans.Return(ctx, tx, r.PlanID, id)
			} else {
				err = s.Orders.Fail(ctx, tx, r.orderID, failureKey)
			}
			if err != nil {
				return fmt.Errorf("services: fail order %d: %w", r.orderID, err)
			}
			moved, err := setFailed(ctx, tx, id, failureKey)
			if err == nil && !moved {
				err = errMoved
			}
			if err != nil {
				return err
			}
			if err := s.emitMove(ctx, tx, "service.provision_failed", r); err != nil {
				return err
			}
			return s.Provisioner.EnqueueCleanUp(ctx, tx, id, r.panel)
		})
	})
}

// emitMove tells of a service that has left the state in which it was read.
func (s *Service) emitMove(ctx context.Context, tx *db.Tx, eventType string, before Row) error {
	now, err := get(ctx, tx, before.ID)
	if err != nil {
		return err
	}
	previous, err := changed(before, now)
	if err != nil {
		return err
	}
	return s.emit(ctx, tx, eventType, now, previous)
}

// Removed commits that the account of a terminating service is gone: it is terminated.
func (s *Service) Removed(ctx context.Context, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.read(ctx, tx, id, func(r Row) error {
			moved, err := setTerminated(ctx, tx, id, Terminating)
			if err != nil || !moved {
				return err
			}
			if err := s.Addons.Ended(ctx, tx, id); err != nil {
				return err
			}
			return s.emitMove(ctx, tx, "service.terminated", r)
		})
	})
}

// cleaningTime is longer than a job runs, so that nobody removes an account any more when it is over.
const cleaningTime = 2 * time.Minute

// Clean notes that what is left of the account of a service is being removed, where it failed or is terminated.
func (s *Service) Clean(ctx context.Context, id int64) (over bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		r, err := lock(ctx, tx, id)
		if over = r.Status == Failed || r.Status == Terminated; err != nil || !over {
			return err
		}
		if r.cleaningUntil != nil && tx.Now.Before(*r.cleaningUntil) {
			return provisioning.ErrCleaning
		}
		until := tx.Now.Add(cleaningTime)
		return setCleaning(ctx, tx, id, &until)
	})
	return over, err
}

// Cleaned notes that nothing is left.
func (s *Service) Cleaned(ctx context.Context, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return setCleaning(ctx, tx, id, nil) })
}

// Cleaning answers provisioning.ErrCleaning while what is left of an account of the service may be being removed.
func (s *Service) Cleaning(ctx context.Context, q db.Querier, id int64) error {
	r, err := get(ctx, q, id)
	if err == nil && r.cleaningUntil != nil && s.Clock.Now().Before(*r.cleaningUntil) {
		err = provisioning.ErrCleaning
	}
	return err
}

// Leaving tells whether a panel may still have the domain of a service for another one, which was displaced.
func (s *Service) Leaving(ctx context.Context, q db.Querier, id int64) (bool, error) {
	r, err := get(ctx, q, id)
	if err != nil || r.Domain == nil || r.Sandbox {
		return false, err
	}
	return s.Names.Leaving(ctx, q, *r.Domain)
}

// Stuck lists services that have been in provisioning since before a time; those of sandboxes in any case, whose clocks
// differ.
func (s *Service) Stuck(ctx context.Context, q db.Querier, before time.Time, after int64, limit int) ([]int64, error) {
	return stuck(ctx, q, before, after, limit)
}

// Ending lists services that are terminating.
func (s *Service) Ending(ctx context.Context, q db.Querier, after int64, limit int) ([]int64, error) {
	return ending(ctx, q, after, limit)
}
