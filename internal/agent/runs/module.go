package runs

import "stead.dev/stead/internal/platform/module"

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "runs", Routes: s.Operations(), Workers: s.Register, Schedule: s.Schedule, Run: s.Run, OnClose: s.closed,
		Subscriptions: []module.Subscription{
			{Types: []string{"service.suspended", "service.terminated"}, Follow: s.serviceEnds},
			{Types: []string{"insight.created"}, Follow: s.insightFound},
		},
		Needs: []any{s.Config, s.Needs},
		Export: []module.Export{
			{File: "agent", Operation: "ai.settings", Text: "exports.file.agent"},
			{File: "services/{service}/agent/conversations", Operation: "ai.conversations", Text: "exports.file.services_agent_conversations", Of: "services"},
			{File: "services/{service}/agent/conversations/{conversation}", Operation: "ai.conversation", Text: "exports.file.services_agent_conversations_one", Of: "services/{service}/agent/conversations"},
			{File: "services/{service}/agent/changes", Operation: "ai.changes", Text: "exports.file.services_agent_changes", Of: "services"},
			{File: "services/{service}/agent/approvals", Operation: "ai.approvals", Text: "exports.file.services_agent_approvals", Of: "services"},
		},
	}
}
