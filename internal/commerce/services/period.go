package services

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// period is a time of a service and what was paid for it.
type period struct {
	id           int64
	starts, ends time.Time
	amount       money.USDCents
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
// really paid, so that changing tariffs back and forth earns nothing.
func worth(all []period, t time.Time) (sum money.USDCents, err error) {
	for _, p := range all {
		if sum, err = sum.Add(p.worth(t)); err != nil {
			return 0, fmt.Errorf("services: worth of period %d: %w", p.id, err)
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
		begin := addMonths(end, -months*n)
		last := addMonths(end, -months*(n-1))
		part := price
		if began.After(begin) && addMonths(began, months).Equal(last) {
			begin = began
		}
		if begin.Before(t) {
			part = share(price, last.Sub(t), last.Sub(begin), true)
		}
		if sum, err = sum.Add(part); err != nil {
			return 0, fmt.Errorf("services: cost of %d months: %w", months*n, err)
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
	err = row.Scan(&p.id, &p.starts, &p.ends, &p.amount, &p.began)
	return p, err
}

// periodsAfter reads what was paid for a service's time after t.
func periodsAfter(ctx context.Context, q db.Querier, serviceID int64, t time.Time) ([]period, error) {
	return db.Collect(ctx, q, scanPeriod, `SELECT id, starts_at, ends_at, amount, COALESCE(began_at, starts_at) FROM services_periods
		WHERE service_id = $1 AND ends_at > $2 ORDER BY starts_at, id`, serviceID, t)
}

// insertPeriod notes what was paid for a time. A time of no length costs nothing.
func insertPeriod(ctx context.Context, tx *db.Tx, serviceID int64, starts, ends time.Time, amount money.USDCents) error {
	return insertRest(ctx, tx, serviceID, starts, ends, starts, amount)
}

// insertPeriods is insertPeriod for the renewals of services.
func insertPeriods(ctx context.Context, tx *db.Tx, all []record, paid []renewal) error {
	var rows db.Values
	for i, p := range paid {
		rows.Add(all[i].id, p.from, p.until, p.planPrice, p.from)
	}
	return insertPeriodRows(ctx, tx, &rows)
}

// insertRest is insertPeriod for what is left of a period that began before.
func insertRest(ctx context.Context, tx *db.Tx, serviceID int64, starts, ends, began time.Time, amount money.USDCents) error {
	var rows db.Values
	rows.Add(serviceID, starts, ends, amount, began)
	return insertPeriodRows(ctx, tx, &rows)
}

func insertPeriodRows(ctx context.Context, tx *db.Tx, rows *db.Values) error {
	table, args := rows.Table(tx)
	return tx.Queue(ctx, nil, `INSERT INTO services_periods (service_id, starts_at, ends_at, amount, began_at) `+table, args...)
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

// TakeBack counts a service's time as paid by so much less: money that was given back is not given back again when
// the time is exchanged for another plan. It is taken off the time that ends last.
func (s *Service) TakeBack(ctx context.Context, tx *db.Tx, serviceID int64, price money.USDCents) error {
	r, err := lock(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	all, err := periodsAfter(ctx, tx, r.id, tx.Now)
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(all) {
		less := min(price, p.amount)
		if less == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, `UPDATE services_periods SET amount = amount - $1 WHERE id = $2`, less, p.id); err != nil {
			return err
		}
		price -= less
	}
	return nil
}
