package runs

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/sse"
)

type runIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
	Run     int64 `path:"run" minimum:"1" doc:"Id of the run"`
}

type eventsIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
	Run     int64 `path:"run" minimum:"1" doc:"Id of the run"`
	LastID  int64 `header:"Last-Event-ID" minimum:"0" doc:"The id of the last event that was received"`
}

type undoRunIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
	Run     int64 `path:"run" minimum:"1" doc:"Id of the run"`
	Body    struct {
		Partial bool `json:"partial,omitempty" doc:"Undo what can be undone, though something stands in the way of the rest"`
	}
}

type changesIn struct {
	page.Params
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
	Run     int64 `query:"run" minimum:"1" doc:"Only those of this run"`
}

type changeIn struct {
	Service int64 `path:"service" minimum:"1" doc:"Id of the service"`
	Change  int64 `path:"change" minimum:"1" doc:"Id of the change"`
}

type approvalsIn struct {
	page.Params
	Service int64  `path:"service" minimum:"1" doc:"Id of the service"`
	Status  string `query:"status" enum:"pending" doc:"Only those that wait; all without it"`
}

type decideIn struct {
	Service  int64 `path:"service" minimum:"1" doc:"Id of the service"`
	Approval int64 `path:"approval" minimum:"1" doc:"Id of the question"`
	Body     struct {
		Approve bool    `json:"approve"`
		Rest    bool    `json:"rest,omitempty" doc:"Approve what this run changes from now on too. It asks only before what is asked in every mode, such as deleting"`
		Reason  *string `json:"reason,omitempty" maxLength:"500" doc:"Why not; the agent reads it"`
	}
}

// ownOperations go beyond the specification: what somebody needs who watches a run, answers it and takes it back.
func (s *Service) ownOperations() []api.Route {
	read, write := []string{auth.ScopeAIRead}, []string{auth.ScopeAIWrite}
	undoErrors := []*fault.Def{
		fault.NotFound, errUndoConflict, errNothingToDo, errInProgress, fault.ServiceNotActive, fault.ServiceSuspended, fault.UnsupportedOperation,
		fault.PanelUnreachable, fault.PanelBusy,
	}
	return []api.Route{
		api.Operation[runIn, runWire]{
			ID: "ai.get_run", Method: http.MethodGet, Path: "/api/v1/services/{service}/ai/runs/{run}", Section: api.AI, Auth: api.Token,
			Description: "The run as it is now: its state, steps, cost in cents of USD and, when it is over, `end_reason`. Follow it as a " +
				"stream with `/events`.",
			Scopes: read, Summary: "Get a run of the AI agent", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *runIn) (*runWire, error) {
				r, err := s.find(ctx, p.AccountID, in.Service, in.Run)
				return s.shown(ctx, r, err)
			},
		},
		api.Operation[eventsIn, api.Empty]{
			ID: "ai.events", Method: http.MethodGet, Path: "/api/v1/services/{service}/ai/runs/{run}/events", Section: api.AI, Auth: api.Token,
			Scopes: read, Summary: "Follow a run of the AI agent", ContentTypes: []string{sse.ContentType},
			Description: "Server-sent events: run.started, step.started, message.delta, tool.started, tool.finished, change.recorded, approval.required, approval.decided, " +
				"usage, and run.completed, run.failed or run.cancelled at the end. Those after `Last-Event-ID`, else all of the last seven days. The stream ends with the run, or after an hour.",
			Errors: []*fault.Def{fault.NotFound, fault.LimitReached},
			Stream: func(ctx context.Context, p auth.Principal, in *eventsIn, w http.ResponseWriter, _ *http.Request) error {
				r, err := s.find(ctx, p.AccountID, in.Service, in.Run)
				if err != nil {
					return err
				}
				done, err := s.openStream(p.AccountID)
				if err != nil {
					return err
				}
				defer done()
				return s.stream(ctx, w, r, in.LastID)
			},
		},
		api.Operation[runIn, runWire]{
			ID: "ai.cancel_run", Method: http.MethodPost, Path: "/api/v1/services/{service}/ai/runs/{run}/cancel", Section: api.AI, Auth: api.Token,
			Scopes: write, Summary: "Cancel a run of the AI agent",
			Description: "A change that is being made is completed first; what was changed stays and can be undone. What was used is charged.",
			Errors:      []*fault.Def{fault.NotFound, errOver},
			Handle: func(ctx context.Context, p auth.Principal, in *runIn) (*runWire, error) {
				r, err := s.cancel(ctx, p.AccountID, in.Service, in.Run)
				return s.shown(ctx, r, err)
			},
		},
		api.Operation[undoRunIn, runWire]{
			ID: "ai.undo_run", Method: http.MethodPost, Path: "/api/v1/services/{service}/ai/runs/{run}/undo", Section: api.AI, Auth: api.Token,
			Example: `{"partial": true}`,
			Scopes:  write, Timeout: undoTime, Summary: "Undo what a run of the AI agent has changed",
			Description: "All of it, unless something newer stands in the way: then nothing, and the answer names it. The undo is a run, so it can be undone too. It costs nothing.",
			Errors:      undoErrors,
			Handle: func(ctx context.Context, p auth.Principal, in *undoRunIn) (*runWire, error) {
				r, err := s.undoRun(ctx, p.AccountID, in.Service, in.Run, in.Body.Partial)
				return s.awaited(ctx, r, err)
			},
		},
		api.Operation[changesIn, page.List[changeWire]]{
			ID: "ai.changes", Method: http.MethodGet, Path: "/api/v1/services/{service}/ai/changes", Section: api.AI, Auth: api.Token,
			Description: "Each change of a file or setting with its difference, the run that made it and whether it can be undone.",
			Scopes:      read, Summary: "List what the AI agent has changed, the newest first", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *changesIn) (*page.List[changeWire], error) {
				rows, total, err := s.changes(ctx, p.AccountID, in.Service, in.Run, in.Params)
				if err != nil {
					return nil, err
				}
				return page.Map(in.Params, total, rows, wireChange), nil
			},
		},
		api.Operation[changeIn, runWire]{
			ID: "ai.undo_change", Method: http.MethodPost, Path: "/api/v1/services/{service}/ai/changes/{change}/undo", Section: api.AI, Auth: api.Token,
			Description: "Puts back what was there before the change. Refused when that cannot be done any more, such as when somebody has" +
				" changed the file since.",
			Scopes: write, Timeout: undoTime, Summary: "Undo one change of the AI agent", Errors: undoErrors,
			Handle: func(ctx context.Context, p auth.Principal, in *changeIn) (*runWire, error) {
				r, err := s.undoChange(ctx, p.AccountID, in.Service, in.Change)
				return s.awaited(ctx, r, err)
			},
		},
		// A person decides, never the model: another application may itself be one.
		api.Operation[approvalsIn, page.List[approvalWire]]{
			ID: "ai.approvals", Method: http.MethodGet, Path: "/api/v1/services/{service}/ai/approvals", Section: api.AI, Auth: api.Token,
			Description: "What the agent wants to do and may not do alone, with the change that it would make. A question that nobody " +
				"answers within 24 hours ends its run.",
			Scopes: read, FirstParty: true, Summary: "List what the AI agent asks, the newest first", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *approvalsIn) (*page.List[approvalWire], error) {
				rows, total, err := s.approvals(ctx, p.AccountID, in.Service, in.Status != "", in.Params)
				if err != nil {
					return nil, err
				}
				return page.Map(in.Params, total, rows, wireApproval), nil
			},
		},
		api.Operation[decideIn, approvalWire]{
			ID: "ai.decide", MovesMoney: true, Method: http.MethodPost, Path: "/api/v1/services/{service}/ai/approvals/{approval}/decide", Section: api.AI, Auth: api.Token,
			Example: `{"approve": true}`,
			Scopes:  write, FirstParty: true, Summary: "Approve or reject what the AI agent asks",
			Description: "Exactly what is shown is approved: when a file has changed since, the agent asks anew.",
			Errors:      []*fault.Def{fault.NotFound, errDecided, fault.Validation},
			Handle: func(ctx context.Context, p auth.Principal, in *decideIn) (*approvalWire, error) {
				a, err := s.decide(ctx, p.AccountID, in.Service, in.Approval, decision{approve: in.Body.Approve, rest: in.Body.Rest, reason: in.Body.Reason})
				if err != nil {
					return nil, err
				}
				w := wireApproval(a)
				return &w, nil
			},
		},
	}
}

// undoTime is for looking at all files of a run, and for the undo.
const undoTime = awaitTime + 30*time.Second

func (s *Service) shown(ctx context.Context, r run, err error) (*runWire, error) {
	if err != nil {
		return nil, err
	}
	return s.show(ctx, r)
}

func (s *Service) awaited(ctx context.Context, r run, err error) (*runWire, error) {
	if err == nil {
		r, err = s.await(ctx, r)
	}
	return s.shown(ctx, r, err)
}
