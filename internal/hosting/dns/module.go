package dns

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "dns", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule,
		Subscriptions: []module.Subscription{{Types: []string{"service.*", "site_domain.*"}, Follow: s.Follow}},
		Needs:         []any{s.Config},
		Export:        []module.Export{{File: "services/{service}/dns", Operation: "dns.list", Text: "exports.file.services_dns", Of: "services"}},
	}
}
