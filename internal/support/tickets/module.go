package tickets

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{Name: "tickets", Routes: s.Operations(), Workers: s.Register, OnClose: s.Closed, Needs: []any{s.Config}}
}
