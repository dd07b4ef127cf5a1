package mail

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "mail", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule,
		Subscriptions: []module.Subscription{{Types: []string{"site_domain.*"}, Follow: s.Follow}},
		Needs:         []any{s.Config},
		Export:        []module.Export{{File: "services/{service}/mailboxes", Operation: "mail.mailboxes.list", Text: "exports.file.services_mailboxes", Of: "services"}},
	}
}
