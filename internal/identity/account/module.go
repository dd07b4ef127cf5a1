package account

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{Name: "account", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Run: s.Run, Needs: []any{s.Config, s.Needs}}
}
