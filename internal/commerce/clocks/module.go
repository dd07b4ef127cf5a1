package clocks

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "clocks", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Needs: []any{s.Config, s.Needs},
		NoExport: "a test clock belongs to a sandbox, whose things are play",
	}
}
