package reviews

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "reviews", Routes: s.Operations(), OnClose: s.Closed, Needs: []any{s.Config},
		Export: []module.Export{{File: "review", Operation: "reviews.own", Text: "exports.file.review"}},
	}
}
