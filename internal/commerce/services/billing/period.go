package billing

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// period is a time of a service and what was paid for it.
type period struct {
	id           int64
	starts, ends time.Time
	amount       money.USDCents
	order        int64     // that paid the amount; 0: none of ours, or one from before that was noted
	began        time.Time // what the period was before another plan took the place of its first
}

// worth is what of the paid amount is for the time after t: a part of the period's
// real length, to the microsecond, rounded down.
func (p period) worth(t time.Time) money.USDCents {
	switch {
	case !t.After(p.starts):
		return p.amount
	case !t.Before(p.ends):
		return 0
	default:
		return share(p.amount, p.ends.Sub(t), p.ends.Sub(p.starts), false)
	}
}

// worth is what was paid for the time after t. What it counts is money that was
// really paid, so that changing tariffs back and forth earns nothing. all is in order. What several orders paid for the same time
// is rounded once.
func worth(all []period, t time.Time) (sum money.USDCents, err error) {
	for i := 0; i < len(all); {
		p := all[i]
		for i++; i < len(all) && all[i].starts.Equal(p.starts) && all[i].ends.Equal(p.ends); i++ {
			if p.amount, err = p.amount.Add(all[i].amount); err != nil {
				return 0, fmt.Errorf("billing: worth of period %d: %w", p.id, err)
			}
		}
		if sum, err = sum.Add(p.worth(t)); err != nil {
			return 0, fmt.Errorf("billing: worth of period %d: %w", p.id, err)
		}
	}
	return sum, nil
}

// beganOf is when the period that is paid first began; the zero time where nothing is paid.
func beganOf(all []period) time.Time {
	if len(all) == 0 {
		return time.Time{}
	}
	return all[0].began
}

// cost is the price of the time from t until end at so much for a number of months:
// whole periods back from the end, and a part of the first one's real length,
// rounded up. began is when that one did, which the end does not tell where its month is shorter: until 28 February it is
// a month from the 28th of January on, and from the 31st. The zero time is not known.
func cost(price money.USDCents, months int, t, end, began time.Time) (sum money.USDCents, err error) {
	for n := 1; t.Before(end); n++ {
		begin := sale.AddMonths(end, -months*n)
		last := sale.AddMonths(end, -months*(n-1))
		part := price
		if began.After(begin) && sale.AddMonths(began, months).Equal(last) {
			begin = began
		}
		if begin.Before(t) {
			part = share(price, last.Sub(t), last.Sub(begin), true)
		}
		if sum, err = sum.Add(part); err != nil {
			return 0, fmt.Errorf("billing: cost of %d months: %w", months*n, err)
		}
		if !begin.After(t) {
			return sum, nil
		}
	}
	return sum, nil
}

// share is amount × part ÷ whole, exactly, rounded up or down.
func share(amount money.USDCents, part, whole time.Duration, up bool) money.USDCents {
	n := new(big.Int).Mul(big.NewInt(int64(amount)), big.NewInt(int64(part)))
	quotient, rest := new(big.Int).QuoRem(n, big.NewInt(int64(whole)), new(big.Int))
	if up && rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return money.USDCents(quotient.Int64())
}

func scanPeriod(row db.Row) (p period, err error) {
	err = row.Scan(&p.id, &p.starts, &p.ends, &p.amount, &p.order, &p.began)
	return p, err
}

// periodsAfter reads what was paid for a service's time after t.
func periodsAfter(ctx context.Context, q db.Querier, serviceID int64, t time.Time) ([]period, error) {
	return db.Collect(ctx, q, scanPeriod, `SELECT id, starts_at, ends_at, amount, COALESCE(order_id, 0), COALESCE(began_at, starts_at) FROM services_periods
		WHERE service_id = $1 AND ends_at > $2 ORDER BY starts_at, id`, serviceID, t)
}

// NotePaid notes what was paid for times of a service.
func (s *Service) NotePaid(ctx context.Context, tx *db.Tx, serviceID int64, all ...sale.PaidTime) error {
	var rows db.Values
	for _, p := range all {
		rows.Add(serviceID, p.Start, p.End, p.Amount, p.Start, db.OrNull(p.OrderID))
	}
	return insertPeriodRows(ctx, tx, &rows)
}

// insertPeriods is NotePaid for the renewals of services.
func insertPeriods(ctx context.Context, tx *db.Tx, all []services.Row, paid []soldRenewal) error {
	var rows db.Values
	for i, p := range paid {
		rows.Add(all[i].ID, p.from, p.until, p.planPrice, p.from, db.OrNull(p.orderID))
	}
	return insertPeriodRows(ctx, tx, &rows)
}

// replaceRest ends what was paid for a service at t, where it was worth so much, and notes the time until its end as one that
// costs another price: the order pays what that is more, or what it is less was given back. Each order that has paid for it has
// a row of its own, so that its refunds find that.
func replaceRest(ctx context.Context, tx *db.Tx, serviceID int64, paid []period, t, end time.Time, order int64, value, price money.USDCents) error {
	if err := cutPeriods(ctx, tx, serviceID, paid, t); err != nil {
		return err
	}
	var rows db.Values
	for _, p := range slices.Backward(settled(paid, t, order, value, price)) { // read again, the latest order is the last
		rows.Add(serviceID, t, end, p.amount, beganOf(paid), db.OrNull(p.order))
	}
	return insertPeriodRows(ctx, tx, &rows)
}

// settled is what each order has paid of a price for the time after t, which was worth so much: one more pays the difference, or
// it was given back, of the latest time first, as it is taken off invoices. There is at least one.
func settled(paid []period, t time.Time, order int64, value, price money.USDCents) []period {
	credit := max(0, value-price)
	by := []period{{order: order, amount: max(0, price-value)}}
	rest := price - by[0].amount
	for _, p := range slices.Backward(paid) {
		left := p.worth(t)
		less := min(credit, left)
		credit, left = credit-less, min(left-less, rest)
		rest -= left
		if i := slices.IndexFunc(by, func(o period) bool { return o.order == p.order }); i >= 0 {
			by[i].amount += left
		} else {
			by = append(by, period{order: p.order, amount: left})
		}
	}
	by[len(by)-1].amount += rest // cents of what was rounded for each
	if some := slices.DeleteFunc(slices.Clone(by), func(o period) bool { return o.amount == 0 }); len(some) > 0 {
		return some
	}
	return by[:1]
}

func insertPeriodRows(ctx context.Context, tx *db.Tx, rows *db.Values) error {
	table, args := rows.Table(tx)
	return tx.Queue(ctx, nil, `INSERT INTO services_periods (service_id, starts_at, ends_at, amount, began_at, order_id) `+table, args...)
}

// cutPeriods ends what was paid at t: what was for later goes, what reaches over t
// keeps what its first part was worth.
func cutPeriods(ctx context.Context, tx *db.Tx, serviceID int64, all []period, t time.Time) error {
	if _, err := tx.Exec(ctx, `DELETE FROM services_periods WHERE service_id = $1 AND starts_at >= $2`, serviceID, t); err != nil {
		return err
	}
	for _, p := range all {
		if !p.starts.Before(t) {
			continue
		}
		_, err := tx.Exec(ctx, `UPDATE services_periods SET ends_at = $1, amount = $2 WHERE id = $3`, t, p.amount-p.worth(t), p.id)
		if err != nil {
			return err
		}
	}
	return nil
}

// PaidTimes are those of a service that touch a time.
func (s *Service) PaidTimes(ctx context.Context, q db.Querier, serviceID int64, from, to time.Time) ([]sale.PaidTime, error) {
	periods, err := periodsAfter(ctx, q, serviceID, from)
	var all []sale.PaidTime
	for _, p := range periods {
		if p.starts.Before(to) {
			all = append(all, sale.PaidTime{Start: p.starts, End: p.ends, Amount: p.amount, OrderID: p.order})
		}
	}
	return all, err
}

// TakeBack counts a service's time as paid by so much less, because money of an order was given back: it is not given back again
// when the time is exchanged for another plan. It is taken off what that order paid, the time that ends last first, and off no
// more than is left of that. An order of which no time is known was paid before that was noted: of such times the last are taken.
func (s *Service) TakeBack(ctx context.Context, tx *db.Tx, serviceID, orderID int64, price money.USDCents) error {
	r, err := s.Services.Lock(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	all, err := periodsAfter(ctx, tx, r.ID, tx.Now)
	if err != nil {
		return err
	}
	known, err := paidBy(ctx, tx, r.ID, orderID)
	if err != nil {
		return err
	}
	if !known {
		orderID = 0
	}
	for _, p := range slices.Backward(all) {
		less := min(price, p.amount)
		if less == 0 || p.order != orderID {
			continue
		}
		if _, err := tx.Exec(ctx, `UPDATE services_periods SET amount = amount - $1 WHERE id = $2`, less, p.id); err != nil {
			return err
		}
		price -= less
	}
	return nil
}

// paidBy tells whether an order is known to have paid time of a service, however long ago.
func paidBy(ctx context.Context, q db.Querier, serviceID, orderID int64) (known bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM services_periods WHERE service_id = $1 AND order_id = $2)`, serviceID, orderID).Scan(&known)
	return known, err
}

// nextEnd is when n months end that follow the paid time until end. An end that a short month has moved to its last day goes back
// to the day on which the service began: from 31 January a service is paid until 28 February, then until 31 March.
func nextEnd(end time.Time, n int, began *time.Time) time.Time {
	until := sale.AddMonths(end, n)
	if began == nil || began.Day() <= end.Day() || end.AddDate(0, 0, 1).Day() != 1 {
		return until
	}
	return until.AddDate(0, 0, min(began.Day(), lastDay(until))-until.Day())
}

// lastDay is the number of days of the month of t.
func lastDay(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, t.Location()).Day()
}
