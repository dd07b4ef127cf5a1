package oauth

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "oauth", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Run: s.Run, Needs: []any{s.Config, s.Needs},
		Export: []module.Export{
			{File: "applications", Operation: "apps.list", Text: "exports.file.applications"},
			{File: "connections", Operation: "connections.list", Text: "exports.file.connections"},
		},
	}
}
