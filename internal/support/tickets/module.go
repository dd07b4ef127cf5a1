package tickets

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "tickets", Routes: s.Operations(), Workers: s.Register, OnClose: s.Closed, Needs: []any{s.Config},
		Export: []module.Export{
			{File: "tickets", Operation: "tickets.list", Text: "exports.file.tickets"},
			{File: "tickets/{ticket}", Operation: "tickets.get", Text: "exports.file.tickets_one", Of: "tickets"},
			{File: "tickets/{ticket}/{attachment}", Operation: "tickets.attachment", Text: "exports.file.tickets_one_one", Of: "tickets/{ticket}", Rows: "messages.attachments", Raw: true},
		},
	}
}
