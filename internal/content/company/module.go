package company

import (
	"slices"

	"stead.dev/stead/internal/platform/module"
)

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{Name: "company", Routes: slices.Concat(s.staff(), s.mails()), Needs: []any{s.Needs}, NoExport: "how the company shows itself"}
}
