package assistant

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "assistant", Routes: s.Operations(), OnClose: s.closed, Needs: []any{s.Needs},
		Export: []module.Export{{File: "assistant", Operation: "assistant.show", Text: "exports.file.assistant"}},
	}
}
