package billing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

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
		return nil, fmt.Errorf("billing: limits of a plan: %w", err)
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
func (s *Service) quoteTariff(ctx context.Context, q db.Querier, r services.Row, offer sale.Offer, used map[string]int64, now time.Time) (tariffQuote, error) {
	t := tariffQuote{offer: offer}
	all, err := periodsAfter(ctx, q, r.ID, now)
	if err != nil {
		return t, err
	}
	value, err := worth(all, now)
	if err != nil {
		return t, err
	}
	if t.cost, err = cost(offer.Price, offer.PeriodMonths, now, *r.ExpiresAt, beganOf(all)); err != nil {
		return t, err
	}
	t.charge, t.credit = max(0, t.cost-value), max(0, value-t.cost)
	if t.toPay, err = s.gross(ctx, q, r.AccountID, t.charge); err != nil {
		return t, err
	}
	if t.toGive, err = s.gross(ctx, q, r.AccountID, t.credit); err != nil {
		return t, err
	}
	t.exceeded, err = beyond(r, offer, used)
	return t, err
}

// beyond lists the limits that a service would have with a plan and that it is beyond.
func beyond(r services.Row, offer sale.Offer, used map[string]int64) ([]exceeded, error) {
	limits, err := r.RaisedBy(string(offer.Limits))
	if err != nil {
		return nil, err
	}
	return exceeds(json.RawMessage(limits), used)
}

// movable tells whether the tariff of a service can change.
func movable(r services.Row) bool { return r.Status == services.Active || r.Status == services.PastDue }

// changeable says why the tariff of a service cannot change, or nil.
func changeable(r services.Row) error {
	switch {
	case movable(r):
		return nil
	case r.Status == services.Suspended:
		return fault.ServiceSuspended.New()
	default:
		return fault.ServiceNotActive.New()
	}
}

// tariffs are the plans that one of the account's services may move to, with what
// each would cost now.
func (s *Service) tariffs(ctx context.Context, accountID, id int64) (services.Row, []tariffQuote, error) {
	r, err := s.Services.Find(ctx, s.DB, accountID, id)
	if err != nil {
		return r, nil, err
	}
	if !movable(r) {
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
	now, err := s.Services.TimeOf(ctx, s.DB, r)
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
func (s *Service) quoteChange(ctx context.Context, q db.Querier, r services.Row, w tariffWish, now time.Time) (tariffQuote, error) {
	if err := changeable(r); err != nil {
		return tariffQuote{}, err
	}
	if !w.atRenewal && (r.Status != services.Active || !r.ExpiresAt.After(now)) { // nothing is left that could cost more or less
		return tariffQuote{}, ErrTariffNotAllowed.Wrapf("billing: service %d is %s until %v", r.ID, r.Status, r.ExpiresAt)
	}
	if w.atRenewal && pendingPaid(r) {
		// The time after the change was paid at the price of the plan that waits. A change now settles that time at its own price.
		return tariffQuote{}, ErrTariffNotAllowed.Wrapf("billing: service %d was renewed for its next plan", r.ID)
	}
	offers, err := s.changes(ctx, q, r)
	if err != nil {
		return tariffQuote{}, err
	}
	i := slices.IndexFunc(offers, func(o sale.Offer) bool { return o.PlanID == w.planID })
	if i < 0 || !offers[i].Available {
		return tariffQuote{}, ErrTariffNotAllowed.Wrapf("billing: plan %d is not open to service %d", w.planID, r.ID)
	}
	if err := s.provided(ctx, q, r, offers[i]); err != nil {
		return tariffQuote{}, err
	}
	used, err := s.Usages.Known(ctx, q, r.ID)
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
func (s *Service) provided(ctx context.Context, q db.Querier, r services.Row, offer sale.Offer) error {
	limits, err := site.ParseLimits(r.ID, offer.Limits)
	if err != nil {
		return err
	}
	return s.Provisioner.Check(ctx, q, provisioning.Placement{ServiceID: r.ID, PlanID: offer.PlanID, Limits: limits, Sandbox: r.Sandbox})
}

// changeTariff moves one of the account's services to another plan: now, for what
// the time that is left costs more, or with its next renewal. It answers the order,
// 0 where nothing was sold.
func (s *Service) changeTariff(ctx context.Context, tx *db.Tx, accountID, id int64, w tariffWish) (tariffQuote, int64, error) {
	before, err := s.Services.Find(ctx, tx, accountID, id)
	if err != nil {
		return tariffQuote{}, 0, err
	}
	leave, err := s.Services.EnterTime(ctx, tx, before)
	if err != nil {
		return tariffQuote{}, 0, err
	}
	defer leave()
	if w.planID == before.PlanID {
		return s.stay(ctx, tx, before)
	}
	t, err := s.quoteChange(ctx, tx, before, w, tx.Now)
	if err != nil {
		return t, 0, err
	}
	if w.atRenewal {
		r, err := s.unmovedOne(ctx, tx, before)
		if err == nil {
			err = s.Services.SetPending(ctx, tx, id, &w.planID, r.ExpiresAt, &t.offer.Price)
		}
		if err == nil {
			err = s.Services.Emit(ctx, tx, "service.updated", id, map[string]any{"pending_plan_id": r.PendingPlanID})
		}
		return t, 0, err
	}
	orderID, err := s.sell(ctx, tx, sale.Sale{
		AccountID: accountID, ServiceID: id, Kind: "tariff_change", Title: t.offer.PlanName, Domain: before.Domain,
		PlanID: w.planID, PeriodMonths: before.PeriodMonths, Price: t.cost, Discount: t.cost - t.charge, Credit: t.credit, Keyed: w.keyed, ClientRef: before.ClientRef,
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
	value, err := worth(paid, tx.Now)
	if err != nil || value != t.cost-t.charge+t.credit {
		return t, 0, errors.Join(err, fault.Conflict.Wrapf("billing: the paid time of service %d changed meanwhile", id))
	}
	if err := replaceRest(ctx, tx, id, paid, tx.Now, *r.ExpiresAt, orderID, value, t.cost); err != nil {
		return t, 0, err
	}
	return t, orderID, s.move(ctx, tx, r, t.offer)
}

// unmovedOne is services.LockUnchanged for one service.
func (s *Service) unmovedOne(ctx context.Context, tx *db.Tx, before services.Row) (services.Row, error) {
	locked, err := s.Services.LockUnchanged(ctx, tx, []services.Row{before})
	if err != nil {
		return services.Row{}, err
	}
	return locked[0], nil
}

// pendingPaid reports whether time after the change to the pending plan is paid. It was paid at that plan's price, so the
// change can then be neither taken back nor replaced by another one that waits.
func pendingPaid(r services.Row) bool {
	return r.PendingPlanID != nil && r.ExpiresAt.After(*r.PendingPlanAt)
}

// dropPending takes a change back that cannot be.
func (s *Service) dropPending(ctx context.Context, tx *db.Tx, r services.Row) error {
	if err := s.Services.SetPending(ctx, tx, r.ID, nil, nil, nil); err != nil {
		return err
	}
	return s.Services.Emit(ctx, tx, "service.tariff_change_failed", r.ID, map[string]any{"pending_plan_id": r.PendingPlanID})
}

// stay takes back a change that was to come with the next renewal.
func (s *Service) stay(ctx context.Context, tx *db.Tx, before services.Row) (tariffQuote, int64, error) {
	r, err := s.Services.Lock(ctx, tx, before.ID)
	if err != nil {
		return tariffQuote{}, 0, err
	}
	if r.PendingPlanID == nil {
		return tariffQuote{}, 0, ErrTariffNotAllowed.Wrapf("billing: service %d has that plan", r.ID)
	}
	if pendingPaid(r) {
		// The time after the change was paid at the other plan's price.
		return tariffQuote{}, 0, ErrTariffNotAllowed.Wrapf("billing: service %d was renewed for its next plan", r.ID)
	}
	if err := s.Services.SetPending(ctx, tx, r.ID, nil, nil, nil); err != nil {
		return tariffQuote{}, 0, err
	}
	offer := sale.Offer{
		PlanID: r.PlanID, PlanSlug: r.PlanSlug, PlanName: r.PlanName, PeriodMonths: r.PeriodMonths, Price: r.RenewPrice - r.AddonPrice,
		Limits: json.RawMessage(r.Limits), Available: true,
	}
	return tariffQuote{offer: offer}, 0, s.Services.Emit(ctx, tx, "service.updated", r.ID, map[string]any{"pending_plan_id": r.PendingPlanID})
}

// move gives a locked service another plan, and has the panel follow.
func (s *Service) move(ctx context.Context, tx *db.Tx, r services.Row, offer sale.Offer) error {
	taken, err := s.Plans.Take(ctx, tx, r.AccountID, offer.PlanID, r.ID)
	if err != nil {
		return err
	}
	if !taken {
		return ErrTariffNotAllowed.Wrapf("billing: plan %d is sold out", offer.PlanID)
	}
	if err := s.Plans.Return(ctx, tx, r.PlanID, r.ID); err != nil {
		return err
	}
	if err := s.Services.SetPlan(ctx, tx, r.ID, offer); err != nil {
		return err
	}
	if err := s.Services.Emit(ctx, tx, "service.tariff_changed", r.ID, map[string]any{"plan_id": r.PlanID}); err != nil {
		return err
	}
	return s.Provisioner.EnqueueLimits(ctx, tx, r.ID)
}

// applyPending moves a service whose next period was paid for another plan, and has
// begun, to that plan. A plan that is no longer to be had fails the change; the
// service keeps its own, and what the other one cost more comes back.
func (s *Service) applyPending(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Services.Change(ctx, tx, id, func(r services.Row) error { return s.applyDue(ctx, tx, r) })
}

func (s *Service) applyDue(ctx context.Context, tx *db.Tx, r services.Row) error {
	if r.PendingPlanID == nil || r.PendingPlanAt.After(tx.Now) || !r.ExpiresAt.After(tx.Now) {
		return nil
	}
	offer, err := s.offer(ctx, tx, r.AccountID, *r.PendingPlanID, r.PeriodMonths)
	if err != nil && !errors.Is(err, fault.Validation) {
		return err
	}
	if err := s.Services.SetPending(ctx, tx, r.ID, nil, nil, nil); err != nil {
		return err
	}
	if r.PendingPrice != nil { // the price that its owner agreed to
		offer.Price = *r.PendingPrice
	}
	if err == nil {
		err = tx.Savepoint(ctx, func(ctx context.Context) error { return s.move(ctx, tx, r, offer) })
	}
	if errors.Is(err, ErrTariffNotAllowed) || errors.Is(err, fault.Validation) {
		if err := s.payBack(ctx, tx, r); err != nil {
			return err
		}
		return s.Services.Emit(ctx, tx, "service.tariff_change_failed", r.ID, map[string]any{"pending_plan_id": r.PendingPlanID})
	}
	return err
}

// payBack gives back what the time of a locked service was paid more than its own plan costs, for one that it does not
// get. What was paid less is its owner's luck. The wallet's row comes after the service's here: who would then wait for
// each other in a circle is run again.
func (s *Service) payBack(ctx context.Context, tx *db.Tx, r services.Row) error {
	paid, err := periodsAfter(ctx, tx, r.ID, tx.Now)
	if err != nil {
		return err
	}
	value, err := worth(paid, tx.Now)
	if err != nil {
		return err
	}
	own, err := cost(r.RenewPrice-r.AddonPrice, r.PeriodMonths, tx.Now, *r.ExpiresAt, beganOf(paid))
	if err != nil || value <= own {
		return err
	}
	orderID, err := s.sell(ctx, tx, sale.Sale{
		AccountID: r.AccountID, ServiceID: r.ID, Kind: "tariff_change", Title: r.PlanName, Domain: r.Domain, PlanID: r.PlanID,
		PeriodMonths: r.PeriodMonths, Price: own, Discount: own, Credit: value - own, ClientRef: r.ClientRef,
	})
	if err != nil {
		return err
	}
	return replaceRest(ctx, tx, r.ID, paid, tx.Now, *r.ExpiresAt, orderID, value, own)
}

const tariffBatch = 100

// ApplyTariffs moves the services to their next plans whose time has come. One that
// fails does not hold up the others. A periodic job calls it.
func (s *Service) ApplyTariffs(ctx context.Context) error {
	var failed error
	for more, after := true, int64(0); more; {
		ids, err := tariffsDue(ctx, s.DB, s.Clock.Now(), after, tariffBatch)
		if err != nil {
			return errors.Join(failed, fmt.Errorf("billing: tariffs: %w", err))
		}
		for _, id := range ids {
			after = id
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.applyPending(ctx, tx, id) })
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("billing: tariff of service %d: %w", id, err))
			}
		}
		more = len(ids) == tariffBatch
	}
	return failed
}

// ApplyTariffsOf is ApplyTariffs for a sandbox, whose time is now.
func (s *Service) ApplyTariffsOf(ctx context.Context, accountID int64, now time.Time) error {
	ids, err := db.Collect(ctx, s.DB, func(row db.Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT id FROM services WHERE account_id = $1 AND sandbox AND pending_plan_at IS NOT NULL AND pending_plan_at <= $2
		AND expires_at > $2 AND status IN ('active', 'past_due', 'suspended') ORDER BY id`, accountID, now)
	for _, id := range ids {
		if err == nil {
			err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.applyPending(ctx, tx, id) })
		}
	}
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
