package catalog

import (
	"context"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/outbox"
)

// priceChange is another price of a plan for a period that it was sold for before.
type priceChange struct {
	planID   int64
	months   int
	was, now money.USDCents
}

// changedPrices compares the prices of a plan. A period that is new, or no longer sold, is no change of a price.
func changedPrices(planID int64, was, now []price) (all []priceChange) {
	for _, n := range now {
		for _, w := range was {
			if w.PeriodMonths == n.PeriodMonths && w.Price != n.Price {
				all = append(all, priceChange{planID, n.PeriodMonths, w.Price, n.Price})
			}
		}
	}
	return all
}

// The data of catalog.price_changed (resources, section 25).
type (
	priceObject struct {
		PlanID       int64       `json:"plan_id"`
		PeriodMonths int         `json:"period_months"`
		Price        money.Money `json:"price"`
	}
	formerPrice struct {
		Price money.Money `json:"price"`
	}
)

// tell emits an event for each change to everybody who gets events: each account has its own.
func (s *Service) tell(ctx context.Context, tx *db.Tx, changes []priceChange) error {
	if len(changes) == 0 {
		return nil
	}
	accounts, err := s.Audience.Audience(ctx, tx)
	if err != nil {
		return err
	}
	dollars := func(c money.USDCents) money.Money { return money.DollarsOnly().Money(c, money.USD) }
	for _, c := range changes {
		for _, id := range accounts {
			err := s.Events.Emit(ctx, tx, outbox.Event{
				Type: "catalog.price_changed", AccountID: id, Subject: "plan", SubjectID: c.planID,
				Data: priceObject{c.planID, c.months, dollars(c.now)}, Previous: formerPrice{dollars(c.was)},
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
