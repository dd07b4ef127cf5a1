package exports

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "exports", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.Closed, Needs: []any{s.Config, s.Needs},
		NoExport: "an archive is not in itself",
	}
}
