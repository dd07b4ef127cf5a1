package notifications

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "notifications", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.closed,
		Subscriptions: []module.Subscription{{Types: EventTypes(), Follow: s.Follow}},
		Needs:         []any{s.Config, s.Needs},
		Export: []module.Export{
			{File: "notifications", Operation: "notifications.list", Text: "exports.file.notifications"},
			{File: "notification_preferences", Operation: "notifications.preferences", Text: "exports.file.notification_preferences"},
		},
	}
}
