package services

import (
	"context"

	"stead.dev/stead/internal/platform/db"
)

// Held is what a customer has: a service of a plan, on a panel.
type Held struct{ Panel, Plan string }

// there is the condition that a service of the live world is neither being bought nor over.
const there = `NOT sandbox AND status IN ('provisioning', 'active', 'past_due', 'suspended')`

// Holders lists the accounts of the live world that have a service on a panel and of a plan, either of which may be empty, behind
// an account in the order of their ids.
func (s *Service) Holders(ctx context.Context, q db.Querier, of Held, after int64, limit int) ([]int64, error) {
	return db.Collect(ctx, q, func(r db.Row) (id int64, err error) {
		err = r.Scan(&id)
		return id, err
	}, `SELECT DISTINCT account_id FROM services WHERE account_id > $1 AND `+there+`
		AND (CAST($2 AS TEXT) = '' OR panel = $2) AND (CAST($3 AS TEXT) = '' OR plan_slug = $3) ORDER BY account_id LIMIT $4`,
		after, of.Panel, of.Plan, limit)
}

// CountHolders counts what Holders lists in all.
func (s *Service) CountHolders(ctx context.Context, q db.Querier, of Held) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(DISTINCT account_id) FROM services WHERE `+there+`
		AND (CAST($1 AS TEXT) = '' OR panel = $1) AND (CAST($2 AS TEXT) = '' OR plan_slug = $2)`, of.Panel, of.Plan).Scan(&n)
	return n, err
}

// HeldBy lists what an account has.
func (s *Service) HeldBy(ctx context.Context, q db.Querier, accountID int64) ([]Held, error) {
	return db.Collect(ctx, q, func(r db.Row) (h Held, err error) {
		err = r.Scan(&h.Panel, &h.Plan)
		return h, err
	}, `SELECT DISTINCT panel, plan_slug FROM services WHERE account_id = $1 AND `+there, accountID)
}
