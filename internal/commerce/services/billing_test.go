package services_test

import (
	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/commerce/services/billing"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/commerce/services/servicestest"
)

func init() {
	services.NewSold = func(s *services.Service, w *servicestest.World, p *provisioning.Service) services.Sold {
		b := billing.New(billing.Config{DB: w.DB, Clock: w.Clk, Services: s})
		b.Connect(billing.Needs{
			Orders: w, Plans: servicestest.Plans{}, Addons: services.NoAddons{}, Balances: servicestest.Balances{1: 500}, Rates: sale.Retail{},
			Taxes: sale.Untaxed{}, Usages: &w.Used, Provisioner: p,
		})
		return b
	}
}
