package services

import (
	"context"

	"stead.dev/stead/internal/platform/db"
)

// Bought is what a service is, for who judges whether it was what was sold.
type Bought struct {
	PlanID   int64
	Domain   string // empty without one
	Location string // where its machine stands; empty when that is not known
	Sandbox  bool
	Ended    bool // it has no account any more and gets none, unless it is restored
}

// Bought tells of one of the account's services.
func (s *Service) Bought(ctx context.Context, q db.Querier, accountID, id int64) (Bought, error) {
	r, err := getOwn(ctx, q, accountID, id)
	if err != nil {
		return Bought{}, err
	}
	of, err := hosted(r, nil)
	b := Bought{PlanID: r.PlanID, Location: r.place.location, Sandbox: r.Sandbox, Ended: of.Ended()}
	if r.Domain != nil {
		b.Domain = *r.Domain
	}
	return b, err
}
