package invoices

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "invoices", Routes: append(s.Operations(), s.staffTaxes()...), Run: s.Run, OnClose: s.Forget,
		Subscriptions: []module.Subscription{{Types: []string{"wallet.topup_succeeded", "wallet.topup_reversed"}, Follow: s.Follow}},
		Needs:         []any{s.Config, s.Needs},
		Export: []module.Export{
			{File: "billing", Operation: "account.billing", Text: "exports.file.billing"},
			{File: "invoices", Operation: "invoices.list", Text: "exports.file.invoices"},
		},
	}
}
