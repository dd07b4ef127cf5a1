package reseller

import "stead.dev/stead/internal/platform/module"

// Module is what the front adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{Name: "reseller", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Needs: []any{s.Config}}
}
