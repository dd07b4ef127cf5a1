package services

import (
	"context"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Billing sells renewals, other plans and add-ons for existing services, and records what was paid for them. Package billing
// implements it and imports this one: below the interface stands how it reads, locks and writes the rows of services, and
// emits their events (beside Change, EnterTime and TimeOf in clock.go).
type Billing interface {
	// RenewAll pays the next periods of services from their wallets, as tx has read them and in their order, and returns for
	// each why it was refused; nil where it is paid. Nothing is written of a service that is refused. tx is in the time of
	// all of them.
	RenewAll(ctx context.Context, tx *db.Tx, all []Row) (refused []error, err error)
	// ApplyTariffsOf moves the services of a sandbox, whose time is now, to their next plans whose time has come.
	ApplyTariffsOf(ctx context.Context, accountID int64, now time.Time) error
	// NotePaid notes what was paid for times of a service.
	NotePaid(ctx context.Context, tx *db.Tx, serviceID int64, all ...sale.PaidTime) error
	// Funds reads what an account can spend.
	Funds(ctx context.Context, q db.Querier, accountID int64) (sale.Funds, error)
}

// Find reads a service of the account.
func (*Service) Find(ctx context.Context, q db.Querier, accountID, id int64) (Row, error) {
	return getOwn(ctx, q, accountID, id)
}

// Lock reads a service that is about to change, whoever owns it, and locks it until tx ends.
func (*Service) Lock(ctx context.Context, tx *db.Tx, id int64) (Row, error) { return lock(ctx, tx, id) }

// LockOwn is Lock for a service of the account.
func (*Service) LockOwn(ctx context.Context, tx *db.Tx, accountID, id int64) (Row, error) {
	return lockOwn(ctx, tx, accountID, id)
}

// LockUnchanged locks services that were read without a lock, and refuses when something has changed since on which the price
// of one depends, or whether it goes on: a renewal that was waited for must not undo what its owner has ordered meanwhile.
func (*Service) LockUnchanged(ctx context.Context, tx *db.Tx, before []Row) ([]Row, error) {
	locked, err := lockAll(ctx, tx, idsOf(before))
	if err != nil {
		return nil, err
	}
	for i, r := range locked {
		was := before[i] //nolint:gosec // lockAll returns one for each id
		same := r.Status == was.Status && r.PlanID == was.PlanID && r.ExpiresAt.Equal(*was.ExpiresAt) &&
			r.autoRenew == was.autoRenew && r.endsAtExpiry == was.endsAtExpiry &&
			r.AddonPrice == was.AddonPrice && r.AddonLimits == was.AddonLimits &&
			(r.PendingPlanID == nil) == (was.PendingPlanID == nil) &&
			(r.PendingPlanID == nil || *r.PendingPlanID == *was.PendingPlanID)
		if !same {
			return nil, fault.Conflict.Wrap(errMoved)
		}
	}
	return locked, nil
}

// Prolong sets the paid time of locked services, each until the time at its place, and clears suspension, grace and
// reminders. It returns the services as they then are.
func (s *Service) Prolong(ctx context.Context, tx *db.Tx, locked []Row, until []time.Time) ([]Row, error) {
	terms, err := s.terms(ctx, tx, locked...)
	if err != nil {
		return nil, err
	}
	now := slices.Clone(locked)
	for i := range until {
		r := &now[i]
		r.ExpiresAt, r.Status, r.endsAtExpiry = &until[i], Active, false
		r.suspendReason, r.suspendedAt, r.graceUntil, r.terminatesAt = nil, nil, nil, nil
		r.nextRenewalAttemptAt, r.reminded, r.warned = nil, nil, nil
		if r.renewing() {
			at := r.attemptAt(terms[r.PlanID])
			r.nextRenewalAttemptAt = &at
		}
	}
	return now, setRenewed(ctx, tx, now)
}

// EmitRenewed emits the event of a renewal, and has the panel bring back what was offline.
func (s *Service) EmitRenewed(ctx context.Context, tx *db.Tx, before, now Row) error {
	previous, err := changed(before, now)
	if err != nil {
		return err
	}
	if before.Status == Suspended { // of the change of state this event tells
		if err := s.followSuspension(ctx, tx, before, "service.unsuspended"); err != nil {
			return err
		}
		delete(previous, "status")
	}
	return s.emit(ctx, tx, "service.renewed", now, previous)
}

// SetPending notes the plan that comes with the next renewal, and its price; nil takes it back.
func (*Service) SetPending(ctx context.Context, tx *db.Tx, id int64, planID *int64, at *time.Time, price *money.USDCents) error {
	_, err := tx.Exec(ctx, `UPDATE services SET pending_plan_id = $1, pending_plan_at = $2, pending_price = $3 WHERE id = $4`, planID, at, price, id)
	return err
}

// SetPlan makes a service one of another plan. A change that was to come is
// overtaken by it.
func (*Service) SetPlan(ctx context.Context, tx *db.Tx, id int64, o sale.Offer) error {
	_, err := tx.Exec(ctx, `UPDATE services SET plan_id = $1, plan_slug = $2, plan_name = $3, limits = $4, renew_price = $5 + addon_price,
			pending_plan_id = NULL, pending_plan_at = NULL, pending_price = NULL WHERE id = $6`,
		o.PlanID, o.PlanSlug, o.PlanName, string(o.Limits), o.Price, id)
	return err
}

// SetAddons writes what the add-ons of a service add to each renewal, and by how much they raise the limits of its plan: a
// JSON object of numbers.
func (*Service) SetAddons(ctx context.Context, tx *db.Tx, id int64, price money.USDCents, raises string) error {
	_, err := tx.Exec(ctx, `UPDATE services SET renew_price = renew_price - addon_price + $1, addon_price = $1, addon_limits = $2 WHERE id = $3`,
		price, raises, id)
	return err
}

// Tell tells of a service as tx has left it, with the members that changed as they were before.
func (s *Service) Emit(ctx context.Context, tx *db.Tx, eventType string, id int64, previous map[string]any) error {
	now, err := get(ctx, tx, id)
	if err != nil {
		return err
	}
	return s.emit(ctx, tx, eventType, now, previous)
}

// ViewIn is a service of the account as its owner sees it in tx.
func (s *Service) ViewIn(ctx context.Context, tx *db.Tx, accountID, id int64) (View, error) {
	r, err := getOwn(ctx, tx, accountID, id)
	if err != nil {
		return View{}, err
	}
	has, err := s.Billing.Funds(ctx, tx, accountID)
	if err != nil {
		return View{}, err
	}
	w := wire(ctx, r, has)
	return w, s.watched(ctx, tx, &w)
}
