package catalog

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "catalog", Routes: s.Operations(), Needs: []any{s.Config, s.Needs},
		NoExport: "prices are everybody's",
	}
}
