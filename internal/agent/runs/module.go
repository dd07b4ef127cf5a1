package runs

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "runs", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Run: s.Run, OnClose: s.closed,
		Subscriptions: []module.Subscription{
			{Types: []string{"service.suspended", "service.terminated"}, Follow: s.serviceEnds},
			{Types: []string{"insight.created"}, Follow: s.insightFound},
		},
		Needs: []any{s.Config, s.Needs},
	}
}
