package app

import (
	"context"

	"stead.dev/stead/internal/addons"
	"stead.dev/stead/internal/catalog"
	"stead.dev/stead/internal/orders"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/services"
)

// buildAddons makes the section and plugs it into the services, which come before it.
func (c *core) buildAddons() {
	c.addons = addons.New(addons.Config{
		DB: c.db, Clock: c.clock, Catalog: extras{c.catalog}, Services: extended{c.services}, Orders: addonOrders{c.orders}, Events: c.outbox,
	})
	c.services.SetAddons(renewedAddons{c.addons})
}

// extras are the add-ons of the catalog as their section sees them.
type extras struct{ *catalog.Service }

func productOf(a catalog.Addon) addons.Product {
	p := addons.Product{
		Key: a.Key, Name: a.Name, Description: a.Description, Raises: a.Raises, MaxQuantity: a.MaxQuantity, Manual: a.Manual, OnSale: a.OnSale,
	}
	for _, x := range a.Prices {
		p.Prices = append(p.Prices, addons.Price(x))
	}
	return p
}

// Addons implements addons.Catalog.
func (e extras) Addons(ctx context.Context, q db.Querier) ([]addons.Product, error) {
	found, err := e.Service.Addons(ctx, q)
	all := make([]addons.Product, len(found))
	for i, a := range found {
		all[i] = productOf(a)
	}
	return all, err
}

// Addon implements addons.Catalog.
func (e extras) Addon(ctx context.Context, q db.Querier, key string) (addons.Product, bool, error) {
	a, ok, err := e.Service.Addon(ctx, q, key)
	return productOf(a), ok, err
}

// extended are the services as their add-ons see them.
type extended struct{ *services.Service }

func contractOf(c services.Contract, err error) (addons.Contract, error) {
	return addons.Contract{
		Status: string(c.Status), PlanID: c.PlanID, PeriodMonths: c.PeriodMonths, ExpiresAt: c.ExpiresAt, Domain: c.Domain, ClientRef: c.ClientRef,
	}, err
}

// Contract implements addons.Services.
func (e extended) Contract(ctx context.Context, q db.Querier, accountID, serviceID int64) (addons.Contract, error) {
	return contractOf(e.Service.Contract(ctx, q, accountID, serviceID))
}

// LockContract implements addons.Services.
func (e extended) LockContract(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (addons.Contract, error) {
	return contractOf(e.Service.LockContract(ctx, tx, accountID, serviceID))
}

// addonOrders are the orders as add-ons see them.
type addonOrders struct{ *orders.Service }

// Begin implements addons.Orders.
func (o addonOrders) Begin(ctx context.Context, tx *db.Tx, p addons.Purchase) (int64, error) {
	domain := ""
	if p.Domain != nil {
		domain = *p.Domain
	}
	return o.Service.Begin(ctx, tx, orders.Purchase{
		AccountID: p.AccountID, Kind: "addon", Title: p.Title, Domain: domain, ServiceID: p.ServiceID, PeriodMonths: p.PeriodMonths,
		Quantity: p.Quantity, Price: p.Price, Keyed: p.Keyed, ClientRef: p.ClientRef,
	})
}

// renewedAddons are the add-ons as the services see them.
type renewedAddons struct{ *addons.Service }

// Renewal implements services.Addons.
func (r renewedAddons) Renewal(ctx context.Context, q db.Querier, accountID, serviceID int64, months int, own bool) ([]services.Extra, error) {
	lines, err := r.Service.Renewal(ctx, q, accountID, serviceID, months, own)
	all := make([]services.Extra, len(lines))
	for i, l := range lines {
		all[i] = services.Extra(l)
	}
	return all, err
}
