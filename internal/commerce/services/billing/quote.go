package billing

import (
	"context"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

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
	r, err := s.Services.Find(ctx, q, accountID, id)
	if err != nil {
		return Quote{}, err
	}
	now, err := s.Services.TimeOf(ctx, q, r)
	if err != nil {
		return Quote{}, err
	}
	w, err := s.quoteRenewal(ctx, q, r, months, now)
	return Quote{Title: w.planName, PlanID: w.planID, PeriodMonths: w.months, Price: w.price, Tax: w.total - w.price}, err
}

// QuoteTariff prices the move of one of the account's services to another plan now, or refuses as that
// would.
func (s *Service) QuoteTariff(ctx context.Context, q db.Querier, accountID, id, planID int64) (Quote, error) {
	r, err := s.Services.Find(ctx, q, accountID, id)
	if err != nil {
		return Quote{}, err
	}
	now, err := s.Services.TimeOf(ctx, q, r)
	if err != nil {
		return Quote{}, err
	}
	t, err := s.quoteChange(ctx, q, r, tariffWish{planID: planID}, now)
	return Quote{
		Title: t.offer.PlanName, PlanID: planID, PeriodMonths: r.PeriodMonths, Price: t.cost, Discount: t.cost - t.charge, Tax: t.toPay - t.charge,
		Credit: t.toGive,
	}, err
}

// DueRenewals is what the automatic renewals of an account's services cost that are
// due within so many days of its time.
func (s *Service) DueRenewals(ctx context.Context, q db.Querier, accountID int64, within int) (money.USDCents, error) {
	tax, err := s.added(ctx, q, accountID)
	if err != nil {
		return 0, err
	}
	now, err := s.Services.Now(ctx, q, accountID)
	if err != nil {
		return 0, err
	}
	return dueRenewals(ctx, q, accountID, now.AddDate(0, 0, within), tax.BasisPoints)
}

// dueRenewals sums what the automatic renewals of an account's services cost that
// are due by the given time.
func dueRenewals(ctx context.Context, q db.Querier, accountID int64, by time.Time, added int) (sum money.USDCents, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(`+RenewalCost(3)+`), 0) AS BIGINT) FROM services
		WHERE account_id = $1 AND expires_at <= $2 AND `+services.Renewing, accountID, by, added).Scan(&sum)
	return sum, err
}
