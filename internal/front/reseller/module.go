package reseller

import "stead.dev/stead/internal/platform/module"

// Module is what the front adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "reseller", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, OnClose: s.eraseBrand, Needs: []any{s.Config},
		Export: []module.Export{
			{File: "reseller/keys", Operation: "reseller.keys.list", Text: "exports.file.reseller_keys"},
			{File: "reseller/brand", Operation: "reseller.brand.get", Text: "exports.file.reseller_brand"},
			{File: "reseller/brand/{picture}", Operation: "reseller.brand.picture", Text: "exports.file.reseller_brand_one", Of: "reseller/brand", Rows: "pictures", Raw: true},
			{File: "reseller/audit-log", Operation: "reseller.audit_log", Text: "exports.file.reseller_audit_log"},
		},
	}
}
