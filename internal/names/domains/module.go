package domains

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "domains", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.Closed, Obstacles: s.obstacles, Needs: []any{s.Config, s.Needs},
		Export: []module.Export{{File: "domains", Operation: "domains.list", Text: "exports.file.domains"}},
	}
}
