package webhooks

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "webhooks", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.closed,
		Subscriptions: []module.Subscription{{Types: []string{"*"}, Follow: s.Follow}},
		Needs:         []any{s.Config},
		Export:        []module.Export{{File: "reseller/webhooks", Operation: "reseller.webhooks.list", Text: "exports.file.reseller_webhooks"}},
	}
}
