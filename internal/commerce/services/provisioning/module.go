package provisioning

import "stead.dev/stead/internal/platform/module"

// Module is what the package adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "provisioning", Workers: s.Register, Schedule: s.Schedule, Needs: []any{s.Config, s.Needs},
		NoExport: "it has no table",
	}
}
