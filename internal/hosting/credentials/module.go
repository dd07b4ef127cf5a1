package credentials

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "credentials", Routes: s.Operations(), Needs: []any{s.Config, s.Needs},
		NoExport: "passwords are in no archive",
	}
}
