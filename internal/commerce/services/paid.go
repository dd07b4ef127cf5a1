package services

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
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
	b := Bought{PlanID: r.planID, Location: r.place.location, Sandbox: r.sandbox, Ended: of.Ended()}
	if r.domain != nil {
		b.Domain = *r.domain
	}
	return b, err
}

// PaidTime is a time of a service and what was really paid for it, without tax and add-ons.
type PaidTime struct {
	Start, End time.Time
	Amount     money.USDCents
}

// PaidTimes are those of a service that touch a time.
func (s *Service) PaidTimes(ctx context.Context, q db.Querier, serviceID int64, from, to time.Time) ([]PaidTime, error) {
	periods, err := periodsAfter(ctx, q, serviceID, from)
	var all []PaidTime
	for _, p := range periods {
		if p.starts.Before(to) {
			all = append(all, PaidTime{Start: p.starts, End: p.ends, Amount: p.amount})
		}
	}
	return all, err
}
