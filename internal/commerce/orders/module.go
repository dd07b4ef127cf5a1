package orders

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "orders", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Needs: []any{s.Config, s.Needs},
		Export: []module.Export{{File: "orders", Operation: "orders.list", Text: "exports.file.orders"}},
	}
}
