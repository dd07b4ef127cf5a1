package clocks

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

// clockWire is a sandbox's clock.
type clockWire struct {
	Now    time.Time  `json:"now" doc:"The sandbox's time"`
	Status Status     `json:"status" enum:"real,ready,advancing" doc:"real: the real time; ready: it stands at now; advancing: it is on its way to target"`
	Target *time.Time `json:"target"`
}

type advanceIn struct {
	Body struct {
		To   *time.Time `json:"to,omitempty" doc:"A later time, at most three years ahead of the real one"`
		Days *int       `json:"days,omitempty" minimum:"1" maximum:"1098" doc:"In the place of to: so many days on"`
	}
}

func answer(st State, err error) (*clockWire, error) {
	if err != nil {
		return nil, err
	}
	return &clockWire{Now: st.Now, Status: st.Status, Target: st.Target}, nil
}

const base = "/api/v1/reseller/clock"

// Operations are those of the sandbox's clock, an extension of the specification's section "Reseller".
func (s *Service) Operations() []api.Route {
	return []api.Route{
		api.Operation[struct{}, clockWire]{
			ID: "reseller.clock", Method: http.MethodGet, Path: base, Section: api.Reseller, Auth: api.Key,
			Summary: "See the clock of your sandbox", Description: "The live world's shows the real time.",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*clockWire, error) {
				return answer(s.State(ctx, s.DB, p.AccountID))
			},
		},
		api.Operation[advanceIn, clockWire]{
			ID: "reseller.clock.advance", Method: http.MethodPost, Path: base + "/advance", Section: api.Reseller, Auth: api.Key,
			Example: `{"days": 1}`,
			Status:  http.StatusAccepted,
			Summary: "Move the clock of your sandbox on",
			Description: "Its services live through all of the time between: reminders, renewals, suspensions, ends, each at its own " +
				"time. Ask for the clock until its status is ready.",
			Errors: []*fault.Def{ErrNotSandbox, fault.Conflict},
			Handle: s.advanceOperation,
		},
		api.Operation[struct{}, clockWire]{
			ID: "reseller.clock.reset", Method: http.MethodPost, Path: base + "/reset", Section: api.Reseller, Auth: api.Key,
			Summary:     "Give your sandbox the real time again",
			Description: "What it has keeps its dates, and goes on when the real time reaches them.",
			Errors:      []*fault.Def{ErrNotSandbox},
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*clockWire, error) {
				return answer(s.Reset(ctx, p.AccountID))
			},
		},
	}
}

func (s *Service) advanceOperation(ctx context.Context, p auth.Principal, in *advanceIn) (*clockWire, error) {
	if (in.Body.To == nil) == (in.Body.Days == nil) {
		return nil, fault.Invalid("to", "clock_one")
	}
	if in.Body.To != nil {
		return answer(s.Advance(ctx, p.AccountID, *in.Body.To))
	}
	st, err := s.State(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	return answer(s.Advance(ctx, p.AccountID, st.Now.AddDate(0, 0, *in.Body.Days)))
}
