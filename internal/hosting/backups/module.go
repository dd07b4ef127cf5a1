package backups

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "backups", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Needs: []any{s.Config, s.Needs},
		Export: []module.Export{{File: "services/{service}/backups", Operation: "backups.list", Text: "exports.file.services_backups", Of: "services"}},
	}
}
