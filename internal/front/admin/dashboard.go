package admin

import (
	"context"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Dashboard is how the company is doing: what it sold, what is ahead, and what is stuck.
type Dashboard struct {
	// Sales are those of the last 30 days, by day of UTC, the oldest first.
	Sales          []DayOfSales   `json:"sales"`
	Recurring      money.USDCents `json:"recurring_usd_cents_a_month" doc:"What the services that are served cost their customers a month, add-ons included."`
	Active         int64          `json:"active_services"`
	Ended          int64          `json:"ended_services_30d"`
	ChurnPercent   float64        `json:"churn_percent_30d" doc:"Services that ended in 30 days, of those that were served at their beginning."`
	Customers      int64          `json:"customers"`
	NewCustomers   int64          `json:"new_customers_30d"`
	Wallets        money.USDCents `json:"wallets_usd_cents" doc:"What all customers can spend."`
	Renewals       []DayRenewals  `json:"renewals" doc:"Of the next 14 days."`
	NeedsAttention []Attention    `json:"needs_attention" doc:"What is stuck or waits for staff; nothing with a count of 0."`
}

// DayOfSales is what was sold on a day.
type DayOfSales struct {
	Day      string         `json:"day" format:"date"`
	Orders   int64          `json:"orders"`
	Sold     money.USDCents `json:"sold_usd_cents"`
	Refunded money.USDCents `json:"refunded_usd_cents"`
}

// DayRenewals is what renews on a day, with the tax that is added.
type DayRenewals struct {
	Day       string         `json:"day" format:"date"`
	Services  int64          `json:"services"`
	Amount    money.USDCents `json:"amount_usd_cents"`
	Uncovered int64          `json:"uncovered" doc:"Services whose customer cannot pay that one renewal now."`
}

const day = 24 * time.Hour

// Dashboard reads how the company is doing.
func (a *Admin) Dashboard(ctx context.Context) (d Dashboard, err error) {
	now := a.Clock.Now().UTC()
	if d.Sales, err = a.sales(ctx, now); err != nil {
		return d, err
	}
	if err := a.totals(ctx, now, &d); err != nil {
		return d, err
	}
	if before := d.Active + d.Ended; before > 0 {
		d.ChurnPercent = float64(d.Ended*10_000/before) / 100
	}
	if d.Renewals, err = a.renewals(ctx, now); err != nil {
		return d, err
	}
	d.NeedsAttention, err = a.attention(ctx, now)
	return d, err
}

func (a *Admin) sales(ctx context.Context, now time.Time) ([]DayOfSales, error) {
	const days = 30
	first := now.Truncate(day).Add(-(days - 1) * day)
	all := make([]DayOfSales, days)
	for i := range all {
		all[i].Day = first.Add(time.Duration(i) * day).Format(time.DateOnly)
	}
	type row struct {
		at              time.Time
		total, refunded money.USDCents
		n               int64
	}
	const perDay = `86400000000`
	found, err := db.Collect(ctx, a.DB, func(r db.Row) (x row, err error) {
		err = r.Scan(&x.at, &x.n, &x.total, &x.refunded)
		return x, err
	}, `SELECT (o.paid_at / `+perDay+`) * `+perDay+` AS paid_on, COUNT(*), CAST(SUM(o.total) AS BIGINT), CAST(SUM(o.refunded) AS BIGINT)
		FROM orders o JOIN account_users u ON u.id = o.account_id
		WHERE u.sandbox_of IS NULL AND o.paid_at >= $1 AND o.status IN ('paid', 'processing', 'completed') GROUP BY 1`, first)
	for _, x := range found {
		if i := int(x.at.Sub(first) / day); i >= 0 && i < days {
			all[i].Orders, all[i].Sold, all[i].Refunded = x.n, x.total, x.refunded
		}
	}
	return all, err
}

func (a *Admin) totals(ctx context.Context, now time.Time, d *Dashboard) error {
	return a.DB.QueryRow(ctx, `SELECT
		(SELECT CAST(COALESCE(SUM(renew_price / period_months), 0) AS BIGINT) FROM services WHERE NOT sandbox AND status IN ('active', 'past_due')),
		(SELECT COUNT(*) FROM services WHERE NOT sandbox AND status IN ('active', 'past_due')),
		(SELECT COUNT(*) FROM services s WHERE NOT s.sandbox AND s.status IN ('terminating', 'terminated')
			AND EXISTS (SELECT 1 FROM services_history h WHERE h.service_id = s.id AND h.status IN ('terminating', 'terminated') AND h.created_at > $1)),
		(SELECT COUNT(*) FROM account_users WHERE sandbox_of IS NULL AND role = '' AND closed_at IS NULL),
		(SELECT COUNT(*) FROM account_users WHERE sandbox_of IS NULL AND role = '' AND closed_at IS NULL AND created_at > $1),
		(SELECT CAST(COALESCE(SUM(balance), 0) AS BIGINT) FROM wallet_ledger_accounts WHERE kind = 'customer' AND owner_id NOT IN (SELECT account_id FROM wallet_sandboxes))`, now.Add(-30*day)).
		Scan(&d.Recurring, &d.Active, &d.Ended, &d.Customers, &d.NewCustomers, &d.Wallets)
}

func (a *Admin) renewals(ctx context.Context, now time.Time) ([]DayRenewals, error) {
	const days = 14
	first := now.Truncate(day)
	all := make([]DayRenewals, days)
	for i := range all {
		all[i].Day = first.Add(time.Duration(i) * day).Format(time.DateOnly)
	}
	type row struct {
		accountID      int64
		at             time.Time
		price, balance money.USDCents
	}
	found, err := db.Collect(ctx, a.DB, func(r db.Row) (x row, err error) {
		err = r.Scan(&x.accountID, &x.at, &x.price, &x.balance)
		return x, err
	}, `SELECT account_id, expires_at, `+services.NextPrice+`,
			COALESCE((SELECT balance FROM wallet_ledger_accounts w WHERE w.owner_id = services.account_id AND w.kind = 'customer'), 0)
		FROM services WHERE NOT sandbox AND `+services.Renewing+` AND expires_at >= $1 AND expires_at < $2`, first, first.Add(days*day))
	if err != nil {
		return nil, err
	}
	accounts := make([]int64, len(found))
	for i, x := range found {
		accounts[i] = x.accountID
	}
	slices.Sort(accounts)
	taxes, err := a.Taxes.Taxes(ctx, a.DB, slices.Compact(accounts))
	if err != nil {
		return nil, err
	}
	for _, x := range found {
		added, _, err := money.Tax{BasisPoints: taxes[x.accountID].AddedBasisPoints()}.Of(x.price)
		if err != nil {
			return nil, err
		}
		i := int(x.at.Sub(first) / day)
		all[i].Services++
		all[i].Amount += x.price + added
		if x.price+added > x.balance {
			all[i].Uncovered++
		}
	}
	return all, nil
}
