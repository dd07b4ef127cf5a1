package wallet

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "wallet", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.Closed, Obstacles: s.obstacles, Needs: []any{s.Config, s.Needs},
		Export: []module.Export{
			{File: "wallet", Operation: "wallet.get", Text: "exports.file.wallet", Omit: []string{"transactions", "meta"}},
			{File: "wallet/transactions", Operation: "wallet.transactions", Text: "exports.file.wallet_transactions"},
			{File: "wallet/methods", Operation: "wallet.methods", Text: "exports.file.wallet_methods"},
		},
	}
}
