package addons

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Renewals lists what is renewed with each service for a number of months, by service. For a service's own period the
// prices are those that it was sold for, else those of the catalogue.
func (s *Service) Renewals(ctx context.Context, q db.Querier, all []sale.Renewal) (map[int64][]sale.Extra, error) {
	ids := make([]int64, len(all))
	for i, r := range all {
		ids[i] = r.ServiceID
	}
	found, err := ofServices(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	active := map[int64][]addon{}
	for _, a := range found {
		if a.status == Active {
			active[a.serviceID] = append(active[a.serviceID], a)
		}
	}
	extras := map[int64][]sale.Extra{}
	for _, r := range all {
		if extras[r.ServiceID], err = s.renewal(ctx, q, r, active[r.ServiceID]); err != nil {
			return nil, err
		}
	}
	return extras, nil
}

// renewal prices the add-ons that are renewed with a service.
func (s *Service) renewal(ctx context.Context, q db.Querier, r sale.Renewal, all []addon) ([]sale.Extra, error) {
	if len(all) == 0 {
		return nil, nil
	}
	lines := make([]sale.Extra, len(all))
	for i, a := range all {
		lines[i] = sale.Extra{Title: a.name, Quantity: a.quantity, UnitPrice: a.unitPrice}
	}
	if r.Own {
		return lines, nil
	}
	discount, err := s.discount(ctx, q, r.AccountID)
	if err != nil {
		return nil, err
	}
	for i, a := range all {
		p, ok, err := s.Catalog.Addon(ctx, q, a.key)
		if err == nil && !ok {
			err = fmt.Errorf("addons: nothing is known of %s", a.key)
		}
		if err != nil {
			return nil, err
		}
		unit, err := p.price(r.Months)
		if err != nil {
			return nil, err
		}
		lines[i].UnitPrice = unit.Less(discount)
	}
	return lines, nil
}

// Renewed stores until when the add-ons that Renewals listed are paid. The service must be locked.
func (s *Service) Renewed(ctx context.Context, tx *db.Tx, serviceID int64, until time.Time) error {
	return s.each(ctx, tx, serviceID, func(a addon) error {
		if moved, err := setPaid(ctx, tx, a.id, until); err != nil || !moved {
			return err
		}
		_, err := s.emitNow(ctx, tx, "addon.renewed", a.id, &a)
		return err
	})
}

// Ended ends the add-ons of a terminated service. Settle refuses the pending ones later, because the order must be locked
// before the service. The sums in the service's row stay: a restored service has the same limits.
func (s *Service) Ended(ctx context.Context, tx *db.Tx, serviceID int64) error {
	return s.each(ctx, tx, serviceID, func(a addon) error {
		switch a.status {
		case Active:
			if moved, err := setEnded(ctx, tx, a.id); err != nil || !moved {
				return err
			}
			_, err := s.emitNow(ctx, tx, "addon.cancelled", a.id, &a)
			return err
		case Cancelling: // of which was told when it was cancelled
			_, err := setCancelled(ctx, tx, a.id)
			return err
		default:
			return nil
		}
	})
}

// Returned restores the add-ons of a terminated service that was restored.
func (s *Service) Returned(ctx context.Context, tx *db.Tx, serviceID int64) error {
	err := s.each(ctx, tx, serviceID, func(a addon) error {
		if moved, err := setReturned(ctx, tx, a.id); err != nil || !moved {
			return err
		}
		_, err := s.emitNow(ctx, tx, "addon.activated", a.id, &a)
		return err
	})
	if err != nil {
		return err
	}
	return s.extend(ctx, tx, serviceID)
}

// each calls f with every add-on of a service, at the time of its account.
func (s *Service) each(ctx context.Context, tx *db.Tx, serviceID int64, f func(addon) error) error {
	all, err := ofService(ctx, tx, serviceID)
	if err != nil || len(all) == 0 {
		return err
	}
	leave, err := s.Services.Enter(ctx, tx, all[0].accountID)
	if err != nil {
		return err
	}
	defer leave()
	for _, a := range all {
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}

// Settle ends cancelled add-ons whose paid time is over, and refuses pending ones of services that have ended. A failure of
// one does not hold up the others. A periodic job calls it.
func (s *Service) Settle(ctx context.Context) error {
	var failed error
	for more := true; more; {
		found, err := over(ctx, s.DB, s.Clock.Now(), batch)
		if err != nil {
			return errors.Join(failed, fmt.Errorf("addons: settle: %w", err))
		}
		for _, a := range found {
			if err := s.finish(ctx, a); err != nil {
				failed = errors.Join(failed, fmt.Errorf("addons: end of %d: %w", a.id, err))
			}
		}
		more = len(found) == batch && failed == nil // what failed would be found again
	}
	for after, more := int64(0), true; more; {
		found, err := waiting(ctx, s.DB, after, batch)
		if err != nil {
			return errors.Join(failed, fmt.Errorf("addons: settle: %w", err))
		}
		for _, a := range found {
			after = a.id
			c, err := s.Billing.Contract(ctx, s.DB, a.accountID, a.serviceID)
			if err == nil && hasEnded(c) {
				err = s.fail(ctx, a.id, fault.ServiceNotActive.Key)
			}
			if err != nil && !errors.Is(err, ErrNotPending) {
				failed = errors.Join(failed, fmt.Errorf("addons: refusal of %d: %w", a.id, err))
			}
		}
		more = len(found) == batch
	}
	return failed
}

// finish ends an add-on that was cancelled.
func (s *Service) finish(ctx context.Context, a addon) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		leave, err := s.Services.Enter(ctx, tx, a.accountID)
		if err != nil {
			return err
		}
		defer leave()
		if _, err := s.Billing.LockContract(ctx, tx, a.accountID, a.serviceID); err != nil {
			return err
		}
		moved, err := setCancelled(ctx, tx, a.id)
		if err != nil || !moved {
			return err
		}
		return s.extend(ctx, tx, a.serviceID)
	})
}

// Due ends the cancelled add-ons of a sandbox whose paid time is over by its clock. It always finishes: busy is false.
func (s *Service) Due(ctx context.Context, accountID int64) (busy bool, err error) {
	now, err := s.Services.Now(ctx, s.DB, accountID)
	if err != nil {
		return false, err
	}
	found, err := overOf(ctx, s.DB, accountID, now)
	for _, a := range found {
		if err == nil {
			err = s.finish(ctx, a)
		}
	}
	return false, err
}

// Next returns the first time after t at which Due has something to do for an account; zero when there is none.
func (s *Service) Next(ctx context.Context, q db.Querier, accountID int64, t time.Time) (time.Time, error) {
	at, err := firstOver(ctx, q, accountID, t)
	if err != nil || at == nil {
		return time.Time{}, err
	}
	return *at, nil
}
