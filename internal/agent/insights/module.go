package insights

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "insights", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.closed,
		Subscriptions: []module.Subscription{{Types: []string{"service.terminated"}, Follow: s.Follow}},
		Needs:         []any{s.Config, s.Needs},
	}
}
