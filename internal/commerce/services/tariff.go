package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Usages tell what a service uses of its plan, by the names of the plan's limits.
type Usages interface {
	// Measure asks everybody who counts, the panel too; what nobody counts is left out. It is for
	// requests that change nothing.
	Measure(ctx context.Context, accountID, serviceID int64) (map[string]int64, error)
	// Known is what is known without asking the panel.
	Known(ctx context.Context, q db.Querier, serviceID int64) (map[string]int64, error)
}

// exceeded is a limit that a service is beyond.
type exceeded struct {
	Limit   string `json:"limit" doc:"A member of the plan's limits"`
	Used    int64  `json:"used"`
	Maximum int64  `json:"maximum"`
}

// exceeds lists the limits of a plan that the usage is beyond, by name.
func exceeds(limits json.RawMessage, used map[string]int64) ([]exceeded, error) {
	var l map[string]int64
	if err := json.Unmarshal(limits, &l); err != nil {
		return nil, fmt.Errorf("services: limits of a plan: %w", err)
	}
	over := []exceeded{}
	for name, n := range used {
		if most, ok := l[name]; ok && most >= 0 && n > most {
			over = append(over, exceeded{name, n, most})
		}
	}
	slices.SortFunc(over, func(a, b exceeded) int { return strings.Compare(a.Limit, b.Limit) })
	return over, nil
}

// tariffQuote is what moving a service to a plan costs now.
type tariffQuote struct {
	offer          sale.Offer
	cost           money.USDCents // of the new plan for the time that is paid
	charge, credit money.USDCents // one of them is zero
	toPay, toGive  money.USDCents // the same with the tax that is added
	exceeded       []exceeded
}

// quoteTariff prices the move to a plan at a moment: the new plan's cost for the time
// that is left, less what was paid for that time.
func (s *Service) quoteTariff(ctx context.Context, q db.Querier, r record, offer sale.Offer, used map[string]int64, now time.Time) (tariffQuote, error) {
	t := tariffQuote{offer: offer}
	all, err := periodsAfter(ctx, q, r.id, now)
	if err != nil {
		return t, err
	}
	value, err := worth(all, now)
	if err != nil {
		return t, err
	}
	if t.cost, err = cost(offer.Price, offer.PeriodMonths, now, *r.expiresAt, beganOf(all)); err != nil {
		return t, err
	}
	t.charge, t.credit = max(0, t.cost-value), max(0, value-t.cost)
	if t.toPay, err = s.gross(ctx, q, r.accountID, t.charge); err != nil {
		return t, err
	}
	if t.toGive, err = s.gross(ctx, q, r.accountID, t.credit); err != nil {
		return t, err
	}
	limits, err := r.raisedBy(string(offer.Limits))
	if err != nil {
		return t, err
	}
	t.exceeded, err = exceeds(json.RawMessage(limits), used)
	return t, err
}

// movable tells whether the tariff of a service can change.
func (r record) movable() bool { return r.status == Active || r.status == PastDue }

// changeable says why the tariff of a service cannot change, or nil.
func (r record) changeable() error {
	switch {
	case r.movable():
		return nil
	case r.status == Suspended:
		return fault.ServiceSuspended.New()
	default:
		return fault.ServiceNotActive.New()
	}
}

// tariffs are the plans that one of the account's services may move to, with what
// each would cost now.
func (s *Service) tariffs(ctx context.Context, accountID, id int64) (record, []tariffQuote, error) {
	r, err := getOwn(ctx, s.DB, accountID, id)
	if err != nil {
		return r, nil, err
	}
	if !r.movable() {
		return r, nil, nil // to none, for now
	}
	used, err := s.Usages.Measure(ctx, accountID, id)
	if err != nil {
		return r, nil, err
	}
	offers, err := s.changes(ctx, s.DB, r)
	if err != nil {
		return r, nil, err
	}
	now, err := s.now(ctx, s.DB, r)
	if err != nil {
		return r, nil, err
	}
	quotes := make([]tariffQuote, 0, len(offers))
	for _, offer := range offers {
		t, err := s.quoteTariff(ctx, s.DB, r, offer, used, now)
		if err != nil {
			return r, nil, err
		}
		quotes = append(quotes, t)
	}
	return r, quotes, nil
}

// tariffWish is what a customer asks for.
type tariffWish struct {
	planID    int64
	atRenewal bool
	seen      *money.USDCents // the charge that the client showed
	keyed     bool
}

// quoteChange finds the plan that a service is to move to and prices the move, or
// says why it cannot move there.
func (s *Service) quoteChange(ctx context.Context, q db.Querier, r record, w tariffWish, now time.Time) (tariffQuote, error) {
	if err := r.changeable(); err != nil {
		return tariffQuote{}, err
	}
	if !w.atRenewal && (r.status != Active || !r.expiresAt.After(now)) { // nothing is left that could cost more or less
		return tariffQuote{}, ErrTariffNotAllowed.Wrapf("services: service %d is %s until %v", r.id, r.status, r.expiresAt)
	}
	if w.atRenewal && r.pendingPaid() {
		// The time after the change was paid at the price of the plan that waits. A change now settles that time at its own price.
		return tariffQuote{}, ErrTariffNotAllowed.Wrapf("services: service %d was renewed for its next plan", r.id)
	}
	offers, err := s.changes(ctx, q, r)
	if err != nil {
		return tariffQuote{}, err
	}
	i := slices.IndexFunc(offers, func(o sale.Offer) bool { return o.PlanID == w.planID })
	if i < 0 || !offers[i].Available {
		return tariffQuote{}, ErrTariffNotAllowed.Wrapf("services: plan %d is not open to service %d", w.planID, r.id)
	}
	if err := s.provided(ctx, q, r, offers[i]); err != nil {
		return tariffQuote{}, err
	}
	used, err := s.Usages.Known(ctx, q, r.id)
	if err != nil {
		return tariffQuote{}, err
	}
	t, err := s.quoteTariff(ctx, q, r, offers[i], used, now)
	if err != nil {
		return t, err
	}
	if w.atRenewal {
		t.charge, t.credit, t.toPay, t.toGive = 0, 0, 0, 0
	}
	if len(t.exceeded) > 0 {
		return t, ErrDowngradeExceeds.With(fault.Fields{"exceeded": t.exceeded})
	}
	return t, expected(ctx, w.seen, t.toPay)
}

// provided refuses a plan that promises what no panel has.
func (s *Service) provided(ctx context.Context, q db.Querier, r record, offer sale.Offer) error {
	limits, err := site.ParseLimits(r.id, offer.Limits)
	if err != nil {
		return err
	}
	return s.Provisioner.Check(ctx, q, provisioning.Placement{ServiceID: r.id, PlanID: offer.PlanID, Limits: limits, Sandbox: r.sandbox})
}

// changeTariff moves one of the account's services to another plan: now, for what
// the time that is left costs more, or with its next renewal. It answers the order,
// 0 where nothing was sold.
func (s *Service) changeTariff(ctx context.Context, tx *db.Tx, accountID, id int64, w tariffWish) (tariffQuote, int64, error) {
	before, err := getOwn(ctx, tx, accountID, id)
	if err != nil {
		return tariffQuote{}, 0, err
	}
	leave, err := s.enter(ctx, tx, before)
	if err != nil {
		return tariffQuote{}, 0, err
	}
	defer leave()
	if w.planID == before.planID {
		return s.stay(ctx, tx, before)
	}
	t, err := s.quoteChange(ctx, tx, before, w, tx.Now)
	if err != nil {
		return t, 0, err
	}
	if w.atRenewal {
		r, err := s.unmovedOne(ctx, tx, before)
		if err == nil {
			err = setPending(ctx, tx, id, &w.planID, r.expiresAt, &t.offer.Price)
		}
		if err == nil {
			err = s.tellUpdated(ctx, tx, id, map[string]any{"pending_plan_id": r.pendingPlanID})
		}
		return t, 0, err
	}
	orderID, err := s.sell(ctx, tx, sale.Sale{
		AccountID: accountID, ServiceID: id, Kind: "tariff_change", Title: t.offer.PlanName, Domain: before.domain,
		PlanID: w.planID, PeriodMonths: before.periodMonths, Price: t.cost, Discount: t.cost - t.charge, Credit: t.credit, Keyed: w.keyed, ClientRef: before.clientRef,
	})
	if err != nil {
		return t, 0, err
	}
	r, err := s.unmovedOne(ctx, tx, before)
	if err != nil {
		return t, 0, err
	}
	paid, err := periodsAfter(ctx, tx, id, tx.Now)
	if err != nil {
		return t, 0, err
	}
	// What a refund took back meanwhile is not given back once more.
	if value, err := worth(paid, tx.Now); err != nil || value != t.cost-t.charge+t.credit {
		return t, 0, errors.Join(err, fault.Conflict.Wrap(errMoved))
	}
	if err := cutPeriods(ctx, tx, id, paid, tx.Now); err != nil {
		return t, 0, err
	}
	if err := insertRest(ctx, tx, id, tx.Now, *r.expiresAt, beganOf(paid), t.cost); err != nil {
		return t, 0, err
	}
	return t, orderID, s.move(ctx, tx, r, t.offer)
}

// pendingPaid reports whether time after the change to the pending plan is paid. It was paid at that plan's price, so the
// change can then be neither taken back nor replaced by another one that waits.
func (r record) pendingPaid() bool {
	return r.pendingPlanID != nil && r.expiresAt.After(*r.pendingPlanAt)
}

// dropPending takes a change back that cannot be.
func (s *Service) dropPending(ctx context.Context, tx *db.Tx, r record) error {
	if err := setPending(ctx, tx, r.id, nil, nil, nil); err != nil {
		return err
	}
	now, err := get(ctx, tx, r.id)
	if err != nil {
		return err
	}
	return s.emit(ctx, tx, "service.tariff_change_failed", now, map[string]any{"pending_plan_id": r.pendingPlanID})
}

// stay takes back a change that was to come with the next renewal.
func (s *Service) stay(ctx context.Context, tx *db.Tx, before record) (tariffQuote, int64, error) {
	r, err := lock(ctx, tx, before.id)
	if err != nil {
		return tariffQuote{}, 0, err
	}
	if r.pendingPlanID == nil {
		return tariffQuote{}, 0, ErrTariffNotAllowed.Wrapf("services: service %d has that plan", r.id)
	}
	if r.pendingPaid() {
		// The time after the change was paid at the other plan's price.
		return tariffQuote{}, 0, ErrTariffNotAllowed.Wrapf("services: service %d was renewed for its next plan", r.id)
	}
	if err := setPending(ctx, tx, r.id, nil, nil, nil); err != nil {
		return tariffQuote{}, 0, err
	}
	offer := sale.Offer{
		PlanID: r.planID, PlanSlug: r.planSlug, PlanName: r.planName, PeriodMonths: r.periodMonths, Price: r.renewPrice - r.addonPrice,
		Limits: json.RawMessage(r.limits), Available: true,
	}
	return tariffQuote{offer: offer}, 0, s.tellUpdated(ctx, tx, r.id, map[string]any{"pending_plan_id": r.pendingPlanID})
}

func (s *Service) tellUpdated(ctx context.Context, tx *db.Tx, id int64, previous map[string]any) error {
	now, err := get(ctx, tx, id)
	if err != nil {
		return err
	}
	return s.emit(ctx, tx, "service.updated", now, previous)
}

// move gives a locked service another plan, and has the panel follow.
func (s *Service) move(ctx context.Context, tx *db.Tx, r record, offer sale.Offer) error {
	taken, err := s.Plans.Take(ctx, tx, r.accountID, offer.PlanID, r.id)
	if err != nil {
		return err
	}
	if !taken {
		return ErrTariffNotAllowed.Wrapf("services: plan %d is sold out", offer.PlanID)
	}
	if err := s.Plans.Return(ctx, tx, r.planID, r.id); err != nil {
		return err
	}
	if err := setPlan(ctx, tx, r.id, offer); err != nil {
		return err
	}
	now, err := get(ctx, tx, r.id)
	if err != nil {
		return err
	}
	if err := s.emit(ctx, tx, "service.tariff_changed", now, map[string]any{"plan_id": r.planID}); err != nil {
		return err
	}
	return s.Provisioner.EnqueueLimits(ctx, tx, r.id)
}

// applyPending moves a service whose next period was paid for another plan, and has
// begun, to that plan. A plan that is no longer to be had fails the change; the
// service keeps its own, and what the other one cost more comes back.
func (s *Service) applyPending(ctx context.Context, tx *db.Tx, id int64) error {
	return s.change(ctx, tx, id, func(r record) error { return s.applyDue(ctx, tx, r) })
}

func (s *Service) applyDue(ctx context.Context, tx *db.Tx, r record) error {
	if r.pendingPlanID == nil || r.pendingPlanAt.After(tx.Now) || !r.expiresAt.After(tx.Now) {
		return nil
	}
	offer, err := s.offer(ctx, tx, r.accountID, *r.pendingPlanID, r.periodMonths)
	if err != nil && !errors.Is(err, fault.Validation) {
		return err
	}
	if err := setPending(ctx, tx, r.id, nil, nil, nil); err != nil {
		return err
	}
	if r.pendingPrice != nil { // the price that its owner agreed to
		offer.Price = *r.pendingPrice
	}
	if err == nil {
		err = tx.Savepoint(ctx, func(ctx context.Context) error { return s.move(ctx, tx, r, offer) })
	}
	if errors.Is(err, ErrTariffNotAllowed) || errors.Is(err, fault.Validation) {
		if err := s.payBack(ctx, tx, r); err != nil {
			return err
		}
		return s.emit(ctx, tx, "service.tariff_change_failed", r, map[string]any{"pending_plan_id": r.pendingPlanID})
	}
	return err
}

// payBack gives back what the time of a locked service was paid more than its own plan costs, for one that it does not
// get. What was paid less is its owner's luck. The wallet's row comes after the service's here: who would then wait for
// each other in a circle is run again.
func (s *Service) payBack(ctx context.Context, tx *db.Tx, r record) error {
	paid, err := periodsAfter(ctx, tx, r.id, tx.Now)
	if err != nil {
		return err
	}
	value, err := worth(paid, tx.Now)
	if err != nil {
		return err
	}
	own, err := cost(r.renewPrice-r.addonPrice, r.periodMonths, tx.Now, *r.expiresAt, beganOf(paid))
	if err != nil || value <= own {
		return err
	}
	_, err = s.sell(ctx, tx, sale.Sale{
		AccountID: r.accountID, ServiceID: r.id, Kind: "tariff_change", Title: r.planName, Domain: r.domain, PlanID: r.planID,
		PeriodMonths: r.periodMonths, Price: own, Discount: own, Credit: value - own, ClientRef: r.clientRef,
	})
	if err == nil {
		err = cutPeriods(ctx, tx, r.id, paid, tx.Now)
	}
	if err == nil {
		err = insertRest(ctx, tx, r.id, tx.Now, *r.expiresAt, beganOf(paid), own)
	}
	return err
}

const tariffBatch = 100

// ApplyTariffs moves the services to their next plans whose time has come. One that
// fails does not hold up the others. A periodic job calls it.
func (s *Service) ApplyTariffs(ctx context.Context) error {
	var failed error
	for more, after := true, int64(0); more; {
		ids, err := tariffsDue(ctx, s.DB, s.Clock.Now(), after, tariffBatch)
		if err != nil {
			return errors.Join(failed, fmt.Errorf("services: tariffs: %w", err))
		}
		for _, id := range ids {
			after = id
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.applyPending(ctx, tx, id) })
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("services: tariff of service %d: %w", id, err))
			}
		}
		more = len(ids) == tariffBatch
	}
	return failed
}

type tariffsArgs struct{}

func (tariffsArgs) Kind() string { return "services.apply_tariffs" }

// setRenewed writes what prolong made of services.
func setRenewed(ctx context.Context, tx *db.Tx, all []record) error {
	var rows db.Values
	for _, r := range all {
		rows.Add(r.id, r.expiresAt, r.status, r.nextRenewalAttemptAt, tx.Now)
	}
	table, args := rows.Table(tx)
	return tx.Queue(ctx, nil, `WITH now (id, expires_at, status, attempt_at, at) AS (`+table+`)
		UPDATE services SET expires_at = now.expires_at, status = now.status, next_renewal_attempt_at = now.attempt_at, step_at = now.at,
			suspend_reason = NULL, suspended_at = NULL, grace_until = NULL, terminates_at = NULL, ends_at_expiry = FALSE,
			reminded = NULL, warned = NULL, renewal_failure = NULL, renewal_failed_at = NULL
		FROM now WHERE services.id = now.id`, args...)
}

// setPending notes the plan that comes with the next renewal, and its price; nil takes it back.
func setPending(ctx context.Context, tx *db.Tx, id int64, planID *int64, at *time.Time, price *money.USDCents) error {
	_, err := tx.Exec(ctx, `UPDATE services SET pending_plan_id = $1, pending_plan_at = $2, pending_price = $3 WHERE id = $4`, planID, at, price, id)
	return err
}

// setPlan makes a service one of another plan. A change that was to come is
// overtaken by it.
func setPlan(ctx context.Context, tx *db.Tx, id int64, o sale.Offer) error {
	_, err := tx.Exec(ctx, `UPDATE services SET plan_id = $1, plan_slug = $2, plan_name = $3, limits = $4, renew_price = $5 + addon_price,
			pending_plan_id = NULL, pending_plan_at = NULL, pending_price = NULL WHERE id = $6`,
		o.PlanID, o.PlanSlug, o.PlanName, string(o.Limits), o.Price, id)
	return err
}

// tariffsDue lists services whose next plan's time has come and is paid.
func tariffsDue(ctx context.Context, q db.Querier, now time.Time, after int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM services WHERE pending_plan_at IS NOT NULL AND pending_plan_at <= $1 AND expires_at > $1 AND id > $2
		AND status IN ('active', 'past_due', 'suspended') ORDER BY id LIMIT $3`, now, after, limit)
}
