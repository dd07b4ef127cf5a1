package devices

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "devices", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Needs: []any{s.Config},
		Export: []module.Export{{File: "devices", Operation: "account.devices.list", Text: "exports.file.devices"}},
	}
}
