package coupons

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "coupons", Needs: []any{s.Config},
		NoExport: "orders say what a coupon took off",
	}
}
