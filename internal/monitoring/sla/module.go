package sla

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "sla", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.Closed,
		Subscriptions: []module.Subscription{{Types: []string{"service.provisioned", "service.tariff_changed", "service.restored"}, Follow: s.Follow}},
		Needs:         []any{s.Config, s.Needs},
		Export:        []module.Export{{File: "services/{id}/uptime", Operation: "sla.uptime", Text: "exports.file.services_uptime", Of: "services"}},
	}
}
