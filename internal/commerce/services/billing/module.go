package billing

import "stead.dev/stead/internal/platform/module"

// Module is what the package adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "billing", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Needs: []any{s.Config, s.Needs},
		NoExport: "what was paid is in the archive's orders and invoices",
	}
}
