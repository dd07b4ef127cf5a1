package sitedomains

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "sitedomains", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule,
		Subscriptions: []module.Subscription{{Types: []string{"service.*", "site_domain.verification_changed"}, Follow: s.Follow}},
		Needs:         []any{s.Config, s.Needs},
		Export:        []module.Export{{File: "services/{service}/domains", Operation: "hosting.domains.list", Text: "exports.file.services_domains", Of: "services"}},
	}
}
