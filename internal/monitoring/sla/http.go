package sla

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
)

type uptimeIn struct {
	ID    int64  `path:"id" minimum:"1" doc:"Id of the service"`
	Month string `query:"month" pattern:"^([0-9]{4}-(0[1-9]|1[0-2]))?$" doc:"The month, of UTC; the one that goes on when it is left out" example:"2026-11"`
}

// uptimeWire is how a month of a service was (resources, section 10).
type uptimeWire struct {
	PeriodStart time.Time `json:"period_start"`
	PeriodEnd   time.Time `json:"period_end" doc:"The end of the month"`
	Final       bool      `json:"final" doc:"The month is closed: nothing of it changes any more but its compensation"`
	// UptimePercent is null when there is nothing to judge by.
	UptimePercent *string          `json:"uptime_percent" doc:"Of the time that was paid, without maintenance; with three decimals, rounded down. Null when nothing counts, or nothing watches the service" example:"99.768"`
	SLAPercent    *string          `json:"sla_percent" doc:"What the plan promises; null when it promises nothing" example:"99.900"`
	DowntimeS     int64            `json:"downtime_s" doc:"Seconds that the server did not serve"`
	MaintenanceS  int64            `json:"excluded_maintenance_s" doc:"Seconds of announced maintenance, which do not count"`
	Outages       []outageWire     `json:"outages" doc:"What the service's monitor has seen, the oldest first: the newest 200"`
	OutagesMore   int              `json:"outages_more" doc:"How many older ones there are"`
	Compensation  compensationWire `json:"compensation"`
}

type outageWire struct {
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at" doc:"Null while it goes on"`
	DurationS *int64     `json:"duration_s"`
	Cause     string     `json:"cause" doc:"An error key, such as connect_timeout"`
	Counts    bool       `json:"counts" doc:"Whether it is the server's. What the site's own software answers is not"`
}

type compensationWire struct {
	Eligible      bool        `json:"eligible" doc:"Something is owed. Of a month that is not closed: as if it ended now"`
	Percent       int64       `json:"percent" doc:"Of what was paid for the month"`
	Amount        money.Money `json:"amount"`
	Status        Status      `json:"status" enum:"none,proposed,credited,rejected" doc:"proposed: it is credited two days after the end of the month, or once staff have looked at it"`
	Reason        *string     `json:"reason" doc:"Why it was rejected"`
	TransactionID *int64      `json:"transaction_id" doc:"In the wallet; null unless it is credited"`
}

func wire(ctx context.Context, r Report) *uptimeWire {
	w := &uptimeWire{
		PeriodStart: r.Month.Start, PeriodEnd: r.Month.End, Final: r.ID != 0, DowntimeS: r.DownS, MaintenanceS: r.MaintenanceS,
		Outages: make([]outageWire, len(r.Outages)), OutagesMore: r.More,
		Compensation: compensationWire{
			Eligible: r.eligible(), Percent: r.Percent, Amount: money.Wire(ctx, r.Amount), Status: r.Status, TransactionID: r.TransactionID,
		},
	}
	if r.ServedS > 0 && r.Watched {
		text := Percent(r.Uptime)
		w.UptimePercent = &text
	}
	if r.Promised != nil {
		text := Percent(*r.Promised)
		w.SLAPercent = &text
	}
	if r.Status == Rejected {
		text := r.Note
		if text == noteClosed {
			text = i18n.T(i18n.Lang(ctx), "sla.account_closed", nil)
		}
		w.Compensation.Reason = &text
	}
	for i, o := range r.Outages {
		w.Outages[i] = outageWire{StartedAt: o.StartedAt, EndedAt: o.EndedAt, Cause: o.Cause, Counts: o.Ours}
		if o.EndedAt != nil {
			lasted := int64(o.EndedAt.Sub(o.StartedAt) / time.Second)
			w.Outages[i].DurationS = &lasted
		}
	}
	return w
}

// Operations are this section's part of the specification's section "Security & SLA"; resources, section 10.
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "Security & SLA": uptime, outages, SLA compensation.
		api.Operation[uptimeIn, uptimeWire]{
			ID: "sla.uptime", Method: http.MethodGet, Path: "/api/v1/services/{id}/uptime", Section: api.Security, Auth: api.Token,
			Scopes: []string{auth.ScopeServicesRead}, Summary: "See the uptime of a service in a month, its outages, and what is given back for them",
			Description: "What counts is the server: a site that answers with an error of its own is shown as an outage that does not count. A " +
				"month closes by itself, a day after its end; what is owed then is credited to the wallet.",
			Errors: []*fault.Def{fault.NotFound, fault.Validation},
			Handle: func(ctx context.Context, p auth.Principal, in *uptimeIn) (*uptimeWire, error) {
				r, err := s.Uptime(ctx, p.AccountID, in.ID, in.Month)
				if err != nil {
					return nil, err
				}
				return wire(ctx, r), nil
			},
		},
	}
}
