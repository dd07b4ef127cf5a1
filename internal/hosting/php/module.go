package php

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{Name: "php", Routes: s.Operations(), Workers: s.Register, Needs: []any{s.Config}}
}
