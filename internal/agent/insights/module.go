package insights

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "insights", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.closed,
		Subscriptions: []module.Subscription{
			{Types: []string{"service.provisioned", "service.restored"}, Follow: s.Provisioned},
			{Types: []string{"service.terminated"}, Follow: s.Terminated},
			{Types: []string{"ai.run_completed"}, Follow: s.Worked},
		},
		Needs:  []any{s.Config, s.Needs},
		Export: []module.Export{{File: "services/{service}/insights", Operation: "insights.list", Text: "exports.file.services_insights", Of: "services"}},
	}
}
