package articles

import (
	"context"

	"stead.dev/stead/internal/platform/module"
)

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "articles", Routes: s.Operations(), Run: s.Run, Needs: []any{s.Config},
		NoExport: "articles are the company's",
	}
}

// Run brings the library in when a server starts. What prevents it is logged, and the next start tries again: nothing
// but the texts depends on it.
func (s *Service) Run(ctx context.Context) {
	if !s.Bring {
		return
	}
	if err := s.BringLibrary(ctx); err != nil && ctx.Err() == nil {
		s.Log.ErrorContext(ctx, "the library of articles was not brought in", "error", err)
	}
}
