package cron

import (
	"context"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// jobWire is a cron job (resources, section 20).
type jobWire struct {
	ID             int64             `json:"id"`
	Expression     string            `json:"expression" doc:"Five fields, also when it was given as a preset"`
	Preset         *string           `json:"preset" doc:"The preset, such as @daily, when it was given as one"`
	Timezone       string            `json:"timezone" doc:"IANA"`
	Command        string            `json:"command"`
	Enabled        bool              `json:"enabled"`
	Overlap        panel.CronOverlap `json:"overlap" enum:"skip,allow" doc:"What becomes of a run that is due while the one before goes on"`
	TimeoutSeconds int               `json:"timeout_seconds"`
	Status         site.Status       `json:"status" enum:"pending,active,failed" doc:"How far the hosting server has followed"`
	FailureKey     *string           `json:"failure_key" doc:"Why it failed: an error key"`
	Running        *bool             `json:"running" doc:"Null, as the last run's members, while the hosting server does not answer"`
	LastRunAt      *time.Time        `json:"last_run_at" doc:"When the last run that ended began; null when there is none"`
	LastEnd        *panel.CronEnd    `json:"last_end" enum:"exited,timeout,killed,failed" doc:"How it ended"`
	LastExitCode   *int              `json:"last_exit_code" doc:"128 and the number of a signal that ended it; -1 when it could not be started"`
	LastDurationMS *int64            `json:"last_duration_ms"`
	LastOutput     *string           `json:"last_output" doc:"Of both streams, the first 64 KiB"`
	NextRunAt      *time.Time        `json:"next_run_at" doc:"Null when it does not run"`
	CreatedAt      time.Time         `json:"created_at"`
}

func wire(d described) jobWire {
	w := jobWire{
		ID: d.ID, Expression: panel.FiveFields(d.expression), Preset: d.preset(), Timezone: d.timezone, Command: d.command, Enabled: d.enabled,
		Overlap: d.overlap, TimeoutSeconds: d.timeoutSeconds, Status: d.Status, FailureKey: d.FailureKey, CreatedAt: d.createdAt,
	}
	if !d.next.IsZero() {
		w.NextRunAt = &d.next
	}
	if d.state == nil {
		return w
	}
	running := d.state.Running > 0
	w.Running = &running
	if len(d.state.Runs) > 0 {
		last := d.state.Runs[0]
		w.LastRunAt, w.LastEnd, w.LastExitCode, w.LastDurationMS, w.LastOutput = &last.StartedAt, &last.End, &last.ExitCode, &last.DurationMS, &last.Output
	}
	return w
}

type createIn struct {
	site.ServiceIn
	Body struct {
		Expression     string            `json:"expression" minLength:"1" maxLength:"256" doc:"Minute, hour, day of the month, month, day of the week, as in crontab(5); or @hourly, @daily, @weekly, @monthly, @yearly" example:"*/15 * * * *"`
		Timezone       string            `json:"timezone,omitempty" maxLength:"64" doc:"IANA; UTC when it is left out" example:"Asia/Tashkent"`
		Command        string            `json:"command" minLength:"1" maxLength:"4096" doc:"One line; it runs by /bin/sh as the service's user in its home" example:"php public_html/cron.php"`
		Enabled        *bool             `json:"enabled,omitempty" doc:"True when it is left out"`
		Overlap        panel.CronOverlap `json:"overlap,omitempty" enum:"skip,allow" doc:"skip when it is left out"`
		TimeoutSeconds int               `json:"timeout_seconds,omitempty" minimum:"1" maximum:"86400" doc:"A run that takes longer is ended; 3600 when it is left out"`
	}
}

type jobIn struct {
	site.ServiceIn
	CronJob int64 `path:"cron_job" minimum:"1" doc:"Id of the cron job"`
}

type updateIn struct {
	jobIn
	Body struct {
		Expression     *string            `json:"expression,omitempty" minLength:"1" maxLength:"256"`
		Timezone       *string            `json:"timezone,omitempty" minLength:"1" maxLength:"64"`
		Command        *string            `json:"command,omitempty" minLength:"1" maxLength:"4096"`
		Enabled        *bool              `json:"enabled,omitempty"`
		Overlap        *panel.CronOverlap `json:"overlap,omitempty" enum:"skip,allow"`
		TimeoutSeconds *int               `json:"timeout_seconds,omitempty" minimum:"1" maximum:"86400"`
	}
}

// Operations are the section's part of the interface.
func (s *Service) Operations() []api.Route {
	const (
		base  = "/api/v1/services/{service}/cron"
		named = base + "/{cron_job}"
	)
	return []api.Route{
		site.Read(api.Operation[site.ListIn, page.List[jobWire]]{
			ID: "cron.list", Path: base, Summary: "List the cron jobs of a service with their last and next runs",
			Description: "Each job with its expression, time zone, the outcome of its last run and when it runs next.",
			Handle:      site.HandleList(s.list, wire),
		}),
		site.Create(api.Operation[createIn, jobWire]{
			ID: "cron.create", Path: base, Summary: "Add a cron job to a service",
			Example: `{"expression": "*/15 * * * *", "timezone": "Asia/Tashkent", "command": "php ~/public_html/cron.php"}`,
			Description: "The answer is `pending`; the hosting server follows within seconds. Runs that are missed while the server is " +
				"down are not made up for. When clocks are put forward, a time of day that is left out is made up for at once; when they " +
				"are put back, a time of day that comes twice counts once.",
			Errors: []*fault.Def{fault.LimitReached, errExpression},
			Handle: func(ctx context.Context, p auth.Principal, in *createIn) (*jobWire, error) {
				b := in.Body
				d, err := s.create(ctx, p.AccountID, in.Service, wish{
					expression: b.Expression, timezone: b.Timezone, command: b.Command, enabled: b.Enabled == nil || *b.Enabled,
					overlap: b.Overlap, timeoutSeconds: b.TimeoutSeconds,
				})
				return site.Reply(wire, d, err)
			},
		}),
		site.Update(api.Operation[updateIn, jobWire]{
			ID: "cron.update", Path: named, Summary: "Change a cron job, or switch it on or off",
			Example:     `{"enabled": false}`,
			Description: "A run that goes on is left alone. A change of a `failed` job tries it again.",
			Errors:      []*fault.Def{errExpression},
			Handle: func(ctx context.Context, p auth.Principal, in *updateIn) (*jobWire, error) {
				b := in.Body
				d, err := s.update(ctx, p.AccountID, in.Service, in.CronJob, change{
					expression: b.Expression, timezone: b.Timezone, command: b.Command, enabled: b.Enabled, overlap: b.Overlap,
					timeoutSeconds: b.TimeoutSeconds,
				})
				return site.Reply(wire, d, err)
			},
		}),
		site.Delete(api.Operation[jobIn, api.Empty]{
			ID: "cron.delete", Path: named, Summary: "Delete a cron job; a run that goes on is ended",
			Description: "The job is removed within seconds; a run that goes on is ended.",
		}, func(in *jobIn) int64 { return in.CronJob }, s.collection().Remove),
	}
}
