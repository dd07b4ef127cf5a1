package monitors

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "monitors", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Run: s.Run, OnClose: s.closed,
		Subscriptions: []module.Subscription{{Types: []string{"service.*"}, Follow: s.Follow}},
		Needs:         []any{s.Config, s.Needs},
		Export: []module.Export{
			{File: "monitors", Operation: "monitors.list", Text: "exports.file.monitors", Omit: []string{"push_url", "badge_url", "headers", "body"}},
			{File: "alert-channels", Operation: "alert_channels.list", Text: "exports.file.alert_channels"},
		},
	}
}
