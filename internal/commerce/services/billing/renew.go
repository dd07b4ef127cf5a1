package billing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// sell sells one thing. A refusal is an error: the caller gives the transaction up.
func (s *Service) sell(ctx context.Context, tx *db.Tx, one sale.Sale) (int64, error) {
	sold, err := s.Orders.Sell(ctx, tx, []sale.Sale{one})
	if err != nil {
		return 0, err
	}
	return sold[0].OrderID, sold[0].Refusal
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
func (s *Service) changes(ctx context.Context, q db.Querier, r services.Row) ([]sale.Offer, error) {
	offers, err := s.Plans.Changes(ctx, q, r.PlanID, r.PeriodMonths)
	if err != nil {
		return nil, err
	}
	return s.priced(ctx, q, r.AccountID, offers)
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

// quoteRenewal prices the renewal of one service; see quoteRenewals.
func (s *Service) quoteRenewal(ctx context.Context, q db.Querier, r services.Row, months int, now time.Time) (renewal, error) {
	quotes, refused, err := s.quoteRenewals(ctx, q, []services.Row{r}, months, now)
	if err != nil {
		return renewal{}, err
	}
	return quotes[0], refused[0]
}

// quoteRenewals prices the renewals of services for a number of months; 0 is each one's own period, at the price that it
// was sold for. It returns for each service its quote, or why it cannot be renewed. A renewal begins where the paid time
// ends, unless all of what is bought would lie in the past.
func (s *Service) quoteRenewals(ctx context.Context, q db.Querier, all []services.Row, months int, now time.Time) (quotes []renewal, refused []error, err error) {
	quotes, refused = make([]renewal, len(all)), make([]error, len(all))
	var (
		asked    []sale.Renewal
		accounts []int64
	)
	for i, r := range all {
		quotes[i], err = s.renewedPlan(ctx, q, r, months)
		if err != nil && !fault.IsRefusal(err) {
			return nil, nil, err
		}
		if refused[i] = err; err == nil {
			n := quotes[i].months
			asked = append(asked, sale.Renewal{AccountID: r.AccountID, ServiceID: r.ID, Months: n, Own: n == r.PeriodMonths})
			accounts = append(accounts, r.AccountID)
		}
	}
	if len(asked) == 0 {
		return quotes, refused, nil
	}
	extras, err := s.Addons.Renewals(ctx, q, asked)
	if err != nil {
		return nil, nil, err
	}
	taxes, err := s.Taxes.Taxes(ctx, q, accounts)
	if err != nil {
		return nil, nil, err
	}
	for i, r := range all {
		if refused[i] != nil {
			continue
		}
		quotes[i], err = quotes[i].priced(extras[r.ID], taxes[r.AccountID])
		if err != nil {
			return nil, nil, fmt.Errorf("billing: renewal of service %d: %w", r.ID, err)
		}
		quotes[i], refused[i] = quotes[i].dated(r, now)
	}
	return quotes, refused, nil
}

// renewedPlan begins the quote of a renewal: with the plan, the months and the plan's price.
func (s *Service) renewedPlan(ctx context.Context, q db.Querier, r services.Row, months int) (renewal, error) {
	if err := r.Renewable(); err != nil {
		return renewal{}, err
	}
	own := months == 0 || months == r.PeriodMonths
	if own {
		months = r.PeriodMonths
	}
	w := renewal{planID: r.PlanID, planName: r.PlanName, months: months, planPrice: r.RenewPrice - r.AddonPrice}
	if r.PendingPlanID != nil {
		w.planID = *r.PendingPlanID
	}
	if w.planID == r.PlanID && months == r.PeriodMonths {
		return w, nil
	}
	offer, err := s.offer(ctx, q, r.AccountID, w.planID, months)
	if own && (errors.Is(err, fault.Validation) || err == nil && !offer.Available) {
		if pendingPaid(r) { // for the time before this one
			return w, services.ErrRenewalNotAllowed.Wrapf("billing: plan %d, which comes, is not sold", w.planID)
		}
		// The plan that was to come is no longer sold, or not so: the service stays what it is and is paid as that.
		r.PendingPlanID = nil
		return s.renewedPlan(ctx, q, r, 0)
	}
	if err != nil {
		return w, err
	}
	if !offer.Available {
		return w, services.ErrRenewalNotAllowed.Wrapf("billing: plan %d is not sold for other periods", w.planID)
	}
	switch over, err := s.waitingExceeds(ctx, q, r, w.planID, offer); {
	case err != nil:
		return w, err
	case over && own: // as with a plan that is no longer sold
		r.PendingPlanID = nil
		return s.renewedPlan(ctx, q, r, 0)
	case over:
		return w, services.ErrRenewalNotAllowed.Wrapf("billing: service %d uses more than plan %d allows", r.ID, w.planID)
	}
	w.planName, w.planPrice = offer.PlanName, offer.Price
	if months == r.PeriodMonths && r.PendingPrice != nil { // the price that its owner agreed to
		w.planPrice = *r.PendingPrice
	}
	return w, nil
}

// waitingExceeds reports whether a service whose next period is to be paid for the plan that waits uses more than that plan
// allows. Once a period is paid for it, the plan comes.
func (s *Service) waitingExceeds(ctx context.Context, q db.Querier, r services.Row, planID int64, offer sale.Offer) (bool, error) {
	if planID == r.PlanID || pendingPaid(r) {
		return false, nil
	}
	used, err := s.Usages.Known(ctx, q, r.ID)
	if err != nil {
		return false, err
	}
	over, err := beyond(r, offer, used)
	return len(over) > 0, err
}

// priced completes a quote with what is renewed beside the plan, and the tax.
func (w renewal) priced(extras []sale.Extra, by money.Tax) (renewal, error) {
	w.extras, w.price = extras, w.planPrice
	for _, e := range extras {
		line, err := e.UnitPrice.Mul(int64(e.Quantity))
		if err == nil {
			w.price, err = w.price.Add(line)
		}
		if err != nil {
			return w, err
		}
	}
	var err error
	w.total, err = gross(w.price, by)
	return w, err
}

// dated completes a quote with the time that it pays for, or refuses what is paid too far ahead.
func (w renewal) dated(r services.Row, now time.Time) (renewal, error) {
	w.from = *r.ExpiresAt
	if w.until = nextEnd(w.from, w.months, r.ProvisionedAt); !w.until.After(now) {
		w.from, w.until = now, sale.AddMonths(now, w.months)
	}
	if w.until.After(now.AddDate(renewableFor, 0, 0)) && w.from.After(now.AddDate(1, 0, 0)) {
		return w, services.ErrRenewalNotAllowed.Wrapf("billing: service %d is paid far enough ahead", r.ID)
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

// renew pays the next period of one of the account's services and answers what was bought by which order.
func (s *Service) renew(ctx context.Context, tx *db.Tx, accountID, id int64, w renewalWish) (renewal, int64, error) {
	r, err := s.Services.Find(ctx, tx, accountID, id)
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

// sellRenewal pays the next period of a service as tx has read it, and returns what was bought by which order.
func (s *Service) sellRenewal(ctx context.Context, tx *db.Tx, before services.Row, w renewalWish) (renewal, int64, error) {
	leave, err := s.Services.EnterTime(ctx, tx, before)
	if err != nil {
		return renewal{}, 0, err
	}
	defer leave()
	sold, err := s.sellRenewals(ctx, tx, []services.Row{before}, w)
	if err != nil {
		return renewal{}, 0, err
	}
	return sold[0].renewal, sold[0].orderID, sold[0].refusal
}

// RenewAll pays the next periods of services from their wallets, as tx has read them and in their order, and returns for
// each why it was refused; nil where it is paid. tx is in the time of all of them.
func (s *Service) RenewAll(ctx context.Context, tx *db.Tx, all []services.Row) (refused []error, err error) {
	sold, err := s.sellRenewals(ctx, tx, all, renewalWish{})
	if err != nil {
		return nil, err
	}
	refused = make([]error, len(sold))
	for i, one := range sold {
		refused[i] = one.refusal
	}
	return refused, nil
}

// soldRenewal is a renewal that was paid, or why it was refused.
type soldRenewal struct {
	renewal
	orderID int64
	refusal error
}

// sellRenewals pays the next periods of services as tx has read them, in their order, and returns for each what was bought
// by which order, or why it was refused. Nothing is written of a service that is refused. tx is in the time of all of them.
func (s *Service) sellRenewals(ctx context.Context, tx *db.Tx, all []services.Row, w renewalWish) ([]soldRenewal, error) {
	quotes, refused, err := s.quoteRenewals(ctx, tx, all, w.months, tx.Now)
	if err != nil {
		return nil, err
	}
	out := make([]soldRenewal, len(all))
	var (
		sales []sale.Sale
		of    []int
	)
	for i, r := range all {
		out[i].renewal, out[i].refusal = quotes[i], refused[i]
		if refused[i] == nil {
			out[i].refusal = expected(ctx, w.seen, quotes[i].total)
		}
		if out[i].refusal != nil {
			continue
		}
		sales, of = append(sales, sale.Sale{
			AccountID: r.AccountID, ServiceID: r.ID, Kind: "renewal", Title: quotes[i].planName, Domain: r.Domain, PlanID: quotes[i].planID,
			PeriodMonths: quotes[i].months, Price: quotes[i].planPrice, Extras: quotes[i].extras, Keyed: w.keyed, ClientRef: r.ClientRef,
		}), append(of, i)
	}
	if len(sales) == 0 {
		return out, nil
	}
	sold, err := s.Orders.Sell(ctx, tx, sales)
	if err != nil {
		return nil, err
	}
	var (
		before []services.Row
		paid   []soldRenewal
	)
	for n, i := range of {
		out[i].orderID, out[i].refusal = sold[n].OrderID, sold[n].Refusal
		if sold[n].Refusal == nil {
			before, paid = append(before, all[i]), append(paid, out[i])
		}
	}
	if len(paid) == 0 {
		return out, nil
	}
	return out, s.renewPaid(ctx, tx, before, paid)
}

// renewPaid gives services the time that was paid for them.
func (s *Service) renewPaid(ctx context.Context, tx *db.Tx, before []services.Row, paid []soldRenewal) error {
	// The wallets' rows were locked by the sale: of two renewals at once the second one reads here what the first one made.
	locked, err := s.Services.LockUnchanged(ctx, tx, before)
	if err != nil {
		return err
	}
	until := make([]time.Time, len(paid))
	for i, p := range paid {
		until[i] = p.until
	}
	now, err := s.Services.Prolong(ctx, tx, locked, until)
	if err != nil {
		return err
	}
	if err := insertPeriods(ctx, tx, locked, paid); err != nil {
		return err
	}
	for i, r := range locked {
		if len(paid[i].extras) > 0 {
			if err := s.Addons.Renewed(ctx, tx, r.ID, paid[i].until); err != nil {
				return err
			}
		}
		if err := s.Services.EmitRenewed(ctx, tx, r, now[i]); err != nil {
			return err
		}
		switch {
		case r.PendingPlanID == nil:
		case *r.PendingPlanID != paid[i].planID: // this time is not paid for it, so it must not come when it is sold again
			err = s.dropPending(ctx, tx, r)
		case !r.PendingPlanAt.After(tx.Now):
			err = s.applyPending(ctx, tx, r.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
