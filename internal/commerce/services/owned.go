package services

import (
	"context"
	"fmt"
	"math"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// endedByOperator tells that a service is, or was when it ended, suspended by an operator for a reason that neither
// money nor its owner lifts.
func (r record) endedByOperator() bool {
	if r.suspendReason == nil || *r.suspendReason == Unpaid {
		return false
	}
	own := *r.suspendReason == Manual && r.ownerSuspendedAt != nil && r.suspendedAt != nil && r.ownerSuspendedAt.Equal(*r.suspendedAt)
	return !own
}

// ownActions are what its reseller can do with a service beside what every owner can; kept tells whether what it
// consisted of is, where it has ended.
func (r record) ownActions(kept bool) (actions []string) {
	switch r.status {
	case Active:
		actions = append(actions, "login_link", "suspend")
	case PastDue:
		actions = append(actions, "login_link")
	case Terminated:
		if kept && !r.endedByOperator() {
			actions = append(actions, "restore")
		}
	}
	if r.suspendedByOwner() {
		actions = append(actions, "unsuspend")
	}
	if _, ok := r.status.after(endOrdered); ok && !r.endedByOperator() {
		actions = append(actions, "terminate")
	}
	return actions
}

// EndOwn ends one of a reseller's services, now or with the time that is paid. Nothing is given back for time that is
// left. A final backup is made as of every service that ends. One that is on its way already is left on it; with the
// paid time, a service ends that has some: one that is past due ends now.
//
// That it ends with its paid time is taken back by switching on its automatic renewal, or by renewing it.
func (s *Service) EndOwn(ctx context.Context, tx *db.Tx, accountID, id int64, atPeriodEnd bool) error {
	return s.changeOwn(ctx, tx, accountID, id, func(r record) error {
		switch r.status {
		case Terminating:
			return nil
		case Terminated:
			return ErrTerminated.New()
		}
		if _, ok := r.status.after(endOrdered); !ok {
			return fault.ServiceNotActive.Wrapf("services: a service that is %s cannot be ended", r.status)
		}
		if r.endedByOperator() {
			return fault.ServiceSuspended.New()
		}
		left := r.expiresAt.Sub(tx.Now)
		if !atPeriodEnd || left <= 0 {
			return s.beginTermination(ctx, tx, r)
		}
		if r.endsAtExpiry {
			return nil
		}
		if err := setEnding(ctx, tx, r); err != nil {
			return err
		}
		now, err := get(ctx, tx, id)
		if err != nil {
			return err
		}
		days := int(math.Ceil(float64(left) / float64(day)))
		return s.emitChange(ctx, tx, "service.termination_scheduled", now, map[string]any{"auto_renew": r.autoRenew}, map[string]any{"days": days})
	})
}

// Closed refuses that an account is closed that has a service which is paid and not over.
func (s *Service) Closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	_, total, err := list(ctx, tx, accountID, filter{there: true}, page.Params{Page: 1, PerPage: 1})
	if err == nil && total > 0 {
		err = fault.InUse.Wrapf("%d of its services are not over", total)
	}
	return err
}

// RestoreOwn brings one of a reseller's terminated services back, as long as its final backup is kept. Where its paid
// time is over, a period of it is paid from the wallet, at the price of its renewal; the money is held until the panel
// has the service, which the period begins with, and comes back when the panel refuses it.
func (s *Service) RestoreOwn(ctx context.Context, tx *db.Tx, accountID, id int64, keyed bool) error {
	before, err := getOwn(ctx, tx, accountID, id)
	return s.inTimeOf(ctx, tx, before, err, func(record) error {
		if err := s.restorable(ctx, tx, before); err != nil {
			return err
		}
		if before.endedByOperator() {
			return fault.ServiceSuspended.New()
		}
		var orderID int64
		if !before.expiresAt.After(tx.Now) {
			// The wallet's row is locked before the service's.
			orderID, err = s.Billing.Begin(ctx, tx, sale.Purchase{
				AccountID: accountID, ServiceID: id, Kind: "renewal", Title: before.planName, Domain: before.domain,
				PeriodMonths: before.periodMonths, Price: before.renewPrice, Keyed: keyed, ClientRef: before.clientRef,
			})
			if err != nil {
				return err
			}
		}
		if _, err := s.unmoved(ctx, tx, before); err != nil {
			return err
		}
		if err := s.Restore(ctx, tx, id); err != nil || orderID == 0 {
			return err
		}
		return setRestoreOrder(ctx, tx, id, &orderID, before)
	})
}

// paidReturn takes the money that is held for a service which comes back, and answers until when that pays it; false
// where none is held. It is called before the service's row is locked.
func (s *Service) paidReturn(ctx context.Context, tx *db.Tx, r record) (until time.Time, paid bool, err error) {
	if r.restoreOrderID == nil {
		return *r.expiresAt, false, nil
	}
	if err := s.Orders.Complete(ctx, tx, *r.restoreOrderID); err != nil {
		return until, false, fmt.Errorf("services: complete order %d: %w", *r.restoreOrderID, err)
	}
	return addMonths(tx.Now, r.periodMonths), true, nil
}

// returned notes what was paid for a service that is back: its own plan, so another one that was to come with the next
// renewal does not.
func (s *Service) returned(ctx context.Context, tx *db.Tx, r record, until time.Time) error {
	if err := insertPeriod(ctx, tx, r.id, tx.Now, until, r.restorePrice); err != nil {
		return err
	}
	if err := setRestoreOrder(ctx, tx, r.id, nil, r); err != nil {
		return err
	}
	if err := setPending(ctx, tx, r.id, nil, nil, nil); err != nil {
		return err
	}
	return s.Addons.Renewed(ctx, tx, r.id, until)
}

// setEnding has a service end with its paid time, and not be renewed before.
func setEnding(ctx context.Context, tx *db.Tx, r record) error {
	_, err := tx.Exec(ctx, `UPDATE services SET ends_at_expiry = TRUE, auto_renew = FALSE, next_renewal_attempt_at = NULL,
		terminates_at = expires_at, warned = NULL, step_at = CAST($1 AS BIGINT) WHERE id = $2`, tx.Now, r.id)
	return err
}

func setRestoreOrder(ctx context.Context, tx *db.Tx, id int64, orderID *int64, r record) error {
	_, err := tx.Exec(ctx, `UPDATE services SET restore_order_id = $1, restore_price = $2 WHERE id = $3`, orderID, r.renewPrice-r.addonPrice, id)
	return err
}
