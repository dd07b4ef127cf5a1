package addons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
)

// Catalog sells add-ons.
type Catalog interface {
	// Addons are those for sale, in the operator's order.
	Addons(ctx context.Context, q db.Querier) ([]Product, error)
	// Addon finds one by its key, on sale or not; false when there never was one.
	Addon(ctx context.Context, q db.Querier, key string) (Product, bool, error)
	// PlanAddons are the keys of those that services of a plan may have.
	PlanAddons(ctx context.Context, q db.Querier, planID int64) ([]string, error)
}

// Services tells the time in which a service lives.
type Services interface {
	// Enter gives tx the time of the account until leave is called; it differs for a sandbox whose clock was moved. Now
	// returns that time.
	Enter(ctx context.Context, tx *db.Tx, accountID int64) (leave func(), err error)
	Now(ctx context.Context, q db.Querier, accountID int64) (time.Time, error)
}

// Billing knows the terms under which services were sold, and raises their prices and limits. A service of another account is
// fault.NotFound.
type Billing interface {
	Contract(ctx context.Context, q db.Querier, accountID, serviceID int64) (sale.Contract, error)
	// LockContract is Contract with the service locked until tx ends.
	LockContract(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (sale.Contract, error)
	// Cost converts a price for each period of some months into the price of the time until end.
	Cost(price money.USDCents, months int, from, end time.Time) (money.USDCents, error)
	// Extend stores how much the add-ons of a service add to each renewal and to the limits of its plan.
	Extend(ctx context.Context, tx *db.Tx, serviceID int64, price money.USDCents, raises map[string]int64) (bool, error)
	// CheckExtend returns fault.DowngradeExceeds when the service uses more than its limits would allow with these add-ons.
	CheckExtend(ctx context.Context, q db.Querier, accountID, serviceID int64, raises map[string]int64) error
}

// Orders moves the money. Begin holds it or refuses with insufficient_funds; Complete captures it and Fail releases it. Both
// do nothing the second time.
type Orders interface {
	Begin(ctx context.Context, tx *db.Tx, p sale.Purchase) (int64, error)
	Complete(ctx context.Context, tx *db.Tx, orderID int64) error
	Fail(ctx context.Context, tx *db.Tx, orderID int64, failureKey string) error
}

// Config is what the section works with; all is needed.
type Config struct {
	DB     *db.DB
	Clock  clock.Clock
	Events outbox.Events
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Catalog  Catalog
	Services Services
	Billing  Billing
	Orders   Orders
	Rates    sale.Rates
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others. It is called before any other method.
func (s *Service) Connect(n Needs) { s.Needs = n }

// discount returns the discount of an account in hundredths of a percent.
func (s *Service) discount(ctx context.Context, q db.Querier, accountID int64) (int, error) {
	discount, wholesale, err := s.Rates.Wholesale(ctx, q, accountID)
	if !wholesale {
		discount = 0
	}
	return discount, err
}

// quote is an add-on at the price that a service would pay now.
type quote struct {
	product   Product
	unitPrice money.USDCents // of one for the service's period, at each renewal
	now       money.USDCents // of one until the end of the service's paid time
	left      int            // how many more the service may have
}

// quote prices a product for a service. all is what the service has.
func (s *Service) quote(c sale.Contract, p Product, discount int, all []addon, now time.Time) (quote, error) {
	unit, err := p.price(c.PeriodMonths)
	if err != nil {
		return quote{}, err
	}
	qt := quote{product: p, unitPrice: unit.Less(discount), left: max(0, p.MaxQuantity-had(all, p.Key))}
	qt.now, err = s.Billing.Cost(qt.unitPrice, c.PeriodMonths, begun(now, *c.ExpiresAt), *c.ExpiresAt)
	return qt, err
}

// buyable returns why no add-on can be bought for a service, or nil. A service that is past due must be renewed first: it has
// no paid time left.
func buyable(c sale.Contract) error {
	switch c.Status {
	case "active":
		return nil
	case "suspended":
		return fault.ServiceSuspended.New()
	default:
		return fault.ServiceNotActive.New()
	}
}

// offers lists the add-ons that one of the account's services may buy now, with their prices.
func (s *Service) offers(ctx context.Context, accountID, serviceID int64) (sale.Contract, []quote, error) {
	c, err := s.Billing.Contract(ctx, s.DB, accountID, serviceID)
	if err != nil || buyable(c) != nil {
		return c, nil, err
	}
	now, err := s.Services.Now(ctx, s.DB, accountID)
	if err != nil || !now.Before(*c.ExpiresAt) {
		return c, nil, err
	}
	keys, err := s.Catalog.PlanAddons(ctx, s.DB, c.PlanID)
	if err != nil {
		return c, nil, err
	}
	products, err := s.Catalog.Addons(ctx, s.DB)
	if err != nil {
		return c, nil, err
	}
	discount, err := s.discount(ctx, s.DB, accountID)
	if err != nil {
		return c, nil, err
	}
	all, err := ofService(ctx, s.DB, serviceID)
	if err != nil {
		return c, nil, err
	}
	var quotes []quote
	for _, p := range products {
		if !slices.Contains(keys, p.Key) {
			continue
		}
		qt, err := s.quote(c, p, discount, all, now)
		if err != nil {
			return c, nil, err
		}
		quotes = append(quotes, qt)
	}
	return c, quotes, nil
}

// wish is a customer's request for an add-on.
type wish struct {
	key      string
	quantity int
	seen     *money.USDCents // the price that the client showed; nil does not care
	keyed    bool            // the request bore an Idempotency-Key
}

// find prices a requested add-on, or returns why the service cannot have it.
func (s *Service) find(ctx context.Context, q db.Querier, accountID, serviceID int64, c sale.Contract, w wish, now time.Time) (quote, error) {
	if err := buyable(c); err != nil {
		return quote{}, err
	}
	if !now.Before(*c.ExpiresAt) {
		return quote{}, fault.ServiceNotActive.New() // its expiry is noted in a moment
	}
	p, ok, err := s.Catalog.Addon(ctx, q, w.key)
	if err != nil {
		return quote{}, err
	}
	if !ok || !p.OnSale {
		return quote{}, ErrUnavailable.New()
	}
	keys, err := s.Catalog.PlanAddons(ctx, q, c.PlanID)
	if err != nil {
		return quote{}, err
	}
	if !slices.Contains(keys, w.key) {
		return quote{}, fault.FeatureNotInPlan.New()
	}
	discount, err := s.discount(ctx, q, accountID)
	if err != nil {
		return quote{}, err
	}
	all, err := ofService(ctx, q, serviceID)
	if err != nil {
		return quote{}, err
	}
	qt, err := s.quote(c, p, discount, all, now)
	if err == nil && w.quantity > qt.left {
		err = fault.LimitReached.With(fault.Fields{"limit": p.Key, "maximum": p.MaxQuantity})
	}
	return qt, err
}

// errMoved means that a service or an add-on changed between being read and being locked.
var errMoved = errors.New("addons: the service changed meanwhile")

// buy attaches an add-on to one of the account's services and pays it from the wallet.
func (s *Service) buy(ctx context.Context, tx *db.Tx, accountID, serviceID int64, w wish) (addon, sale.Contract, error) {
	leave, err := s.Services.Enter(ctx, tx, accountID)
	if err != nil {
		return addon{}, sale.Contract{}, err
	}
	defer leave()
	before, err := s.Billing.Contract(ctx, tx, accountID, serviceID)
	if err != nil {
		return addon{}, before, err
	}
	qt, err := s.find(ctx, tx, accountID, serviceID, before, w, tx.Now)
	if err != nil {
		return addon{}, before, err
	}
	total, err := qt.now.Mul(int64(w.quantity))
	if err != nil {
		return addon{}, before, err
	}
	if w.seen != nil && *w.seen != total {
		return addon{}, before, fault.PriceChanged.With(fault.Fields{"price": money.Wire(ctx, total)})
	}
	name := qt.product.Name.In(i18n.Lang(ctx))
	orderID, err := s.Orders.Begin(ctx, tx, sale.Purchase{
		AccountID: accountID, Kind: "addon", ServiceID: serviceID, Title: name, Domain: before.Domain, ClientRef: before.ClientRef,
		PeriodMonths: before.PeriodMonths, Quantity: w.quantity, Price: total, Keyed: w.keyed,
	})
	if err != nil {
		return addon{}, before, err
	}
	// The order has locked the wallet, so of two purchases at the same time the second one sees here what the first has made.
	c, err := s.Billing.LockContract(ctx, tx, accountID, serviceID)
	if err != nil {
		return addon{}, c, err
	}
	again, err := s.find(ctx, tx, accountID, serviceID, c, w, tx.Now)
	if err != nil {
		return addon{}, c, err
	}
	if again.now != qt.now || again.unitPrice != qt.unitPrice {
		return addon{}, c, fault.Conflict.Wrap(errMoved)
	}
	a := addon{
		accountID: accountID, serviceID: serviceID, orderID: orderID, key: w.key, name: name, quantity: w.quantity,
		unitPrice: qt.unitPrice, periodMonths: c.PeriodMonths, raises: qt.product.Raises, manual: qt.product.Manual, paidUntil: *c.ExpiresAt,
	}
	if a.id, err = insert(ctx, tx, a); err != nil {
		return a, c, fmt.Errorf("addons: buy: %w", err)
	}
	if _, err := s.emitNow(ctx, tx, "addon.created", a.id, nil); err != nil {
		return a, c, err
	}
	if !a.manual {
		if err := s.Orders.Complete(ctx, tx, orderID); err != nil {
			return a, c, err
		}
		if err := s.activate(ctx, tx, a.id, c, ""); err != nil {
			return a, c, err
		}
	}
	a, err = get(ctx, tx, a.id)
	return a, c, err
}

// activate makes a paid add-on of a locked service active.
func (s *Service) activate(ctx context.Context, tx *db.Tx, id int64, c sale.Contract, value string) error {
	before, err := get(ctx, tx, id)
	if err != nil {
		return err
	}
	moved, err := setActive(ctx, tx, id, value, *c.ExpiresAt)
	if err == nil && !moved {
		err = ErrNotPending.New()
	}
	if err != nil {
		return err
	}
	a, err := s.emitNow(ctx, tx, "addon.activated", id, &before)
	if err != nil {
		return err
	}
	return s.extend(ctx, tx, a.serviceID)
}

// extend writes the sums of a locked service's add-ons to the service.
func (s *Service) extend(ctx context.Context, tx *db.Tx, serviceID int64) error {
	all, err := ofService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	price, raises, err := sums(all)
	if err != nil {
		return err
	}
	_, err = s.Billing.Extend(ctx, tx, serviceID, price, raises)
	return err
}

// cancel ends one of the account's add-ons when its paid time is over. Cancelling it again changes nothing.
func (s *Service) cancel(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) (addon, sale.Contract, error) {
	leave, err := s.Services.Enter(ctx, tx, accountID)
	if err != nil {
		return addon{}, sale.Contract{}, err
	}
	defer leave()
	c, err := s.Billing.LockContract(ctx, tx, accountID, serviceID)
	if err != nil {
		return addon{}, c, err
	}
	a, err := getOwn(ctx, tx, accountID, serviceID, id)
	if err != nil || a.status == Cancelling {
		return a, c, err
	}
	if a.status != Active {
		return a, c, ErrNotCancellable.New()
	}
	if len(a.raises) > 0 {
		if err := s.checkWithout(ctx, tx, a); err != nil {
			return a, c, err
		}
	}
	moved, err := setCancelling(ctx, tx, id)
	if err == nil && !moved {
		err = fault.Conflict.Wrap(errMoved)
	}
	if err == nil && !a.paidUntil.After(tx.Now) {
		// No paid time is left.
		_, err = setCancelled(ctx, tx, id)
	}
	if err == nil {
		err = s.extend(ctx, tx, serviceID)
	}
	if err != nil {
		return a, c, err
	}
	a, err = s.emitNow(ctx, tx, "addon.cancelled", id, &a)
	return a, c, err
}

// checkWithout refuses to cancel an add-on when the service uses more than its limits without it.
func (s *Service) checkWithout(ctx context.Context, q db.Querier, a addon) error {
	all, err := ofService(ctx, q, a.serviceID)
	if err != nil {
		return err
	}
	_, raises, err := sums(slices.DeleteFunc(all, func(x addon) bool { return x.id == a.id || x.status == Cancelling }))
	if err != nil {
		return err
	}
	return s.Billing.CheckExtend(ctx, q, a.accountID, a.serviceID, raises)
}

// hasAccount reports whether the service has a hosting account; hasEnded reports whether it had one and has none any more.
func hasAccount(c sale.Contract) bool {
	return slices.Contains([]string{"active", "past_due", "suspended"}, c.Status)
}

func hasEnded(c sale.Contract) bool {
	return slices.Contains([]string{"terminated", "failed", "cancelled"}, c.Status)
}

// emitNow reads an add-on as it now is, emits its event and returns it. before is the add-on as it was; nil when it is
// new.
func (s *Service) emitNow(ctx context.Context, tx *db.Tx, eventType string, id int64, before *addon) (addon, error) {
	a, err := get(ctx, tx, id)
	if err != nil {
		return a, err
	}
	data, err := eventOf(ctx, a)
	if err != nil {
		return a, err
	}
	if err := sale.CheckTime(tx, a.accountID); err != nil {
		return a, err
	}
	// The event is numbered among those of its service, so that receivers of both get them in order.
	e := outbox.Event{Type: eventType, AccountID: a.accountID, Subject: "service", SubjectID: a.serviceID, Data: data}
	if before != nil {
		was, err := eventOf(ctx, *before)
		if err != nil {
			return a, err
		}
		if e.Previous, err = outbox.Changed(was, data); err != nil {
			return a, err
		}
	}
	return a, s.Events.Emit(ctx, tx, e)
}
