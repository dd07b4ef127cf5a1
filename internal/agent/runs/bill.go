package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
)

// Books write invoices.
type Books interface {
	// Usage makes the invoice of what an account has used and paid.
	Usage(ctx context.Context, tx *db.Tx, u sale.Usage) error
}

// mostBilled is how many accounts one job bills; the next one goes on.
const mostBilled = 200

// bill makes the invoices of the runs of calendar months (UTC) that are over. An account has one invoice for them, with a line
// for each month and service.
func (s *Service) bill(ctx context.Context) error {
	before := monthOf(s.Clock.Now())
	accounts, err := unbilledAccounts(ctx, s.DB, before, mostBilled)
	for _, id := range accounts {
		err = errors.Join(err, s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.billAccount(ctx, tx, id, before) }))
	}
	return err
}

// billAccount makes the invoice of an account's runs that ended before a time and have no invoice yet.
func (s *Service) billAccount(ctx context.Context, tx *db.Tx, accountID int64, before time.Time) error {
	paid, err := takeUnbilled(ctx, tx, accountID, before)
	if err != nil || len(paid) == 0 {
		return err
	}
	type part struct {
		month     string
		serviceID int64
	}
	at := map[part]int{}
	u := sale.Usage{AccountID: accountID}
	for _, p := range paid {
		k := part{p.finishedAt.UTC().Format("2006-01"), p.serviceID}
		n, known := at[k]
		if !known {
			name, err := s.Names.Domain(ctx, tx, accountID, p.serviceID)
			if err != nil {
				return fmt.Errorf("runs: name of service %d: %w", p.serviceID, err)
			}
			n = len(u.Lines)
			at[k] = n
			u.Lines = append(u.Lines, sale.UsageLine{Kind: sale.KindAIUsage, Title: k.month, Domain: name})
		}
		u.Lines[n].Amount += p.charged
	}
	return s.Books.Usage(ctx, tx, u)
}

// Names tells the names of services.
type Names interface {
	// Domain is the name of one of the account's services, also of one that is over; empty without one.
	Domain(ctx context.Context, q db.Querier, accountID, serviceID int64) (string, error)
}

// paidRun is what a run has cost.
type paidRun struct {
	serviceID  int64
	charged    money.USDCents
	finishedAt time.Time
}

func unbilledAccounts(ctx context.Context, q db.Querier, before time.Time, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) },
		`SELECT DISTINCT account_id FROM ai_runs WHERE NOT billed AND charged > 0 AND finished_at < $1 ORDER BY account_id LIMIT $2`, before, limit)
}

// takeUnbilled marks the runs of an account that ended before a time as billed, and answers those that were not, the oldest first.
func takeUnbilled(ctx context.Context, tx *db.Tx, accountID int64, before time.Time) ([]paidRun, error) {
	paid, err := db.Collect(ctx, tx, func(row db.Row) (p paidRun, err error) { return p, row.Scan(&p.serviceID, &p.charged, &p.finishedAt) },
		`UPDATE ai_runs SET billed = TRUE WHERE account_id = $1 AND NOT billed AND charged > 0 AND finished_at < $2
		RETURNING service_id, charged, finished_at`, accountID, before)
	slices.SortStableFunc(paid, func(a, b paidRun) int { return a.finishedAt.Compare(b.finishedAt) })
	return paid, err
}
