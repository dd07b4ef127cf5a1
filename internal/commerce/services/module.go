package services

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "services", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.Closed, Obstacles: s.obstacles,
		Subscriptions: []module.Subscription{{Types: []string{"wallet.topup_succeeded", "wallet.adjusted", "wallet.sla_credited", "order.refunded"}, Follow: s.Paid}},
		Needs:         []any{s.Config, s.Needs},
		Export:        []module.Export{{File: "services", Operation: "services.list", Text: "exports.file.services"}},
	}
}
