package services

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Stats are an account's services in numbers.
type Stats struct {
	ByStatus map[Status]int64 // of those that there are
	Due      DueStats
}

// DueStats are the automatic renewals that are due before a time.
type DueStats struct {
	Count, Uncovered int64
	// Cost is that of all, UncoveredCost that of those which the balance does not pay for after all that are
	// due before.
	Cost, UncoveredCost money.USDCents
}

// Stats counts an account's services, and the renewals that are due before a time.
func (s *Service) Stats(ctx context.Context, q db.Querier, accountID int64, by time.Time) (Stats, error) {
	st := Stats{ByStatus: map[Status]int64{}}
	_, err := db.Collect(ctx, q, func(row db.Row) (none struct{}, err error) {
		var status Status
		var n int64
		err = row.Scan(&status, &n)
		st.ByStatus[status] = n
		return none, err
	}, `SELECT status, COUNT(*) FROM services WHERE account_id = $1 GROUP BY status`, accountID)
	if err != nil {
		return st, err
	}
	has, err := s.funds(ctx, q, accountID)
	if err != nil {
		return st, err
	}
	d := &st.Due
	err = q.QueryRow(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(cost), 0) AS BIGINT),
			COALESCE(SUM(CASE WHEN total > $3 THEN 1 ELSE 0 END), 0),
			CAST(COALESCE(SUM(CASE WHEN total > $3 THEN cost ELSE 0 END), 0) AS BIGINT)
		FROM (SELECT `+renewalCost(4)+` AS cost, SUM(`+renewalCost(4)+`) OVER (ORDER BY expires_at, id) AS total FROM services
			WHERE account_id = $1 AND expires_at < $2 AND `+renewing+`) AS due`, accountID, by, has.balance, has.tax.BasisPoints).
		Scan(&d.Count, &d.Cost, &d.Uncovered, &d.UncoveredCost)
	return st, err
}

// Quote is what something of a service costs.
type Quote struct {
	Title        string
	PlanID       int64
	PeriodMonths int
	Price        money.USDCents
	Discount     money.USDCents // at most the price
	Tax          money.USDCents // that is added
	Credit       money.USDCents // that comes back to the wallet, with its tax
}

// QuoteRenewal prices the renewal of one of the account's services, or refuses as that would. 0 months are
// its own period.
func (s *Service) QuoteRenewal(ctx context.Context, q db.Querier, accountID, id int64, months int) (Quote, error) {
	r, err := getOwn(ctx, q, accountID, id)
	if err != nil {
		return Quote{}, err
	}
	now, err := s.now(ctx, q, r)
	if err != nil {
		return Quote{}, err
	}
	w, err := s.quoteRenewal(ctx, q, r, months, now)
	return Quote{Title: w.planName, PlanID: w.planID, PeriodMonths: w.months, Price: w.price, Tax: w.total - w.price}, err
}

// QuoteTariff prices the move of one of the account's services to another plan now, or refuses as that
// would.
func (s *Service) QuoteTariff(ctx context.Context, q db.Querier, accountID, id, planID int64) (Quote, error) {
	r, err := getOwn(ctx, q, accountID, id)
	if err != nil {
		return Quote{}, err
	}
	now, err := s.now(ctx, q, r)
	if err != nil {
		return Quote{}, err
	}
	t, err := s.quoteChange(ctx, q, r, tariffWish{planID: planID}, now)
	return Quote{
		Title: t.offer.PlanName, PlanID: planID, PeriodMonths: r.periodMonths, Price: t.cost, Discount: t.cost - t.charge, Tax: t.toPay - t.charge,
		Credit: t.toGive,
	}, err
}

// Renewing is the condition, in SQL, under which a row of the table services renews by itself; for reports
// of fronts.
const Renewing = renewing

// Statuses are all that a service can be in, in the order of its life.
func Statuses() []Status {
	return []Status{Pending, Provisioning, Active, PastDue, Suspended, Terminating, Terminated, Failed, Cancelled}
}
