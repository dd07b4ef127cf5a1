package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// Billing takes the money for what services become.
type Billing interface {
	// Sell makes an order, pays it from the wallet and completes it, or refuses with
	// insufficient_funds. It answers the order's id.
	Sell(ctx context.Context, tx *db.Tx, sold sale.Sale) (int64, error)
	// Begin makes an order of something that a job will do, and sets its money aside, or refuses with
	// insufficient_funds. The order ends with OrderBook's Complete or Fail.
	Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error)
}

// Plans are what services are sold by.
type Plans interface {
	// Offer prices a plan; a period that it is not sold for is validation_failed.
	Offer(ctx context.Context, q db.Querier, planID int64, months int) (sale.Offer, error)
	// Changes are the plans that a service of this plan may move to, for the same period.
	Changes(ctx context.Context, q db.Querier, planID int64, months int) ([]sale.Offer, error)
	// Terms are those of the plan's product.
	Terms(ctx context.Context, q db.Querier, planID int64) (sale.Terms, error)
	// Take counts one sale against the plan's stock; false when there is none left. Return undoes it.
	Take(ctx context.Context, tx *db.Tx, planID int64) (bool, error)
	Return(ctx context.Context, tx *db.Tx, planID int64) error
}

// offer is a plan at the price that the account pays.
func (s *Service) offer(ctx context.Context, q db.Querier, accountID, planID int64, months int) (sale.Offer, error) {
	offer, err := s.Plans.Offer(ctx, q, planID, months)
	if err != nil {
		return offer, err
	}
	priced, err := s.priced(ctx, q, accountID, []sale.Offer{offer})
	if err != nil {
		return offer, err
	}
	return priced[0], nil
}

// changes are the plans that a service may move to, at the prices that its account pays.
func (s *Service) changes(ctx context.Context, q db.Querier, r record) ([]sale.Offer, error) {
	offers, err := s.Plans.Changes(ctx, q, r.planID, r.periodMonths)
	if err != nil {
		return nil, err
	}
	return s.priced(ctx, q, r.accountID, offers)
}

func (s *Service) priced(ctx context.Context, q db.Querier, accountID int64, offers []sale.Offer) ([]sale.Offer, error) {
	discount, wholesale, err := s.Rates.Wholesale(ctx, q, accountID)
	if err != nil || !wholesale {
		return offers, err
	}
	priced := slices.Clone(offers)
	for i := range priced {
		priced[i].Price = priced[i].Price.Less(discount)
	}
	return priced, nil
}

// renewableFor is how far ahead a service can be paid. What runs out within a year, the earliest that a product's services
// renew by themselves, is renewed however long its period is.
const renewableFor = 10 // years

// renewal is what renewing a service costs and gives.
type renewal struct {
	planID      int64 // the pending one, where there is one
	planName    string
	months      int
	price       money.USDCents // of all
	total       money.USDCents // with the tax that is added
	planPrice   money.USDCents
	extras      []sale.Extra // what is renewed with it
	from, until time.Time
}

// renewable says why a service cannot be renewed, or nil. One that an operator
// suspended is not for money to bring back.
func (r record) renewable() error {
	if r.status == Suspended && (r.suspendReason == nil || *r.suspendReason != Unpaid) {
		return fault.ServiceSuspended.New()
	}
	if _, ok := r.status.after(renewed); !ok {
		return ErrRenewalNotAllowed.New()
	}
	return nil
}

// actions are what the customer can do with the service. Renewing is none of them where it would be refused.
func (r record) actions() []string {
	return slices.DeleteFunc(r.status.actions(), func(action string) bool { return action == "renew" && r.renewable() != nil })
}

// quoteRenewal prices the renewal of a service for a number of months; 0 is its own
// period, at the price that it was sold for. A renewal begins where the paid time
// ends, unless all of what is bought would lie in the past.
func (s *Service) quoteRenewal(ctx context.Context, q db.Querier, r record, months int, now time.Time) (renewal, error) {
	if err := r.renewable(); err != nil {
		return renewal{}, err
	}
	own := months == 0
	if own {
		months = r.periodMonths
	}
	w := renewal{planID: r.planID, planName: r.planName, months: months, planPrice: r.renewPrice - r.addonPrice, from: *r.expiresAt}
	if r.pendingPlanID != nil {
		w.planID = *r.pendingPlanID
	}
	if w.planID != r.planID || months != r.periodMonths {
		offer, err := s.offer(ctx, q, r.accountID, w.planID, months)
		if own && (errors.Is(err, fault.Validation) || err == nil && !offer.Available) {
			if r.pendingPaid() { // for the time before this one
				return w, ErrRenewalNotAllowed.Wrapf("services: plan %d, which comes, is not sold", w.planID)
			}
			// The plan that was to come is no longer sold, or not so: the service stays what it is and is paid as that.
			r.pendingPlanID = nil
			return s.quoteRenewal(ctx, q, r, 0, now)
		}
		if err != nil {
			return w, err
		}
		if !offer.Available {
			return w, ErrRenewalNotAllowed.Wrapf("services: plan %d is not sold for other periods", w.planID)
		}
		w.planName, w.planPrice = offer.PlanName, offer.Price
	}
	extras, sum, err := s.extras(ctx, q, r, months)
	if err != nil {
		return w, err
	}
	w.extras = extras
	if w.price, err = w.planPrice.Add(sum); err != nil {
		return w, fmt.Errorf("services: renewal of service %d: %w", r.id, err)
	}
	if w.total, err = s.gross(ctx, q, r.accountID, w.price); err != nil {
		return w, err
	}
	if w.until = addMonths(w.from, months); !w.until.After(now) {
		w.from, w.until = now, addMonths(now, months)
	}
	if w.until.After(now.AddDate(renewableFor, 0, 0)) && w.from.After(now.AddDate(1, 0, 0)) {
		return w, ErrRenewalNotAllowed.Wrapf("services: service %d is paid far enough ahead", r.id)
	}
	return w, nil
}

// expected refuses a price that is not the one the client has seen.
func expected(ctx context.Context, seen *money.USDCents, now money.USDCents) error {
	if seen == nil || *seen == now {
		return nil
	}
	return ErrPriceChanged.With(fault.Fields{"price": money.Wire(ctx, now)})
}

// Renew pays the next period of one of an account's services at the price of now, as automatic renewals do, and
// answers the id of the order.
func (s *Service) Renew(ctx context.Context, tx *db.Tx, accountID, id int64) (int64, error) {
	_, orderID, err := s.renew(ctx, tx, accountID, id, renewalWish{})
	return orderID, err
}

// renew pays the next period of one of the account's services and answers what was bought by which order.
func (s *Service) renew(ctx context.Context, tx *db.Tx, accountID, id int64, w renewalWish) (renewal, int64, error) {
	r, err := getOwn(ctx, tx, accountID, id)
	if err != nil {
		return renewal{}, 0, err
	}
	return s.sellRenewal(ctx, tx, r, w)
}

// renewalWish is what a customer asks for.
type renewalWish struct {
	months int             // 0: the service's own period
	seen   *money.USDCents // the price that the client showed; nil does not care
	keyed  bool
}

// sellRenewal pays the next period of a service as tx has read it, and answers what was bought by which order.
func (s *Service) sellRenewal(ctx context.Context, tx *db.Tx, before record, w renewalWish) (renewal, int64, error) {
	id := before.id
	leave, err := s.enter(ctx, tx, before)
	if err != nil {
		return renewal{}, 0, err
	}
	defer leave()
	quote, err := s.quoteRenewal(ctx, tx, before, w.months, tx.Now)
	if err == nil {
		err = expected(ctx, w.seen, quote.total)
	}
	if err != nil {
		return quote, 0, err
	}
	orderID, err := s.Billing.Sell(ctx, tx, sale.Sale{
		AccountID: before.accountID, ServiceID: id, Kind: "renewal", Title: quote.planName, Domain: before.domain, PlanID: quote.planID,
		PeriodMonths: quote.months, Price: quote.planPrice, Extras: quote.extras, Keyed: w.keyed, ClientRef: before.clientRef,
	})
	if err != nil {
		return quote, 0, err
	}
	// The wallet's row was locked by the sale: of two renewals at once the second one
	// reads here what the first one made.
	r, err := s.unmoved(ctx, tx, before)
	if err != nil {
		return quote, 0, err
	}
	now, err := s.prolong(ctx, tx, r, quote.until)
	if err != nil {
		return quote, 0, err
	}
	if err := insertPeriod(ctx, tx, id, quote.from, quote.until, quote.planPrice); err != nil {
		return quote, 0, err
	}
	if len(quote.extras) > 0 {
		if err := s.Addons.Renewed(ctx, tx, id, quote.until); err != nil {
			return quote, 0, err
		}
	}
	if err := s.tellRenewed(ctx, tx, r, now); err != nil {
		return quote, 0, err
	}
	switch {
	case r.pendingPlanID == nil:
	case *r.pendingPlanID != quote.planID: // this time is not paid for it, so it must not come when it is sold again
		err = s.dropPending(ctx, tx, r)
	case !r.pendingPlanAt.After(tx.Now):
		err = s.applyPending(ctx, tx, id)
	}
	return quote, orderID, err
}

// unmoved locks a service that was read without a lock, and refuses when what its
// price depends on has changed since.
func (s *Service) unmoved(ctx context.Context, tx *db.Tx, before record) (record, error) {
	r, err := lock(ctx, tx, before.id)
	if err != nil {
		return r, err
	}
	same := r.status == before.status && r.planID == before.planID && r.expiresAt.Equal(*before.expiresAt) &&
		r.addonPrice == before.addonPrice && r.addonLimits == before.addonLimits &&
		(r.pendingPlanID == nil) == (before.pendingPlanID == nil) &&
		(r.pendingPlanID == nil || *r.pendingPlanID == *before.pendingPlanID)
	if !same {
		return r, fault.Conflict.Wrap(errMoved)
	}
	return r, nil
}

// prolong makes the paid time of a locked service longer, ends what came of its end, and answers it as it then is.
func (s *Service) prolong(ctx context.Context, tx *db.Tx, r record, until time.Time) (record, error) {
	r.expiresAt, r.status, r.endsAtExpiry = &until, Active, false
	r.suspendReason, r.suspendedAt, r.graceUntil, r.terminatesAt = nil, nil, nil, nil
	r.nextRenewalAttemptAt, r.reminded, r.warned = nil, nil, nil
	if r.renewing() {
		terms, err := s.Plans.Terms(ctx, tx, r.planID)
		if err != nil {
			return r, err
		}
		at := r.attemptAt(terms)
		r.nextRenewalAttemptAt = &at
	}
	return r, setRenewed(ctx, tx, r)
}

// tellRenewed tells of a renewal, and has the panel bring back what was offline.
func (s *Service) tellRenewed(ctx context.Context, tx *db.Tx, before, now record) error {
	previous := map[string]any{"expires_at": before.expiresAt}
	switch before.status {
	case Suspended: // of the change of state this event tells
		if err := s.followSuspension(ctx, tx, before, "service.unsuspended"); err != nil {
			return err
		}
	case now.status:
	default:
		previous["status"] = before.status
	}
	return s.emit(ctx, tx, "service.renewed", now, previous)
}
