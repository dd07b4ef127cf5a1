package services

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Keeper has what services consisted of that have ended, so that they can come back.
type Keeper interface {
	// Kept are those of some terminated services that can come back.
	Kept(ctx context.Context, q db.Querier, serviceIDs []int64) ([]int64, error)
	// Return begins to put back what was kept, in the transaction that activates the service anew.
	Return(ctx context.Context, tx *db.Tx, serviceID int64) error
}

// Addons are what services have beside their plan.
type Addons interface {
	// Renewed hears that what a service has is paid until a time.
	Renewed(ctx context.Context, tx *db.Tx, serviceID int64, until time.Time) error
	// Ended and Returned hear that a service was terminated, and that it came back.
	Ended(ctx context.Context, tx *db.Tx, serviceID int64) error
	Returned(ctx context.Context, tx *db.Tx, serviceID int64) error
}

// NoAddons is the Addons, here and in package billing, of a company that sells none.
type NoAddons struct{}

// Renewals implements billing.Addons.
func (NoAddons) Renewals(context.Context, db.Querier, []sale.Renewal) (map[int64][]sale.Extra, error) {
	return nil, nil //nolint:nilnil // no service has any
}

// Renewed implements Addons.
func (NoAddons) Renewed(context.Context, *db.Tx, int64, time.Time) error { return nil }

// Ended implements Addons.
func (NoAddons) Ended(context.Context, *db.Tx, int64) error { return nil }

// Returned implements Addons.
func (NoAddons) Returned(context.Context, *db.Tx, int64) error { return nil }

// KeptFor is how long the final backup of a service is kept: what the product of its plan says.
func (s *Service) KeptFor(ctx context.Context, q db.Querier, id int64) (time.Duration, error) {
	r, err := get(ctx, q, id)
	if err != nil {
		return 0, err
	}
	terms, err := s.terms(ctx, q, r)
	return days(terms[r.PlanID].Kept), err
}

// Terminate ends a suspended service, on an operator's order. A job makes the final
// backup, removes the account and says that the service is terminated. One that is on
// this way already is left on it.
func (s *Service) Terminate(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Change(ctx, tx, id, func(r Row) error {
		if r.Status == Terminating {
			return nil
		}
		if r.Status == Terminated {
			return ErrTerminated.New()
		}
		if _, ok := r.Status.after(terminationDue); !ok {
			return ErrNotSuspended.Wrapf("services: a service that is %s cannot be terminated", r.Status)
		}
		return s.beginTermination(ctx, tx, r)
	})
}

// beginTermination sends a locked service on its way to the end.
func (s *Service) beginTermination(ctx context.Context, tx *db.Tx, r Row) error {
	if err := setTerminating(ctx, tx, r.ID); err != nil {
		return err
	}
	if err := s.emitMove(ctx, tx, "service.updated", r); err != nil {
		return err
	}
	return s.Provisioner.EnqueueEnd(ctx, tx, r.ID, false)
}

// EndUnkept removes the account of a service that is terminating although its final backup could not be made, on an
// operator's word.
func (s *Service) EndUnkept(ctx context.Context, tx *db.Tx, id int64) error {
	r, err := lock(ctx, tx, id)
	switch {
	case err != nil:
		return err
	case r.Status == Terminated:
		return ErrTerminated.New()
	case r.Status != Terminating:
		return fault.ServiceNotActive.Wrapf("services: a service that is %s has its final backup made first", r.Status)
	}
	return s.Provisioner.EnqueueEnd(ctx, tx, id, true)
}

// Restore brings a terminated service back, on an operator's order, as long as what was
// kept of it is there. The account is made anew by a job, under the same ref; once it
// is there the service is active until it was paid for, and what was kept is put back.
func (s *Service) Restore(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Change(ctx, tx, id, func(r Row) error {
		if err := s.restorable(ctx, tx, r); err != nil {
			return err
		}
		// Its names may still be its own: those of a service that ended are let go by a job.
		if r.Domain != nil {
			name, err := s.Names.Return(ctx, tx, r.AccountID, id, r.Sandbox, *r.Domain)
			if err != nil {
				return err
			}
			if name != *r.Domain {
				r.Domain = &name
				if err := setDomain(ctx, tx, r); err != nil {
					return err
				}
			}
		}
		if err := setReturning(ctx, tx, id); db.IsUnique(err) {
			return fault.DomainUnavailable.Wrap(err)
		} else if err != nil {
			return err
		}
		if err := s.emitMove(ctx, tx, "service.updated", r); err != nil {
			return err
		}
		return s.Provisioner.EnqueueProvision(ctx, tx, id)
	})
}

// restorable refuses a service that has not ended, and one of which nothing is kept.
func (s *Service) restorable(ctx context.Context, q db.Querier, r Row) error {
	if _, ok := r.Status.after(restored); !ok {
		return fault.ServiceNotActive.Wrapf("services: a service that is %s cannot be restored", r.Status)
	}
	kept, err := s.Keeper.Kept(ctx, q, []int64{r.ID})
	if err == nil && len(kept) == 0 {
		err = ErrRestoreWindow.New()
	}
	return err
}

// returning tells that a service in provisioning was there before and comes back.
func (r Row) returning() bool { return r.Status == Provisioning && r.ProvisionedAt != nil }

// comeBack commits that the account of a returning service is there again.
func (s *Service) comeBack(ctx context.Context, tx *db.Tx, r Row, account panel.Account) error {
	until, paid, err := s.paidReturn(ctx, tx, r)
	if err != nil {
		return err
	}
	if err := s.open(ctx, tx, r, account, until); err != nil {
		return err
	}
	if err := s.Keeper.Return(ctx, tx, r.ID); errors.Is(err, fault.NotFound) {
		return ErrRestoreWindow.Wrap(err) // it ended while the panel made the account
	} else if err != nil {
		return err
	}
	if err := s.Addons.Returned(ctx, tx, r.ID); err != nil {
		return err
	}
	if paid {
		if err := s.returned(ctx, tx, r, until); err != nil {
			return err
		}
	}
	return s.emitMove(ctx, tx, "service.restored", r)
}

// paidReturn takes the money that is held for a service which comes back, and answers until when that pays it; false
// where none is held. It is called before the service's row is locked.
func (s *Service) paidReturn(ctx context.Context, tx *db.Tx, r Row) (until time.Time, paid bool, err error) {
	if r.restoreOrderID == nil {
		return *r.ExpiresAt, false, nil
	}
	if err := s.Orders.Complete(ctx, tx, *r.restoreOrderID); err != nil {
		return until, false, fmt.Errorf("services: complete order %d: %w", *r.restoreOrderID, err)
	}
	return sale.AddMonths(tx.Now, r.PeriodMonths), true, nil
}

// returned notes what was paid for a service that is back: its own plan, so another one that was to come with the next
// renewal does not.
func (s *Service) returned(ctx context.Context, tx *db.Tx, r Row, until time.Time) error {
	if err := s.Billing.NotePaid(ctx, tx, r.ID, sale.PaidTime{Start: tx.Now, End: until, Amount: r.restorePrice, OrderID: *r.restoreOrderID}); err != nil {
		return err
	}
	if err := setRestoreOrder(ctx, tx, r.ID, nil, r); err != nil {
		return err
	}
	if err := s.SetPending(ctx, tx, r.ID, nil, nil, nil); err != nil {
		return err
	}
	return s.Addons.Renewed(ctx, tx, r.ID, until)
}

func setRestoreOrder(ctx context.Context, tx *db.Tx, id int64, orderID *int64, r Row) error {
	_, err := tx.Exec(ctx, `UPDATE services SET restore_order_id = $1, restore_price = $2 WHERE id = $3`, orderID, r.RenewPrice-r.AddonPrice, id)
	return err
}

// stayAway commits that the panel will not have a returning service: it is terminated as
// before, and can be restored again.
func (s *Service) stayAway(ctx context.Context, tx *db.Tx, r Row, failureKey string) error {
	if r.restoreOrderID != nil {
		if err := s.Orders.Fail(ctx, tx, *r.restoreOrderID, failureKey); err != nil {
			return fmt.Errorf("services: fail order %d: %w", *r.restoreOrderID, err)
		}
		if err := setRestoreOrder(ctx, tx, r.ID, nil, r); err != nil {
			return err
		}
	}
	moved, err := setTerminated(ctx, tx, r.ID, Provisioning)
	if err == nil && !moved {
		err = errMoved
	}
	if err != nil {
		return err
	}
	if err := s.emitMove(ctx, tx, "service.terminated", r); err != nil {
		return err
	}
	return s.Provisioner.EnqueueCleanUp(ctx, tx, r.ID, r.panel)
}

func setTerminating(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE services SET status = $1, step_at = NULL, next_renewal_attempt_at = NULL WHERE id = $2`, Terminating, id)
	return err
}

// setTerminated answers false when the service is no longer in the state that it leaves.
func setTerminated(ctx context.Context, tx *db.Tx, id int64, from Status) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE services SET status = $1, terminates_at = NULL, ends_at_expiry = FALSE, grace_until = NULL WHERE id = $2 AND status = $3`,
		Terminated, id, from)
	return n == 1, err
}

// setReturning is setProvisioning for a service that comes back, to the panel that it
// was on. What failed before its end, and what its owner was told of then, is over: money that comes in would renew it a
// second time.
func setReturning(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE services SET status = $1, provisioning_at = $2, suspend_reason = NULL, suspended_at = NULL,
		reminded = NULL, warned = NULL, renewal_failure = NULL, renewal_failed_at = NULL WHERE id = $3`, Provisioning, tx.Now, id)
	return err
}

// ending lists terminating services, in the order of their ids.
func ending(ctx context.Context, q db.Querier, afterID int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM services WHERE status = 'terminating' AND id > $1 ORDER BY id LIMIT $2`, afterID, limit)
}
