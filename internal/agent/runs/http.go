package runs

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/sse"
)

type settingsIn struct {
	Body struct {
		Enabled         bool     `json:"enabled" doc:"Whether the agent may work on your services"`
		Mode            Mode     `json:"mode" enum:"suggest,ask_before_write,autopilot" doc:"What it may do without asking. Deleting, and what can run code or change how the site is served, is asked in every mode"`
		AllowedTools    []string `json:"allowed_tools,omitempty" maxItems:"50" doc:"Names of tools; all without it"`
		AllowedPaths    []string `json:"allowed_paths,omitempty" maxItems:"50" doc:"Folders; /public_html without it"`
		DeniedPaths     []string `json:"denied_paths,omitempty" maxItems:"50"`
		MaxSteps        *int     `json:"max_steps,omitempty" minimum:"1" maximum:"30" default:"30"`
		MonthlyBudget   *int64   `json:"monthly_budget_usd_cents,omitempty" minimum:"0" maximum:"1000000" default:"500"`
		Model           *string  `json:"model,omitempty" maxLength:"64" doc:"One of those that are offered; null: the first of them"`
		Language        *string  `json:"language,omitempty" enum:"uz,ru,en" doc:"In which the agent answers; null: that of the message"`
		NotifyOnInsight bool     `json:"notify_on_insight,omitempty"`
		UndoWhenBroken  *bool    `json:"undo_when_broken,omitempty" default:"true" doc:"A run whose changes break the home page takes them back by itself"`
	}
}

// settings are those of the body; what it leaves out gets its default.
func (in *settingsIn) settings() settings {
	b, set := in.Body, defaults()
	set.enabled, set.mode, set.tools, set.allowed, set.denied = b.Enabled, b.Mode, b.AllowedTools, b.AllowedPaths, b.DeniedPaths
	set.model, set.language, set.notifyOnInsight = b.Model, b.Language, b.NotifyOnInsight
	if b.UndoWhenBroken != nil {
		set.undoWhenBroken = *b.UndoWhenBroken
	}
	if b.MaxSteps != nil {
		set.steps = *b.MaxSteps
	}
	if b.MonthlyBudget != nil {
		set.budget = money.USDCents(*b.MonthlyBudget)
	}
	return set
}

type taskIn struct {
	Service int64  `path:"service" minimum:"1" doc:"Id of the service"`
	Accept  string `header:"Accept" maxLength:"200" doc:"text/event-stream: the events of the run instead of one answer"`
	Body    struct {
		Message        string `json:"message" minLength:"1" maxLength:"8000" doc:"What the agent is to do" example:"Change the opening hours to 9-19"`
		ConversationID *int64 `json:"conversation_id,omitempty" minimum:"1" doc:"Go on with this conversation; a new one without it"`
	}
}

type conversationsIn struct {
	page.Params
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
}

type conversationIn struct {
	Service      int64 `path:"service" minimum:"1" doc:"Id of the service"`
	Conversation int64 `path:"conversation" minimum:"1" doc:"Id of the conversation"`
}

// Operations are this section's part of the specification's section "AI agent" (resources, sections 13 and 14), and what
// belongs to it: questions, the journal and undoing.
func (s *Service) Operations() []api.Route {
	return append(s.ownOperations(),
		// Specification, "AI agent": settings.
		api.Operation[struct{}, settingsWire]{
			ID: "ai.settings", Method: http.MethodGet, Path: "/api/v1/ai/settings", Section: api.AI, Auth: api.Token,
			Description: "Whether the agent is on, what it may do without asking, in which folders, with which tools and model, and what " +
				"it has cost in this calendar month (UTC) of its budget. An account that has chosen nothing has the defaults: the" +
				" agent is off.",
			Scopes: []string{auth.ScopeAIRead}, Summary: "Get how the AI agent may work for you",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*settingsWire, error) {
				return s.settingsOf(ctx, p.AccountID)
			},
		},
		// Specification, "AI agent": change settings; 422 on refusal.
		api.Operation[settingsIn, settingsWire]{
			ID: "ai.set_settings", MovesMoney: true, Method: http.MethodPut, Path: "/api/v1/ai/settings", Section: api.AI, Auth: api.Token,
			Example: `{"enabled": true, "mode": "ask_before_write", "monthly_budget_usd_cents": 500}`,
			Scopes:  []string{auth.ScopeAIWrite}, Summary: "Set how the AI agent may work for you",
			Description: "Replaces all settings: what the body leaves out gets its default. Runs that have begun keep those with which they began.",
			Errors:      []*fault.Def{errModelUnknown, fault.Validation},
			Handle: func(ctx context.Context, p auth.Principal, in *settingsIn) (*settingsWire, error) {
				if err := s.writeSettings(ctx, p.AccountID, in.settings()); err != nil {
					return nil, err
				}
				return s.settingsOf(ctx, p.AccountID)
			},
		},
		// Specification, "AI agent": run the agent over the project; SSE with Accept: text/event-stream.
		api.Operation[taskIn, runWire]{
			ID: "ai.run", MovesMoney: true, Method: http.MethodPost, Path: "/api/v1/services/{service}/ai/run", Section: api.AI, Auth: api.Token,
			Example: `{"message": "Change the opening hours to 9-19"}`,
			Scopes:  []string{auth.ScopeAIWrite}, Summary: "Let the AI agent work on a project",
			Description: "The agent reads and changes files of this service, as the settings allow. At most one dollar, or what is left of the month's budget, is held in the wallet; " +
				"what is not used comes back when the run ends. The answer comes when the run has ended or waits for an approval, after 20 seconds at the latest with the run as it is then. " +
				"With `Accept: text/event-stream` it is the stream of the run's events. To leave stops nothing: cancelling is an operation.",
			Errors: []*fault.Def{
				fault.NotFound, errDisabled, errBudget, errInProgress, errModelUnknown, fault.InsufficientFunds, fault.ServiceNotActive, fault.ServiceSuspended,
				fault.UnsupportedOperation, fault.Validation,
			},
			Document: func(op *huma.Operation) {
				op.Responses["200"].Content[sse.ContentType] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
			},
			Stream: s.serveTask,
		},
		// Specification, "AI agent": conversations, paginated.
		api.Operation[conversationsIn, page.List[conversationWire]]{
			ID: "ai.conversations", Method: http.MethodGet, Path: "/api/v1/services/{service}/ai/conversations", Section: api.AI, Auth: api.Token,
			Description: "Conversations about this service, with their last message. Pass the id as `conversation_id` to go on with one.",
			Scopes:      []string{auth.ScopeAIRead}, Summary: "List conversations with the AI agent, the latest first",
			Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *conversationsIn) (*page.List[conversationWire], error) {
				rows, total, err := s.conversations(ctx, p.AccountID, in.Service, in.Params)
				if err != nil {
					return nil, err
				}
				return page.Map(in.Params, total, rows, wireConversation), nil
			},
		},
		// Specification, "AI agent": messages, tool calls, file changes.
		api.Operation[conversationIn, storyWire]{
			ID: "ai.conversation", Method: http.MethodGet, Path: "/api/v1/services/{service}/ai/conversations/{conversation}", Section: api.AI, Auth: api.Token,
			Description: "Everything that was said and done in it: messages, calls of tools with their results, and the differences of files.",
			Scopes:      []string{auth.ScopeAIRead}, Summary: "Get a conversation with its messages, tool calls and changes of files",
			Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *conversationIn) (*storyWire, error) {
				t, err := s.read(ctx, p.AccountID, in.Service, in.Conversation)
				if err != nil {
					return nil, err
				}
				return wireStory(ctx, t), nil
			},
		},
		// Specification, "AI agent": delete a conversation.
		api.Operation[conversationIn, api.Empty]{
			ID: "ai.delete_conversation", Method: http.MethodDelete, Path: "/api/v1/services/{service}/ai/conversations/{conversation}", Section: api.AI, Auth: api.Token,
			Scopes: []string{auth.ScopeAIWrite}, Summary: "Delete a conversation",
			Description: "What was said is removed. The changes of files stay in their list for 90 days, and can be undone.",
			Errors:      []*fault.Def{fault.NotFound, errInProgress},
			Handle: func(ctx context.Context, p auth.Principal, in *conversationIn) (*api.Empty, error) {
				return nil, s.forget(ctx, p.AccountID, in.Service, in.Conversation)
			},
		},
	)
}

func (s *Service) settingsOf(ctx context.Context, accountID int64) (*settingsWire, error) {
	set, spent, err := s.readSettings(ctx, accountID)
	if err != nil {
		return nil, err
	}
	return s.settingsWire(ctx, set, spent), nil
}
