package scans

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "scans", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.closed,
		Subscriptions: []module.Subscription{{Types: []string{"service.provisioned", "service.restored", "service.terminated"}, Follow: s.Follow}},
		Needs:         []any{s.Config, s.Needs},
		Export:        []module.Export{{File: "scans", Operation: "scans.list", Text: "exports.file.scans"}},
	}
}
