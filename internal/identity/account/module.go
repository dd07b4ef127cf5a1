package account

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "account", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Run: s.Run, Needs: []any{s.Config, s.Needs},
		Export: []module.Export{
			{File: "profile", Operation: "account.get", Text: "exports.file.profile"},
			{File: "security", Operation: "account.security", Text: "exports.file.security"},
			{File: "security-log", Operation: "account.security_log", Text: "exports.file.security_log"},
			{File: "sessions", Operation: "account.sessions", Text: "exports.file.sessions"},
		},
	}
}
