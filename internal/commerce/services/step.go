package services

import (
	"context"
	"fmt"
	"slices"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// Payments tell of money that is on its way to an account.
type Payments interface {
	// InFlight tells whether a gateway is working on a payment of the account.
	InFlight(ctx context.Context, q db.Querier, accountID int64) (bool, error)
}

// Plans are what services are sold by.
type Plans interface {
	// Terms returns those of the plans' products.
	Terms(ctx context.Context, q db.Querier, planIDs []int64) (map[int64]sale.Terms, error)
	// Return gives back what a service has taken of the plan's stock.
	Return(ctx context.Context, tx *db.Tx, planID, serviceID int64) error
}

// terms returns those of the plans of services, by plan.
func (s *Service) terms(ctx context.Context, q db.Querier, all ...Row) (map[int64]sale.Terms, error) {
	plans := make([]int64, len(all))
	for i, r := range all {
		plans[i] = r.PlanID
	}
	slices.Sort(plans)
	return s.Plans.Terms(ctx, q, slices.Compact(plans))
}

// planRenewal notes when the renewal of a service is tried, where it renews by itself and
// that is not known.
func (s *Service) planRenewal(ctx context.Context, tx *db.Tx, id int64) error {
	r, err := get(ctx, tx, id)
	if err != nil || !r.renewing() || r.nextRenewalAttemptAt != nil {
		return err
	}
	terms, err := s.terms(ctx, tx, r)
	if err != nil {
		return err
	}
	return setAttempt(ctx, tx, id, r.attemptAt(terms[r.PlanID]))
}

// act does one thing with a locked service and returns what it came to; empty when there is nothing more to do now.
func (s *Service) act(ctx context.Context, tx *db.Tx, r Row, terms sale.Terms, what todo) (act, error) {
	done := what.act
	var err error
	switch what.act {
	case actRemind:
		if err = setTold(ctx, tx, r.ID, &what.days, r.warned); err == nil {
			err = s.emitWith(ctx, tx, "service.renewal_upcoming", r, map[string]any{"days": what.days})
		}
	case actExpire:
		if r.Status == Suspended {
			err = s.runOut(ctx, tx, r, terms)
		} else if err = setPastDue(ctx, tx, r.ID, graceOf(*r.ExpiresAt, terms, tx.Now)); err == nil {
			err = s.emitMove(ctx, tx, "service.past_due", r)
		}
	case actSuspend:
		done, err = s.suspendUnpaid(ctx, tx, r, terms)
	case actWarn:
		if err = setTold(ctx, tx, r.ID, r.reminded, &what.days); err == nil {
			err = s.emitWith(ctx, tx, "service.termination_scheduled", r, map[string]any{"days": what.days})
		}
	case actTerminate:
		err = s.beginTermination(ctx, tx, r)
	default:
		err = fmt.Errorf("services: nobody does %q", what.act)
	}
	if err != nil {
		return "", err
	}
	noteStep(tx, r.ID, done, "", what.days)
	if done == actWait {
		return "", setSteps(ctx, tx, []dueStep{{id: r.ID, at: tx.Now.Add(paymentAgain)}})
	}
	return done, nil
}

// runOut has a service end whose paid time is over while its owner keeps it suspended: no money renews it, and it would
// be kept for ever. It ends as late as one that was suspended for not being paid.
func (s *Service) runOut(ctx context.Context, tx *db.Tx, r Row, terms sale.Terms) error {
	if err := setRunOut(ctx, tx, r.ID, tx.Now.Add(days(terms.Suspended)), terms.Suspended); err != nil {
		return err
	}
	now, err := get(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	return s.emitWith(ctx, tx, "service.termination_scheduled", now, map[string]any{"days": terms.Suspended})
}

// suspendUnpaid takes a service offline, unless a payment is on its way. Payments that are begun and never made do not keep it
// online for ever.
func (s *Service) suspendUnpaid(ctx context.Context, tx *db.Tx, r Row, terms sale.Terms) (act, error) {
	if tx.Now.Before(r.graceUntil.Add(paymentWait)) {
		waiting, err := s.Payments.InFlight(ctx, tx, r.AccountID)
		if err != nil {
			return "", err
		}
		if waiting {
			return actWait, nil
		}
	}
	if err := setSuspendedUnpaid(ctx, tx, r.ID, tx.Now.Add(days(terms.Suspended))); err != nil {
		return "", err
	}
	return actSuspend, s.followSuspension(ctx, tx, r, "service.suspended")
}

// Paid hears of money that came in, and has what it is for tried at once.
func (s *Service) Paid(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	switch e.Type {
	case "wallet.topup_succeeded", "wallet.adjusted", "wallet.sla_credited", "order.refunded":
		leave, err := s.Enter(ctx, tx, e.AccountID)
		if err != nil {
			return err
		}
		defer leave()
		return attemptNow(ctx, tx, e.AccountID)
	default:
		return nil
	}
}

// emitWith tells of r with members beside those of the service.
func (s *Service) emitWith(ctx context.Context, tx *db.Tx, eventType string, r Row, more map[string]any) error {
	return s.emitChange(ctx, tx, eventType, r, nil, more)
}
