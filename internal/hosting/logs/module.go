package logs

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "logs", Routes: s.Operations(), Needs: []any{s.Config},
		NoExport: "logs are read and downloaded by themselves",
	}
}
