package runs

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// settingsWire are the settings of the agent (resources, section 13).
type settingsWire struct {
	Enabled         bool        `json:"enabled"`
	Mode            Mode        `json:"mode" enum:"suggest,ask_before_write,autopilot"`
	AllowedTools    []string    `json:"allowed_tools" doc:"Empty: all"`
	Tools           []string    `json:"tools" doc:"All that there are"`
	AllowedPaths    []string    `json:"allowed_paths" doc:"Folders in which the agent may read and write"`
	DeniedPaths     []string    `json:"denied_paths" doc:"What it may not touch in these"`
	MaxSteps        int         `json:"max_steps" doc:"Answers of the model in a run"`
	MonthlyBudget   money.Money `json:"monthly_budget"`
	SpentThisMonth  money.Money `json:"spent_this_month" doc:"Of the calendar month in UTC, with what is held for runs that are open"`
	Model           *string     `json:"model" doc:"null: the first that is offered"`
	Models          []string    `json:"models" doc:"Those that are offered; the first is the default"`
	Language        *string     `json:"language" enum:"uz,ru,en" doc:"In which the agent answers; null: that of the message"`
	NotifyOnInsight bool        `json:"notify_on_insight"`
	UndoWhenBroken  bool        `json:"undo_when_broken" doc:"Whether a run whose changes break the home page takes them back by itself"`
}

func (s *Service) settingsWire(ctx context.Context, set settings, spent money.USDCents) *settingsWire {
	w := &settingsWire{
		Enabled: set.enabled, Mode: set.mode, AllowedTools: list(set.tools), Tools: toolNames(), AllowedPaths: list(set.allowed),
		DeniedPaths: list(set.denied), MaxSteps: set.steps, MonthlyBudget: money.Wire(ctx, set.budget),
		SpentThisMonth: money.Wire(ctx, spent), Model: set.model, Models: []string{}, Language: set.language,
		NotifyOnInsight: set.notifyOnInsight, UndoWhenBroken: set.undoWhenBroken,
	}
	for _, m := range s.Models.Models() {
		w.Models = append(w.Models, m.Name)
	}
	return w
}

func list(all []string) []string { return append([]string{}, all...) }

// runWire is a run of the agent.
type runWire struct {
	ID             int64        `json:"id"`
	ServiceID      int64        `json:"service_id"`
	ConversationID *int64       `json:"conversation_id" doc:"null for an undo, and when the conversation was deleted"`
	Kind           Kind         `json:"kind" enum:"agent,undo"`
	Status         Status       `json:"status" enum:"queued,running,waiting_approval,completed,failed,cancelled"`
	EndReason      *Reason      `json:"end_reason" enum:"done,cancelled,step_limit,size_limit,time_limit,budget,loop_detected,model_failed,model_garbage,interrupted,approval_expired,service_changed,site_broken"`
	Message        string       `json:"message" doc:"The model's last answer"`
	Model          string       `json:"model"`
	Steps          int          `json:"steps" doc:"Answers of the model"`
	Changes        []changeWire `json:"changes" doc:"What it changed, at most 50 of it; each can be undone"`
	Usage          usageWire    `json:"usage"`
	Held           money.Money  `json:"held" doc:"Set aside in the wallet; what is not used comes back when the run ends"`
	CreatedAt      time.Time    `json:"created_at"`
	FinishedAt     *time.Time   `json:"finished_at"`
}

type usageWire struct {
	InputTokens  int64       `json:"input_tokens"`
	OutputTokens int64       `json:"output_tokens"`
	Cost         money.Money `json:"cost"`
}

// show reads what belongs to a run.
func (s *Service) show(ctx context.Context, r run) (*runWire, error) {
	w := &runWire{
		ID: r.id, ServiceID: r.serviceID, ConversationID: r.conversationID, Kind: r.kind, Status: r.status, EndReason: r.reason, Model: r.terms.Model,
		Steps: r.steps, Usage: usageWire{r.inputTokens, r.outputTokens, money.Wire(ctx, r.charge())}, Held: money.Wire(ctx, r.held),
		Changes: []changeWire{}, CreatedAt: r.createdAt, FinishedAt: r.finishedAt,
	}
	changes, err := changesOf(ctx, s.DB, r.id)
	if err != nil {
		return nil, err
	}
	for _, c := range changes[:min(len(changes), mostFiles)] {
		w.Changes = append(w.Changes, wireChange(c))
	}
	if r.conversationID != nil {
		if m, err := lastAnswer(ctx, s.DB, *r.conversationID, r.id); err == nil {
			w.Message = m.content
		}
	}
	return w, nil
}

// changeWire is a change of a file that the agent made.
type changeWire struct {
	ID        int64        `json:"id"`
	RunID     int64        `json:"run_id"`
	Path      string       `json:"path"`
	ToPath    *string      `json:"to_path" doc:"Of a move"`
	Action    changeKind   `json:"action" enum:"create,edit,replace,move,delete,mkdir,rmdir,extract,php"`
	Diff      string       `json:"diff" doc:"For people; secrets are masked. It comes from the model and the site: show it as plain text"`
	Status    changeStatus `json:"status" enum:"prepared,applied,failed,conflict,undone"`
	UndoOf    *int64       `json:"undo_of" doc:"The change that this one took back"`
	CreatedAt time.Time    `json:"created_at"`
}

func wireChange(c change) changeWire {
	w := changeWire{ID: c.id, RunID: c.runID, Path: c.path, Action: c.kind, Diff: c.diff, Status: c.status, UndoOf: c.undoOf, CreatedAt: c.createdAt}
	if c.kind == move {
		w.ToPath = &c.toPath
	}
	if inside(w.Path, trash) { // an undo brings it back from there: only where it goes matters
		w.Path = c.toPath
	}
	return w
}

// conflictWire is why a change cannot be undone.
type conflictWire struct {
	Change   int64  `json:"change"`
	Path     string `json:"path"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
	LaterRun *int64 `json:"later_run"`
}

func conflictsWire(all []obstacle) []conflictWire {
	out := make([]conflictWire, len(all))
	for i, o := range all {
		out[i] = conflictWire{Change: o.change.id, Path: o.path, Expected: o.expected, Found: o.found, LaterRun: o.later}
	}
	return out
}

// conversationWire is a conversation in a list (resources, section 14).
type conversationWire struct {
	ID            int64     `json:"id"`
	ServiceID     int64     `json:"service_id"`
	Title         string    `json:"title"`
	Status        Talk      `json:"status" enum:"idle,running,waiting_approval,failed"`
	LastMessageAt time.Time `json:"last_message_at"`
	CreatedAt     time.Time `json:"created_at"`
}

func wireConversation(c conversation) conversationWire {
	return conversationWire{c.id, c.serviceID, c.title, c.status, c.lastMessageAt, c.createdAt}
}

// storyWire is a whole conversation.
type storyWire struct {
	conversationWire

	Messages []messageWire `json:"messages" doc:"The last 200. Texts come from models and sites: show them as plain text"`
	Usage    usageWire     `json:"usage"`
}

type messageWire struct {
	ID          int64            `json:"id"`
	RunID       int64            `json:"run_id"`
	Role        string           `json:"role" enum:"user,assistant,tool"`
	Content     string           `json:"content" doc:"Of a tool at most 500 bytes"`
	ToolCalls   []callWire       `json:"tool_calls"`
	FileChanges []fileChangeWire `json:"file_changes"`
	CreatedAt   time.Time        `json:"created_at"`
}

type callWire struct {
	ID            int64      `json:"id"`
	Name          string     `json:"name"`
	Arguments     string     `json:"arguments" doc:"As the model wrote them: usually JSON"`
	Status        callStatus `json:"status" enum:"pending,waiting,done,failed,rejected,skipped"`
	ResultSummary string     `json:"result_summary"`
}

type fileChangeWire struct {
	ID     int64        `json:"id"`
	Path   string       `json:"path"`
	Action changeKind   `json:"action" enum:"create,edit,replace,move,delete,mkdir,rmdir,extract,php"`
	Diff   string       `json:"diff"`
	Status changeStatus `json:"status" enum:"prepared,applied,failed,conflict,undone"`
}

// mostShown bounds what is shown of the result of a tool.
const mostShown = 500

func wireStory(ctx context.Context, t story) *storyWire {
	w := &storyWire{
		conversationWire: wireConversation(t.conversation), Messages: []messageWire{},
		Usage: usageWire{t.usage.input, t.usage.output, money.Wire(ctx, money.USDCents(t.usage.cents))},
	}
	for _, m := range t.messages {
		one := messageWire{ID: m.id, RunID: m.runID, Role: m.role, Content: m.content, ToolCalls: []callWire{}, FileChanges: []fileChangeWire{}, CreatedAt: m.createdAt}
		if m.role == byTool {
			one.Content = shorten(m.content, mostShown)
		}
		for _, c := range t.calls[m.id] {
			one.ToolCalls = append(one.ToolCalls, callWire{c.id, c.tool, c.arguments, c.status, c.summary})
			for _, ch := range t.changes[c.id] {
				one.FileChanges = append(one.FileChanges, fileChangeWire{ch.id, ch.path, ch.kind, ch.diff, ch.status})
			}
		}
		w.Messages = append(w.Messages, one)
	}
	return w
}

// approvalWire is a question to the customer.
type approvalWire struct {
	ID        int64          `json:"id"`
	ServiceID int64          `json:"service_id"`
	RunID     int64          `json:"run_id"`
	Tool      string         `json:"tool"`
	Changes   []proposal     `json:"changes" doc:"What would be changed; exactly this is approved. Show it as plain text"`
	Status    approvalStatus `json:"status" enum:"pending,approved,rejected,withdrawn,expired"`
	Reason    *string        `json:"reason"`
	ExpiresAt time.Time      `json:"expires_at" doc:"When the run stops waiting"`
	CreatedAt time.Time      `json:"created_at"`
	DecidedAt *time.Time     `json:"decided_at"`
}

func wireApproval(a approval) approvalWire {
	return approvalWire{a.id, a.serviceID, a.runID, a.tool, a.changes, a.status, a.reason, a.expiresAt, a.createdAt, a.decidedAt}
}
