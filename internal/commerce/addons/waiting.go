package addons

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Waiting is an add-on that an operator has to set up.
type Waiting struct {
	ID, AccountID, ServiceID int64
	Key, Name                string
	Quantity                 int
	CreatedAt                time.Time
}

// batch is how many rows are read at once.
const batch = 200

// Waiting lists the add-ons that operators have to set up, the oldest first.
func (s *Service) Waiting(ctx context.Context) ([]Waiting, error) {
	found, err := waiting(ctx, s.DB, 0, batch)
	all := make([]Waiting, len(found))
	for i, a := range found {
		all[i] = Waiting{a.id, a.accountID, a.serviceID, a.key, a.name, a.quantity, a.createdAt}
	}
	return all, err
}

// maxValue bounds the value of an add-on, in characters.
const maxValue = 200

// Make records that an operator has set up an add-on. The value, such as an address, is shown to the customer. The money that
// was held is captured, and from now on the add-on is renewed with its service. Where the service was renewed while the add-on
// waited, that time is paid now; fault.InsufficientFunds when the wallet does not cover it, and the add-on goes on waiting.
func (s *Service) Make(ctx context.Context, id int64, value string) error {
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) > maxValue || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return fault.Invalid("value", "characters")
	}
	return s.settle(ctx, id, func(ctx context.Context, tx *db.Tx, a addon) error {
		if err := s.Orders.Complete(ctx, tx, a.orderID); err != nil {
			return err
		}
		c, err := s.Billing.LockContract(ctx, tx, a.accountID, a.serviceID)
		if err != nil {
			return err
		}
		if !hasAccount(c) {
			return fault.ServiceNotActive.New()
		}
		if err := s.catchUp(ctx, tx, a, c); err != nil {
			return err
		}
		return s.activate(ctx, tx, id, c, value)
	})
}

// catchUp sells the time by which a locked service was renewed since the add-on was bought. The add-on's own order has locked the
// wallet before the service, so this order waits for nobody.
func (s *Service) catchUp(ctx context.Context, tx *db.Tx, a addon, c sale.Contract) error {
	if !c.ExpiresAt.After(a.paidUntil) {
		return nil
	}
	from := a.paidUntil
	if from.Before(tx.Now) {
		from = tx.Now
	}
	each, err := s.Billing.Cost(a.unitPrice, a.periodMonths, from, *c.ExpiresAt)
	if err != nil {
		return err
	}
	price, err := each.Mul(int64(a.quantity))
	if err != nil {
		return err
	}
	order, err := s.Orders.Begin(ctx, tx, sale.Purchase{
		AccountID: a.accountID, Kind: "addon", ServiceID: a.serviceID, Title: a.name, Domain: c.Domain, ClientRef: c.ClientRef,
		PeriodMonths: a.periodMonths, Quantity: a.quantity, Price: price,
	})
	if err != nil {
		return err
	}
	return s.Orders.Complete(ctx, tx, order)
}

// Refuse records that an operator cannot set up an add-on. The money that was held is released.
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
			_, err = s.emitNow(ctx, tx, "addon.failed", id, &a)
		}
		return err
	})
}

// settle runs f on a pending add-on, at the time of its account. The add-on is locked first, before the order: nothing else
// changes a pending one, and of two operators at the same time the second finds it settled.
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
