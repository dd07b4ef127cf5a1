package audit

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "audit", Routes: s.Operations(), Needs: []any{s.Config},
		NoExport: "what staff have done stands in it; owners see who signed in for them in the security log",
	}
}
