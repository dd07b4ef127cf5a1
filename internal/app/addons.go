package app

import (
	"context"

	"stead.dev/stead/internal/commerce/addons"
	"stead.dev/stead/internal/commerce/catalog"
	"stead.dev/stead/internal/platform/db"
)

// extras adapts the catalog to what the section of add-ons needs.
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
