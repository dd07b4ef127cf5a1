package loyalty

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "loyalty", Routes: s.Operations(),
		Subscriptions: []module.Subscription{{Types: []string{"order.completed", "order.refunded"}, Follow: s.Follow}},
		Needs:         []any{s.Config},
		Export: []module.Export{
			{File: "loyalty", Operation: "loyalty.get", Text: "exports.file.loyalty"},
			{File: "referral", Operation: "loyalty.referral", Text: "exports.file.referral"},
		},
	}
}
