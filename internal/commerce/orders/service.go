package orders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
)

// Catalog sells plans.
type Catalog interface {
	// Offer prices a plan; 0 months ask for its shortest period.
	Offer(ctx context.Context, q db.Querier, planID int64, months int) (sale.Offer, error)
	// Take counts the service of an account against the plan's stock; false when there is none left
	// or the plan is off sale. Return undoes it.
	Take(ctx context.Context, tx *db.Tx, accountID, planID, serviceID int64) (bool, error)
	Return(ctx context.Context, tx *db.Tx, planID, serviceID int64) error
}

// Payer moves the customer's money. What a charge is about, an order or a credit note, makes each call repeatable.
type Payer interface {
	// Charge sets the amount aside, or refuses with insufficient_funds.
	Charge(ctx context.Context, tx *db.Tx, c sale.Charge) error
	// Capture takes what was set aside; Release gives it back.
	Capture(ctx context.Context, tx *db.Tx, what sale.Reference) error
	Release(ctx context.Context, tx *db.Tx, what sale.Reference, description string) error
	// Pay is Charge and Capture at once, for orders that are made and done in this transaction, in their order. It
	// returns for each why it was refused: with insufficient_funds. Nothing is written of one that is refused.
	Pay(ctx context.Context, tx *db.Tx, all []sale.Charge) (refused []error, err error)
	// Refund gives back a part of what was paid before.
	Refund(ctx context.Context, tx *db.Tx, c sale.Charge) error
}

// Services makes what is sold.
type Services interface {
	// Reserve makes the pending service of an order and answers its id.
	Reserve(ctx context.Context, tx *db.Tx, r sale.Reservation) (int64, error)
	// TakeOver makes the service of an order that another system was paid for, and begins the work on it.
	TakeOver(ctx context.Context, tx *db.Tx, r sale.Reservation, from sale.Takeover) (int64, error)
	// Provision begins the work on a pending service.
	Provision(ctx context.Context, tx *db.Tx, serviceID int64) error
	// CancelPending ends a service that will not be paid.
	CancelPending(ctx context.Context, tx *db.Tx, serviceID int64) error
}

// Billing knows what was paid for the time of services.
type Billing interface {
	// TakeBack counts what an order has paid of a service's time as so much less.
	TakeBack(ctx context.Context, tx *db.Tx, serviceID, orderID int64, price money.USDCents) error
}

// Config is what the section works with; all but ReservedDomains is needed.
type Config struct {
	DB     *db.DB
	Events outbox.Events
	// ReservedDomains are the operator's own names, lower-case ASCII. Nobody can
	// order them or what is below them.
	ReservedDomains []string
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Catalog  Catalog
	Payer    Payer
	Services Services
	Billing  Billing
	Rates    sale.Rates
	Taxes    sale.Taxes
	Books    Books
	Coupons  Coupons
	Clocks   sale.Clocks
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// errMoved says that an order changed between being read and being written.
var errMoved = errors.New("orders: the order changed meanwhile")

// wish is what a customer asks for.
type wish struct {
	accountID int64
	planID    int64
	domain    string
	months    int // 0: the plan's shortest period
	label     string
	keyed     bool // the request bore an Idempotency-Key
	bought    bool // paid in the transaction that makes the order

	clientRef *string
	metadata  map[string]string
	autoRenew *bool

	coupon string // a code; empty: none
}

// Provision is what a reseller buys: an order that is made and paid in one commit.
type Provision struct {
	AccountID    int64
	PlanID       int64
	Domain       string
	PeriodMonths int // 0: the plan's shortest
	Label        string
	Keyed        bool // the request bore an Idempotency-Key
	ClientRef    *string
	Metadata     map[string]string
	AutoRenew    *bool // nil: yes
}

// Buy makes an order, pays it from the wallet and begins the work, or refuses and leaves nothing.
// It answers the id of the service.
func (s *Service) Buy(ctx context.Context, tx *db.Tx, p Provision) (int64, error) {
	made, err := s.create(ctx, tx, wish{
		accountID: p.AccountID, planID: p.PlanID, domain: p.Domain, months: p.PeriodMonths, label: p.Label, keyed: p.Keyed,
		bought: true, clientRef: p.ClientRef, metadata: p.Metadata, autoRenew: p.AutoRenew,
	})
	if err != nil {
		return 0, err
	}
	paid, err := s.pay(ctx, tx, p.AccountID, made.id)
	if err != nil {
		return 0, err
	}
	return *paid.serviceID(), nil
}

// maxUnpaid bounds the orders that an account makes and does not pay: they are kept, and cost nothing. Resellers
// pay in the transaction that makes the order, and have no bound.
const maxUnpaid = 100

// checkUnpaid refuses one more order of an account that need not be paid: fault.LimitReached. Orders made at the same moment may
// exceed the bound by a few.
func checkUnpaid(ctx context.Context, tx *db.Tx, accountID int64) error {
	unpaid, err := countUnpaid(ctx, tx, accountID, tx.Now.Add(-24*time.Hour))
	if err == nil && unpaid >= maxUnpaid {
		err = fault.LimitReached.With(fault.Fields{"limit": "unpaid_orders", "maximum": maxUnpaid}).Saying("orders.limit.unpaid")
	}
	return err
}

// create makes an order at the prices of now, and the service that it is for.
func (s *Service) create(ctx context.Context, tx *db.Tx, w wish) (order, error) {
	leave, err := s.Clocks.Enter(ctx, tx, w.accountID)
	if err != nil {
		return order{}, err
	}
	defer leave()
	if !w.bought {
		if err := checkUnpaid(ctx, tx, w.accountID); err != nil {
			return order{}, err
		}
	}
	domain, err := domainname.ForSite(w.domain, s.ReservedDomains)
	if err != nil {
		return order{}, err
	}
	offer, err := s.offer(ctx, tx, w)
	if err == nil {
		err = refusal(offer)
	}
	if err != nil {
		return order{}, err
	}
	line, err := newItem(offer, domain)
	if err != nil {
		return order{}, err
	}
	line, off, coupon, err := s.discounted(ctx, tx, w, offer, line, tx.Now)
	if err != nil {
		return order{}, err
	}
	by, err := s.tax(ctx, tx, w.accountID)
	if err == nil {
		line, err = line.taxed(by)
	}
	if err != nil {
		return order{}, err
	}
	all, err := sumsOf([]item{line})
	if err != nil {
		return order{}, err
	}
	id, err := insert(ctx, tx, order{
		accountID: w.accountID, kind: "new", status: Pending, sums: all, idempotencyKeyUsed: w.keyed, clientRef: w.clientRef, couponCode: coupon, couponDiscount: off, createdAt: tx.Now, expiresAt: tx.Now.Add(payableFor),
	})
	if err != nil {
		return order{}, fmt.Errorf("orders: create: %w", err)
	}
	serviceID, err := s.Services.Reserve(ctx, tx, sale.Reservation{
		AccountID: w.accountID, OrderID: id, Type: offer.ProductType, Label: w.label, Domain: domain,
		PlanID: offer.PlanID, PlanSlug: offer.PlanSlug, PlanName: offer.PlanName, Limits: offer.Limits,
		PeriodMonths: offer.PeriodMonths, RenewPrice: offer.Price, FirstPrice: line.unitPrice - line.discount,
		ClientRef: w.clientRef, Metadata: w.metadata, AutoRenew: w.autoRenew,
	})
	if err != nil {
		return order{}, err
	}
	line.serviceID = &serviceID
	if err := insertItems(ctx, tx, []order{{id: id, items: []item{line}}}); err != nil {
		return order{}, fmt.Errorf("orders: create: %w", err)
	}
	return s.emitNow(ctx, tx, "order.created", id, nil)
}

// offer is the plan at the price that the account pays. Who pays wholesale has no promotions.
func (s *Service) offer(ctx context.Context, q db.Querier, w wish) (sale.Offer, error) {
	offer, err := s.Catalog.Offer(ctx, q, w.planID, w.months)
	if err != nil {
		return offer, err
	}
	discount, wholesale, err := s.Rates.Wholesale(ctx, q, w.accountID)
	if wholesale {
		offer.Price, offer.Setup, offer.FirstPeriodPrice = offer.Price.Less(discount), offer.Setup.Less(discount), nil
	}
	return offer, err
}

// pay pays one of the account's orders from its wallet and begins the work.
func (s *Service) pay(ctx context.Context, tx *db.Tx, accountID, id int64) (order, error) {
	leave, err := s.Clocks.Enter(ctx, tx, accountID)
	if err != nil {
		return order{}, err
	}
	defer leave()
	o, err := getOwn(ctx, tx, accountID, id)
	if err == nil {
		err = o.payable(tx.Now)
	}
	if err != nil {
		return order{}, err
	}
	by, err := s.tax(ctx, tx, accountID)
	if err != nil {
		return order{}, err
	}
	before := o
	if o, err = o.retaxed(by); err != nil {
		return order{}, err
	}
	// All that needs no lock is read before the wallet is locked: others pay from the same one.
	if o, err = s.invoiced(ctx, tx, o, by); err != nil {
		return order{}, err
	}
	if o.total > 0 {
		// Of two payments of one order the second waits here for the wallet's row.
		if err := s.Payer.Charge(ctx, tx, o.charge()); err != nil {
			return order{}, s.unpaid(ctx, tx, o, err)
		}
	}
	paid, err := s.carryOut(ctx, tx, before, o)
	if errors.Is(err, errMoved) {
		err = s.unpaid(ctx, tx, o, err)
	}
	return paid, err
}

// carryOut makes an order whose money is set aside a paid one and begins the work; before is the order as it is stored.
func (s *Service) carryOut(ctx context.Context, tx *db.Tx, before, o order) (order, error) {
	paid, err := markPaid(ctx, tx, o)
	if err != nil {
		return order{}, err
	}
	if err := s.redeem(ctx, tx, o); err != nil {
		return order{}, err
	}
	for n, i := range o.items {
		if was := before.items[n]; was.tax != i.tax || was.taxIncluded != i.taxIncluded {
			if err := setTax(ctx, tx, i); err != nil {
				return order{}, err
			}
		}
		if err := s.begin(ctx, tx, o.accountID, i); err != nil {
			return order{}, err
		}
	}
	if err := tx.Flush(ctx); err != nil { // it may be errMoved
		return order{}, err
	}
	return paid, s.tellChange(ctx, tx, "order.paid", before, paid)
}

// markPaid writes that the money of an order is set aside, and returns the order as it then is. The error of a later
// statement is errMoved when the order was not pending any more.
func markPaid(ctx context.Context, tx *db.Tx, o order) (order, error) {
	if err := setPaid(ctx, tx, o); err != nil {
		return o, err
	}
	o = o.in(Processing)
	o.paidAt = &tx.Now
	return o, setItems(ctx, tx, o.id, Processing)
}

// unpaid says why an order was not paid: because somebody else has paid, cancelled
// or expired it meanwhile, or else for the given reason.
func (s *Service) unpaid(ctx context.Context, tx *db.Tx, o order, reason error) error {
	now, err := getOwn(ctx, tx, o.accountID, o.id)
	if err != nil {
		return reason
	}
	if err := now.payable(tx.Now); err != nil {
		return err
	}
	return reason
}

// begin takes an item of a paid order off the stock and begins its service.
func (s *Service) begin(ctx context.Context, tx *db.Tx, accountID int64, i item) error {
	if i.serviceID == nil {
		return nil
	}
	if i.planID != nil {
		taken, err := s.Catalog.Take(ctx, tx, accountID, *i.planID, *i.serviceID)
		if err != nil {
			return err
		}
		if !taken {
			return s.unsold(ctx, tx, i)
		}
	}
	return s.Services.Provision(ctx, tx, *i.serviceID)
}

// unsold says why an item that was ordered can no longer be had.
func (s *Service) unsold(ctx context.Context, tx *db.Tx, i item) error {
	offer, err := s.Catalog.Offer(ctx, tx, *i.planID, 0)
	if err == nil && offer.SoldOut {
		return ErrOutOfStock.New()
	}
	return ErrPlanUnavailable.New()
}

// cancel ends one of the account's orders that is not paid.
func (s *Service) cancel(ctx context.Context, tx *db.Tx, accountID, id int64) (order, error) {
	leave, err := s.Clocks.Enter(ctx, tx, accountID)
	if err != nil {
		return order{}, err
	}
	defer leave()
	o, err := getOwn(ctx, tx, accountID, id)
	if err != nil {
		return order{}, err
	}
	if _, ok := o.status.after(cancellation); !ok {
		return order{}, ErrNotCancellable.New()
	}
	moved, err := setCancelled(ctx, tx, id)
	if err != nil {
		return order{}, err
	}
	if !moved {
		return order{}, ErrNotCancellable.New()
	}
	if err := s.dropServices(ctx, tx, o); err != nil {
		return order{}, err
	}
	return s.emitNow(ctx, tx, "order.cancelled", id, &o)
}

func (s *Service) dropServices(ctx context.Context, tx *db.Tx, o order) error {
	for _, i := range o.items {
		if i.serviceID != nil {
			if err := s.Services.CancelPending(ctx, tx, *i.serviceID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Complete ends an order whose work is done: the money that was set aside is taken.
func (s *Service) Complete(ctx context.Context, tx *db.Tx, id int64) error {
	o, err := get(ctx, tx, id)
	if err != nil || o.status == Completed {
		return err
	}
	leave, err := s.Clocks.Enter(ctx, tx, o.accountID)
	if err != nil {
		return err
	}
	defer leave()
	if _, ok := o.status.after(workDone); !ok {
		return fmt.Errorf("orders: order %d is %s and cannot complete", id, o.status)
	}
	if o.total > 0 {
		if err := s.Payer.Capture(ctx, tx, sale.Order(id)); err != nil {
			return err
		}
	}
	if err := must(setCompleted(ctx, tx, id)); err != nil {
		return err
	}
	if err := setItems(ctx, tx, id, Completed); err != nil {
		return err
	}
	_, err = s.emitNow(ctx, tx, "order.completed", id, &o)
	return err
}

// Fail ends an order whose work cannot be done: the money goes back to what the
// customer can spend.
func (s *Service) Fail(ctx context.Context, tx *db.Tx, id int64, failureKey string) error {
	o, err := get(ctx, tx, id)
	if err != nil || o.status == Failed || o.status == Refunded {
		return err
	}
	leave, err := s.Clocks.Enter(ctx, tx, o.accountID)
	if err != nil {
		return err
	}
	defer leave()
	if _, ok := o.status.after(workFailed); !ok {
		return fmt.Errorf("orders: order %d is %s and cannot fail", id, o.status)
	}
	if o.total > 0 {
		// Before the wallet: so everybody locks invoices.
		if err := s.Books.CancelOrder(ctx, tx, id); err != nil {
			return err
		}
	}
	if o.total > 0 {
		if err := s.Payer.Release(ctx, tx, sale.Order(id), o.number()); err != nil {
			return err
		}
	}
	if err := must(setFailed(ctx, tx, id, failureKey)); err != nil {
		return err
	}
	if err := s.giveBackCoupon(ctx, tx, o); err != nil {
		return err
	}
	for _, i := range o.items {
		if i.planID != nil && i.serviceID != nil {
			if err := s.Catalog.Return(ctx, tx, *i.planID, *i.serviceID); err != nil {
				return err
			}
		}
	}
	if err := setItems(ctx, tx, id, Failed); err != nil {
		return err
	}
	failed, err := s.emitNow(ctx, tx, "order.failed", id, &o)
	if err != nil || o.total == 0 {
		return err
	}
	if err := must(setRefunded(ctx, tx, id)); err != nil {
		return err
	}
	if err := setItems(ctx, tx, id, Refunded); err != nil {
		return err
	}
	_, err = s.emitNow(ctx, tx, "order.refunded", id, &failed)
	return err
}

// must makes a move that was not possible an error.
func must(moved bool, err error) error {
	if err == nil && !moved {
		return errMoved
	}
	return err
}

// expireBatch is how many orders expire in one transaction.
const expireBatch = 100

// Expire ends the orders that were not paid in time. A periodic job calls it.
func (s *Service) Expire(ctx context.Context) error {
	for more := true; more; {
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			ids, err := overdue(ctx, tx, tx.Now, expireBatch)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := s.expire(ctx, tx, id); err != nil {
					return err
				}
			}
			more = len(ids) == expireBatch
			return nil
		})
		if err != nil {
			return fmt.Errorf("orders: expire: %w", err)
		}
	}
	return nil
}

func (s *Service) expire(ctx context.Context, tx *db.Tx, id int64) error {
	before, err := get(ctx, tx, id)
	if err != nil {
		return err
	}
	leave, err := s.Clocks.Enter(ctx, tx, before.accountID)
	if err != nil {
		return err
	}
	defer leave()
	moved, err := setExpired(ctx, tx, id)
	if err != nil || !moved {
		return err // paid or cancelled since it was listed
	}
	o, err := s.emitNow(ctx, tx, "order.expired", id, &before)
	if err != nil {
		return err
	}
	return s.dropServices(ctx, tx, o)
}

// emitNow reads the order as it now is, tells of it and answers it. before is the order as it was; nil when it is new.
func (s *Service) emitNow(ctx context.Context, tx *db.Tx, eventType string, id int64, before *order) (order, error) {
	o, err := get(ctx, tx, id)
	if err != nil {
		return order{}, err
	}
	if before == nil {
		return o, s.tell(ctx, tx, eventType, o, nil)
	}
	return o, s.tellChange(ctx, tx, eventType, *before, o)
}

// tellChange tells of an order that has changed.
func (s *Service) tellChange(ctx context.Context, tx *db.Tx, eventType string, before, now order) error {
	previous, err := outbox.Changed(eventOf(ctx, before), eventOf(ctx, now))
	if err != nil {
		return err
	}
	return s.tell(ctx, tx, eventType, now, previous)
}

// tell tells of an order; previous are the members that changed, as they were.
func (s *Service) tell(ctx context.Context, tx *db.Tx, eventType string, o order, previous map[string]any) error {
	if err := sale.CheckTime(tx, o.accountID); err != nil {
		return err
	}
	e := outbox.Event{Type: eventType, AccountID: o.accountID, Subject: "order", SubjectID: o.id, Data: eventOf(ctx, o)}
	if previous != nil {
		e.Previous = previous
	}
	return s.Events.Emit(ctx, tx, e)
}
