package templates

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "templates", Routes: s.Operations(), Workers: s.Register, OnClose: s.Closed, Needs: []any{s.Config},
		Export: []module.Export{{File: "services/{service}/template", Operation: "templates.installed", Text: "exports.file.services_template", Of: "services"}},
	}
}
