package reseller

import (
	"context"
	"errors"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/billing"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

// Resold is a service as its reseller sees it (resources, section 23). Its renewal is covered when
// the wallet pays for it after all that is due before it.
type Resold struct {
	services.View
	Cost        money.Money       `json:"cost" doc:"What its first period cost, without a setup"`
	RenewCost   money.Money       `json:"renew_cost" doc:"What its renewal costs you"`
	Metadata    map[string]string `json:"metadata" doc:"What you noted of it"`
	SuspendNote *string           `json:"suspend_note" doc:"What you suspended it for"`
	Sandbox     bool              `json:"sandbox"`
}

// resoldOne is one of the reseller's services.
func (s *Service) resoldOne(ctx context.Context, q db.Querier, accountID, id int64) (*Resold, error) {
	o, err := s.Services.OwnedOne(ctx, q, accountID, id)
	if err != nil {
		return nil, err
	}
	all, err := s.resold(ctx, q, accountID, []services.Owned{o})
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// resoldList is one page of a reseller's services, the newest first. There may be very many, of which a search looks at
// each: so only those are counted that come after the page, while its coverage is found.
func (s *Service) resoldList(ctx context.Context, accountID int64, f services.Filter, p page.Params) (*page.List[Resold], error) {
	rows, err := s.Services.Owned(ctx, s.DB, accountID, f, p)
	if err != nil {
		return nil, err
	}
	total, after := 0, 0
	if len(rows) > 0 {
		total, f.Below = p.Offset()+len(rows), rows[len(rows)-1].ID
	}
	var counting errgroup.Group
	if len(rows) == p.Limit() || p.Offset() > 0 && len(rows) == 0 { // else this is the last page
		counting.Go(func() (err error) {
			after, err = s.Services.CountOwned(ctx, s.DB, accountID, f)
			return err
		})
	}
	all, err := s.resold(ctx, s.DB, accountID, rows)
	err = errors.Join(err, counting.Wait())
	return page.Of(p, total+after, all), err
}

// resold shows services to the reseller that has them.
func (s *Service) resold(ctx context.Context, q db.Querier, accountID int64, rows []services.Owned) ([]Resold, error) {
	var last time.Time
	starting := false
	for _, o := range rows {
		starting = starting || o.Starting
		if o.Renewing && o.ExpiresAt.After(last) {
			last = *o.ExpiresAt
		}
	}
	var first *due
	var has sale.Funds
	var err error
	if starting || !last.IsZero() {
		if has, err = s.Billing.Funds(ctx, q, accountID); err != nil {
			return nil, err
		}
	}
	if !last.IsZero() {
		if first, err = uncovered(ctx, q, accountID, last, has); err != nil {
			return nil, err
		}
	}
	all := make([]Resold, len(rows))
	for i, o := range rows {
		o.RenewalCovered = o.Renewing && (first == nil || first.after(o))
		if o.Starting {
			if o.RenewalCovered, err = coversStarting(ctx, q, accountID, o, has); err != nil {
				return nil, err
			}
		}
		all[i] = Resold{
			View: o.View, Cost: money.Wire(ctx, o.FirstPrice), RenewCost: money.Wire(ctx, o.NextPrice), Metadata: o.Metadata,
			SuspendNote: o.SuspendNote, Sandbox: o.Sandbox,
		}
	}
	return all, nil
}

// coversStarting tells whether the balance pays for the first renewal of a service that is being provisioned, after all that is
// due before it.
func coversStarting(ctx context.Context, q db.Querier, accountID int64, o services.Owned, has sale.Funds) (bool, error) {
	until := sale.AddMonths(o.CreatedAt, o.PeriodMonths)
	if o.ExpiresAt != nil { // it comes back
		until = *o.ExpiresAt
	}
	_, sum, err := sumBetween(ctx, q, accountID, due{}, until, has.Tax)
	has.Balance -= sum
	return has.Covers(o.NextPrice), err
}

// due is a place in the order in which an account's services are renewed.
type due struct {
	at time.Time
	id int64
}

// after tells whether the renewal of a service comes before this one.
func (d due) after(o services.Owned) bool {
	return o.ExpiresAt.Before(d.at) || (o.ExpiresAt.Equal(d.at) && o.ID < d.id)
}

// sumAtOnce is how many renewals are gone through one by one to find the first that the balance does not pay for. Most
// balances pay for few of very many.
const sumAtOnce = 500

// uncovered is the first of an account's renewals that the balance does not pay for, in the order in which they are due;
// nil when it pays for all. Those that are due later than until need not be looked at.
func uncovered(ctx context.Context, q db.Querier, accountID int64, until time.Time, has sale.Funds) (*due, error) {
	var after due
	for {
		s, err := sumRenewals(ctx, q, accountID, after, sumAtOnce, has)
		if err != nil || s.first != nil || s.count < sumAtOnce || s.last.at.After(until) {
			return s.first, err
		}
		after, has.Balance = s.last, has.Balance-s.sum
		// There are very many. Sums without an order cost a fraction: the half of the time that the balance pays for is
		// passed over, then half of what is left, until few are.
		for end := until; end.Sub(after.at) > time.Microsecond; {
			middle := after.at.Add(end.Sub(after.at) / 2).Truncate(time.Microsecond)
			count, sum, err := sumBetween(ctx, q, accountID, after, middle, has.Tax)
			if err != nil {
				return nil, err
			}
			if sum > has.Balance {
				end = middle
			} else {
				after, has.Balance = due{middle, math.MaxInt64}, has.Balance-sum
			}
			if count <= sumAtOnce {
				break
			}
		}
	}
}

// summed is a number of renewals that follow each other.
type summed struct {
	count int
	sum   money.USDCents
	last  due
	first *due // that the balance does not pay for; the rest is then of no use
}

// sumRenewals sums the next renewals of an account, until one of them is not paid for.
func sumRenewals(ctx context.Context, q db.Querier, accountID int64, after due, n int, has sale.Funds) (s summed, err error) {
	_, err = db.Collect(ctx, q, func(row db.Row) (none struct{}, err error) {
		var d due
		var total money.USDCents
		var place int
		if err = row.Scan(&d.at, &d.id, &total, &place); err != nil {
			return none, err
		}
		if total > has.Balance {
			s.first = &d
		}
		s.count, s.sum, s.last = place, total, d
		return none, nil
	}, `SELECT expires_at, id, CAST(total AS BIGINT), place FROM (
			SELECT expires_at, id, SUM(`+billing.RenewalCost(6)+`) OVER (ORDER BY expires_at, id) AS total,
				ROW_NUMBER() OVER (ORDER BY expires_at, id) AS place, COUNT(*) OVER () AS places
			FROM (SELECT expires_at, id, renew_price, pending_price, addon_price FROM services WHERE account_id = $1 AND `+services.Renewing+`
				AND (expires_at, id) > ($2, $3) ORDER BY expires_at, id LIMIT $4) AS next) AS sums
		WHERE total > $5 OR place = places ORDER BY expires_at, id LIMIT 1`, accountID, after.at, after.id, n, has.Balance, has.Tax.BasisPoints)
	return s, err
}

// sumBetween is how many renewals of an account are due after one, until a time, and what they cost.
func sumBetween(ctx context.Context, q db.Querier, accountID int64, after due, until time.Time, tax money.Tax) (count int, sum money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(`+billing.RenewalCost(5)+`), 0) AS BIGINT) FROM services WHERE account_id = $1 AND `+services.Renewing+`
		AND (expires_at, id) > ($2, $3) AND expires_at <= $4`,
		accountID, after.at, after.id, until, tax.BasisPoints).Scan(&count, &sum)
	return count, sum, err
}

// renewals are one page of an account's automatic renewals that are due before a time, in the order
// in which they are due.
func (s *Service) renewals(ctx context.Context, accountID int64, by time.Time, p page.Params) (*page.List[renewalWire], error) {
	has, err := s.Billing.Funds(ctx, s.DB, accountID)
	if err != nil {
		return nil, err
	}
	var total int
	const matching = ` FROM services WHERE account_id = $1 AND expires_at < $2 AND ` + services.Renewing
	if err := s.DB.QueryRow(ctx, `SELECT count(*)`+matching, accountID, by).Scan(&total); err != nil {
		return nil, err
	}
	rows, err := db.Collect(ctx, s.DB, func(row db.Row) (w renewalWire, err error) {
		var cost, running money.USDCents
		err = row.Scan(&w.ServiceID, &w.Label, &w.Domain, &w.ClientRef, &w.ExpiresAt, &w.AttemptAt, &cost, &running)
		w.Cost, w.RunningTotal, w.Covered = money.Wire(ctx, cost), money.Wire(ctx, running), running <= has.Balance
		return w, err
	}, `SELECT id, label, domain, client_ref, expires_at, next_renewal_attempt_at, `+billing.RenewalCost(5)+`,
			CAST(SUM(`+billing.RenewalCost(5)+`) OVER (ORDER BY expires_at, id) AS BIGINT)`+matching+`
		ORDER BY expires_at, id LIMIT $3 OFFSET $4`, accountID, by, p.Limit(), p.Offset(), has.Tax.BasisPoints)
	return page.Of(p, total, rows), err
}

// dueStats are the automatic renewals that are due before a time.
type dueStats struct {
	Count, Uncovered int64
	// Cost is that of all, UncoveredCost that of those which the balance does not pay for after all that are
	// due before.
	Cost, UncoveredCost money.USDCents
}

// countServices counts an account's services by status; those that no service has are left out.
func countServices(ctx context.Context, q db.Querier, accountID int64) (map[services.Status]int64, error) {
	all := map[services.Status]int64{}
	_, err := db.Collect(ctx, q, func(row db.Row) (none struct{}, err error) {
		var status services.Status
		var n int64
		err = row.Scan(&status, &n)
		all[status] = n
		return none, err
	}, `SELECT status, COUNT(*) FROM services WHERE account_id = $1 GROUP BY status`, accountID)
	return all, err
}

// sumDue sums the renewals that are due before a time.
func sumDue(ctx context.Context, q db.Querier, accountID int64, by time.Time, has sale.Funds) (d dueStats, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(cost), 0) AS BIGINT),
			COALESCE(SUM(CASE WHEN total > $3 THEN 1 ELSE 0 END), 0),
			CAST(COALESCE(SUM(CASE WHEN total > $3 THEN cost ELSE 0 END), 0) AS BIGINT)
		FROM (SELECT `+billing.RenewalCost(4)+` AS cost, SUM(`+billing.RenewalCost(4)+`) OVER (ORDER BY expires_at, id) AS total FROM services
			WHERE account_id = $1 AND expires_at < $2 AND `+services.Renewing+`) AS due`, accountID, by, has.Balance, has.Tax.BasisPoints).
		Scan(&d.Count, &d.Cost, &d.Uncovered, &d.UncoveredCost)
	return d, err
}
