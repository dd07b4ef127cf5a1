package orders

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/money"
)

// Import is a service that another system has sold, as it goes on here.
type Import struct {
	AccountID    int64
	PlanID       int64
	PeriodMonths int
	Domain       string
	AutoRenew    bool
	// Price of a period; nil: that of the catalogue, which must sell the plan for such periods.
	Price *money.USDCents
	From  sale.Takeover
}

// TakeOver makes a service of one that another system has sold, with an order of nothing that is closed: no money moves, nobody is
// told of an order, and the plan need not be on sale. It answers the service's id and what a renewal will cost.
func (s *Service) TakeOver(ctx context.Context, tx *db.Tx, w Import) (serviceID int64, price money.USDCents, err error) {
	domain, err := domainname.ForSite(w.Domain, s.ReservedDomains)
	if err != nil {
		return 0, 0, err
	}
	wanted := wish{accountID: w.AccountID, planID: w.PlanID, months: w.PeriodMonths}
	if w.Price != nil {
		wanted.months = 0
	}
	offer, err := s.offer(ctx, tx, wanted)
	if err != nil {
		return 0, 0, err
	}
	price = offer.Price
	if w.Price != nil {
		price = *w.Price
	}
	now := tx.Now
	o := order{accountID: w.AccountID, kind: "new", status: Completed, createdAt: now, expiresAt: now.Add(payableFor), paidAt: &now, completedAt: &now}
	if o.id, err = insert(ctx, tx, o); err != nil {
		return 0, 0, fmt.Errorf("orders: take over: %w", err)
	}
	serviceID, err = s.Services.TakeOver(ctx, tx, sale.Reservation{
		AccountID: w.AccountID, OrderID: o.id, Type: offer.ProductType, Domain: domain, PlanID: offer.PlanID, PlanSlug: offer.PlanSlug,
		PlanName: offer.PlanName, Limits: offer.Limits, PeriodMonths: w.PeriodMonths, RenewPrice: price, AutoRenew: &w.AutoRenew,
	}, w.From)
	if err != nil {
		return 0, 0, err
	}
	// A plan without stock, or off sale, counts no further service, and has this one all the same.
	if _, err := s.Catalog.Take(ctx, tx, w.AccountID, offer.PlanID, serviceID); err != nil {
		return 0, 0, err
	}
	o.items = []item{{
		kind: "new", status: string(Completed), title: offer.PlanName, planID: &offer.PlanID, domain: &domain, quantity: 1,
		periodMonths: &w.PeriodMonths, serviceID: &serviceID,
	}}
	if err := insertItems(ctx, tx, []order{o}); err != nil {
		return 0, 0, fmt.Errorf("orders: take over: %w", err)
	}
	return serviceID, price, nil
}
