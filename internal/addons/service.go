package addons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

// Contract is what a service was sold as.
type Contract struct {
	Status       string
	PlanID       int64
	PeriodMonths int
	ExpiresAt    *time.Time // nil before it was provisioned
	Domain       *string
	ClientRef    *string
}

// Services are what add-ons are attached to. The account stands in the query: a service of another account is
// fault.NotFound.
type Services interface {
	Contract(ctx context.Context, q db.Querier, accountID, serviceID int64) (Contract, error)
	// LockContract is Contract with the service locked until tx ends.
	LockContract(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (Contract, error)
	// Cost is what a price for each period of so many months makes for the time until end.
	Cost(price money.USDCents, months int, from, end time.Time) (money.USDCents, error)
	// Extend says what the add-ons of a service add to each renewal and to the limits of its plan.
	Extend(ctx context.Context, tx *db.Tx, serviceID int64, price money.USDCents, raises map[string]int64) (bool, error)
	// CheckExtend answers fault.DowngradeExceeds when the service uses more than limits raised by no more than
	// that allow.
	CheckExtend(ctx context.Context, q db.Querier, accountID, serviceID int64, raises map[string]int64) error
	// Enter lets tx go on at the time of the account, which differs for a sandbox whose clock was moved, until
	// leave is called; Now is that time.
	Enter(ctx context.Context, tx *db.Tx, accountID int64) (leave func(), err error)
	Now(ctx context.Context, q db.Querier, accountID int64) (time.Time, error)
}

// Purchase is what an order is made of.
type Purchase struct {
	AccountID, ServiceID int64
	Title                string
	Domain, ClientRef    *string // of the service
	PeriodMonths         int
	Quantity             int
	Price                money.USDCents // of all of them
	Keyed                bool           // the request bore an Idempotency-Key
}

// Orders take the money. Begin sets it aside or refuses with insufficient_funds; Complete takes it and Fail gives it
// back, and do nothing the second time.
type Orders interface {
	Begin(ctx context.Context, tx *db.Tx, p Purchase) (int64, error)
	Complete(ctx context.Context, tx *db.Tx, orderID int64) error
	Fail(ctx context.Context, tx *db.Tx, orderID int64, failureKey string) error
}

// Events keeps what happened.
type Events interface {
	Emit(ctx context.Context, tx *db.Tx, e outbox.Event) error
}

// Rates tell what accounts pay.
type Rates interface {
	// Wholesale is what a reseller's account, or its sandbox, pays less than the catalogue's prices, in
	// hundredths of a percent; false for who pays those.
	Wholesale(ctx context.Context, q db.Querier, accountID int64) (basisPoints int, ok bool, err error)
}

// Config is what the section works with; all but Rates is needed.
type Config struct {
	DB       *db.DB
	Clock    clock.Clock
	Catalog  Catalog
	Services Services
	Orders   Orders
	Events   Events
	Rates    Rates // nil: everybody pays the catalogue's prices
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// discount of an account, in hundredths of a percent.
func (s *Service) discount(ctx context.Context, q db.Querier, accountID int64) (int, error) {
	if s.Rates == nil {
		return 0, nil
	}
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
func (s *Service) quote(c Contract, p Product, discount int, all []addon, now time.Time) (quote, error) {
	unit, err := p.price(c.PeriodMonths)
	if err != nil {
		return quote{}, err
	}
	qt := quote{product: p, unitPrice: unit.Less(discount), left: max(0, p.MaxQuantity-had(all, p.Key))}
	qt.now, err = s.Services.Cost(qt.unitPrice, c.PeriodMonths, begun(now, *c.ExpiresAt), *c.ExpiresAt)
	return qt, err
}

// buyable says why nothing can be bought for a service, or nil. A service that is past due is renewed first: it has no
// time left that an add-on could be bought for.
func (c Contract) buyable() error {
	switch c.Status {
	case "active":
		return nil
	case "suspended":
		return fault.ServiceSuspended.New()
	default:
		return fault.ServiceNotActive.New()
	}
}

// offers are the add-ons that one of the account's services may have, at what it would pay now; none for a service that
// can have none now.
func (s *Service) offers(ctx context.Context, accountID, serviceID int64) (Contract, []quote, error) {
	c, err := s.Services.Contract(ctx, s.DB, accountID, serviceID)
	if err != nil || c.buyable() != nil {
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

// wish is what a customer asks for.
type wish struct {
	key      string
	quantity int
	seen     *money.USDCents // the price that the client showed; nil does not care
	keyed    bool            // the request bore an Idempotency-Key
}

// find prices what a service is to have, or says why it cannot have it.
func (s *Service) find(ctx context.Context, q db.Querier, accountID, serviceID int64, c Contract, w wish, now time.Time) (quote, error) {
	if err := c.buyable(); err != nil {
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

// errMoved says that a service or an add-on changed between being read and being locked.
var errMoved = errors.New("addons: the service changed meanwhile")

// buy attaches an add-on to one of the account's services and pays it from the wallet.
func (s *Service) buy(ctx context.Context, tx *db.Tx, accountID, serviceID int64, w wish) (addon, Contract, error) {
	leave, err := s.Services.Enter(ctx, tx, accountID)
	if err != nil {
		return addon{}, Contract{}, err
	}
	defer leave()
	before, err := s.Services.Contract(ctx, tx, accountID, serviceID)
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
	orderID, err := s.Orders.Begin(ctx, tx, Purchase{
		AccountID: accountID, ServiceID: serviceID, Title: name, Domain: before.Domain, ClientRef: before.ClientRef,
		PeriodMonths: before.PeriodMonths, Quantity: w.quantity, Price: total, Keyed: w.keyed,
	})
	if err != nil {
		return addon{}, before, err
	}
	// The wallet's row was locked by the order: of two purchases at once the second one finds here what the first
	// one made.
	c, err := s.Services.LockContract(ctx, tx, accountID, serviceID)
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
	if _, err := s.emitNow(ctx, tx, "addon.created", a.id, ""); err != nil {
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

// activate gives a locked service what was bought for it.
func (s *Service) activate(ctx context.Context, tx *db.Tx, id int64, c Contract, value string) error {
	moved, err := setActive(ctx, tx, id, value, *c.ExpiresAt)
	if err == nil && !moved {
		err = ErrNotPending.New()
	}
	if err != nil {
		return err
	}
	a, err := s.emitNow(ctx, tx, "addon.activated", id, Pending)
	if err != nil {
		return err
	}
	return s.extend(ctx, tx, a.serviceID)
}

// extend brings the sums of a locked service's add-ons to it.
func (s *Service) extend(ctx context.Context, tx *db.Tx, serviceID int64) error {
	all, err := ofService(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	price, raises, err := sums(all)
	if err != nil {
		return err
	}
	_, err = s.Services.Extend(ctx, tx, serviceID, price, raises)
	return err
}

// cancel ends one of the account's add-ons with its paid time. One that is on this way is left on it.
func (s *Service) cancel(ctx context.Context, tx *db.Tx, accountID, serviceID, id int64) (addon, Contract, error) {
	leave, err := s.Services.Enter(ctx, tx, accountID)
	if err != nil {
		return addon{}, Contract{}, err
	}
	defer leave()
	c, err := s.Services.LockContract(ctx, tx, accountID, serviceID)
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
		// There is nothing left of it that was paid for.
		_, err = setCancelled(ctx, tx, id)
	}
	if err == nil {
		err = s.extend(ctx, tx, serviceID)
	}
	if err != nil {
		return a, c, err
	}
	a, err = s.emitNow(ctx, tx, "addon.cancelled", id, a.status)
	return a, c, err
}

// checkWithout refuses when the service uses what the add-on raises.
func (s *Service) checkWithout(ctx context.Context, q db.Querier, a addon) error {
	all, err := ofService(ctx, q, a.serviceID)
	if err != nil {
		return err
	}
	_, raises, err := sums(slices.DeleteFunc(all, func(x addon) bool { return x.id == a.id || x.status == Cancelling }))
	if err != nil {
		return err
	}
	return s.Services.CheckExtend(ctx, q, a.accountID, a.serviceID, raises)
}

// Line is what is renewed with a service.
type Line struct {
	Title     string
	Quantity  int
	UnitPrice money.USDCents // of one, for the months that were asked for
}

// Renewal lists what is renewed with a service for a number of months. For the service's own period the prices are those
// that it was sold for, else those of the catalogue.
func (s *Service) Renewal(ctx context.Context, q db.Querier, accountID, serviceID int64, months int, own bool) ([]Line, error) {
	all, err := ofService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(a addon) bool { return a.status != Active })
	if len(all) == 0 {
		return nil, nil
	}
	discount, err := s.discount(ctx, q, accountID)
	if err != nil {
		return nil, err
	}
	lines := make([]Line, len(all))
	for i, a := range all {
		lines[i] = Line{Title: a.name, Quantity: a.quantity, UnitPrice: a.unitPrice}
		if own {
			continue
		}
		p, ok, err := s.Catalog.Addon(ctx, q, a.key)
		if err == nil && !ok {
			err = fmt.Errorf("addons: nothing is known of %s", a.key)
		}
		if err != nil {
			return nil, err
		}
		unit, err := p.price(months)
		if err != nil {
			return nil, err
		}
		lines[i].UnitPrice = unit.Less(discount)
	}
	return lines, nil
}

// Renewed hears that what Renewal listed is paid until a time. The service is locked.
func (s *Service) Renewed(ctx context.Context, tx *db.Tx, serviceID int64, until time.Time) error {
	return s.each(ctx, tx, serviceID, func(a addon) error {
		if moved, err := setPaid(ctx, tx, a.id, until); err != nil || !moved {
			return err
		}
		_, err := s.emitNow(ctx, tx, "addon.renewed", a.id, "")
		return err
	})
}

// Ended hears that a service was terminated: what it has ends with it. What operators are to make is refused by Settle,
// because the order's lock comes before the service's. What the service's row says of its add-ons stays: it comes back
// with the same limits.
func (s *Service) Ended(ctx context.Context, tx *db.Tx, serviceID int64) error {
	return s.each(ctx, tx, serviceID, func(a addon) error {
		switch a.status {
		case Active:
			if moved, err := setEnded(ctx, tx, a.id); err != nil || !moved {
				return err
			}
			_, err := s.emitNow(ctx, tx, "addon.cancelled", a.id, Active)
			return err
		case Cancelling: // of which was told when it was cancelled
			_, err := setCancelled(ctx, tx, a.id)
			return err
		default:
			return nil
		}
	})
}

// Returned hears that a terminated service is back, and so is what it had.
func (s *Service) Returned(ctx context.Context, tx *db.Tx, serviceID int64) error {
	err := s.each(ctx, tx, serviceID, func(a addon) error {
		if moved, err := setReturned(ctx, tx, a.id); err != nil || !moved {
			return err
		}
		_, err := s.emitNow(ctx, tx, "addon.activated", a.id, Cancelled)
		return err
	})
	if err != nil {
		return err
	}
	return s.extend(ctx, tx, serviceID)
}

func (s *Service) each(ctx context.Context, tx *db.Tx, serviceID int64, f func(addon) error) error {
	all, err := ofService(ctx, tx, serviceID)
	for _, a := range all {
		if err == nil {
			err = f(a)
		}
	}
	return err
}

// Waiting is an add-on that an operator is to make.
type Waiting struct {
	ID, AccountID, ServiceID int64
	Key, Name                string
	Quantity                 int
	CreatedAt                time.Time
}

const batch = 200

// Waiting lists what operators are to make, the oldest first.
func (s *Service) Waiting(ctx context.Context) ([]Waiting, error) {
	found, err := waiting(ctx, s.DB, 0, batch)
	all := make([]Waiting, len(found))
	for i, a := range found {
		all[i] = Waiting{a.id, a.accountID, a.serviceID, a.key, a.name, a.quantity, a.createdAt}
	}
	return all, err
}

// maxValue bounds what an operator says of an add-on, in characters.
const maxValue = 200

// Make says that an operator has made an add-on. The value is shown to the customer, such as the address. Its money is
// taken; from now on it is renewed with its service.
func (s *Service) Make(ctx context.Context, id int64, value string) error {
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) > maxValue || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return fault.Invalid("value", "characters")
	}
	return s.settle(ctx, id, func(ctx context.Context, tx *db.Tx, a addon) error {
		if err := s.Orders.Complete(ctx, tx, a.orderID); err != nil {
			return err
		}
		c, err := s.Services.LockContract(ctx, tx, a.accountID, a.serviceID)
		if err != nil {
			return err
		}
		if !c.there() {
			return fault.ServiceNotActive.New()
		}
		return s.activate(ctx, tx, id, c, value)
	})
}

// Refuse says that an operator cannot make an add-on: its money goes back.
func (s *Service) Refuse(ctx context.Context, id int64) error {
	return s.fail(ctx, id, "addon_unavailable")
}

func (s *Service) fail(ctx context.Context, id int64, failureKey string) error {
	return s.settle(ctx, id, func(ctx context.Context, tx *db.Tx, a addon) error {
		if err := s.Orders.Fail(ctx, tx, a.orderID, failureKey); err != nil {
			return err
		}
		moved, err := setFailed(ctx, tx, id, failureKey)
		if err == nil && !moved {
			err = ErrNotPending.New()
		}
		if err == nil {
			_, err = s.emitNow(ctx, tx, "addon.failed", id, Pending)
		}
		return err
	})
}

// settle runs f on an add-on that waits, at the time of its account. It is locked first, before the order: nothing
// else changes one that waits, and of two operators at once the second finds it settled.
func (s *Service) settle(ctx context.Context, id int64, f func(ctx context.Context, tx *db.Tx, a addon) error) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		a, err := lock(ctx, tx, id)
		if err == nil && a.status != Pending {
			err = ErrNotPending.New()
		}
		if err != nil {
			return err
		}
		leave, err := s.Services.Enter(ctx, tx, a.accountID)
		if err != nil {
			return err
		}
		defer leave()
		return f(ctx, tx, a)
	})
}

// there tells that the service has an account that add-ons can be of; ended that it has none any more.
func (c Contract) there() bool {
	return slices.Contains([]string{"active", "past_due", "suspended"}, c.Status)
}

func (c Contract) ended() bool {
	return slices.Contains([]string{"terminated", "failed", "cancelled"}, c.Status)
}

// Settle ends what was cancelled and is no longer paid for, and refuses what operators are to make for services that are
// over. One that fails does not hold up the others. A periodic job calls it.
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
			c, err := s.Services.Contract(ctx, s.DB, a.accountID, a.serviceID)
			if err == nil && c.ended() {
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
		if _, err := s.Services.LockContract(ctx, tx, a.accountID, a.serviceID); err != nil {
			return err
		}
		moved, err := setCancelled(ctx, tx, a.id)
		if err != nil || !moved {
			return err
		}
		return s.extend(ctx, tx, a.serviceID)
	})
}

// Due ends what a sandbox cancelled and is no longer paid for by its clock. Nothing of it is ever left to do.
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

// Next is when something is due with the add-ons of an account for the first time after t; the zero time when nothing is.
func (s *Service) Next(ctx context.Context, q db.Querier, accountID int64, t time.Time) (time.Time, error) {
	at, err := firstOver(ctx, q, accountID, t)
	if err != nil || at == nil {
		return time.Time{}, err
	}
	return *at, nil
}

// emitNow reads an add-on as it now is, tells of it and answers it. before is the state it has left; empty when that is
// the same.
func (s *Service) emitNow(ctx context.Context, tx *db.Tx, eventType string, id int64, before Status) (addon, error) {
	a, err := get(ctx, tx, id)
	if err != nil {
		return a, err
	}
	data, err := eventOf(ctx, a)
	if err != nil {
		return a, err
	}
	// Numbered with the events of its service, so that who is told of both has them in order.
	e := outbox.Event{Type: eventType, AccountID: a.accountID, Subject: "service", SubjectID: a.serviceID, Data: data}
	if before != "" {
		e.Previous = map[string]any{"status": before}
	}
	return a, s.Events.Emit(ctx, tx, e)
}
