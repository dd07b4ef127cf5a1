package claims

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "claims", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule,
		Subscriptions: []module.Subscription{{
			Types: []string{"service.terminated", "service.provision_failed", "site_domain.removed"}, Follow: s.Follow,
		}},
		Needs:  []any{s.Config, s.Needs},
		Export: []module.Export{{File: "domain-claims", Operation: "claims.list", Text: "exports.file.domain_claims"}},
	}
}
