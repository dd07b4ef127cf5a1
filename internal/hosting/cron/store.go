package cron

import (
	"context"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

var rows = db.Map(func(r *row) db.Fields {
	return r.Fields(db.Fields{
		"expression": &r.expression, "timezone": &r.timezone, "command": &r.command, "enabled": &r.enabled, "overlap": &r.overlap,
		"timeout_seconds": &r.timeoutSeconds, "created_at": &r.createdAt,
	})
})

// collection describes the cron jobs of services.
func (s *Service) collection() site.Collection[row, panel.Cron, panel.CronJob] {
	return site.Collection[row, panel.Cron, panel.CronJob]{
		Base:       s.Base,
		Capability: panel.CapCron, Limit: "cron_jobs", Event: "cron_job",
		Job:   func(t site.Target) river.JobArgs { return applyArgs{t} },
		Table: site.Table[row]{Name: "cron_jobs", Rows: rows, HidesRemoving: true},
		On: func(_ context.Context, _ site.Site, cron panel.Cron) (site.Kind[row, panel.CronJob], error) {
			return site.Kind[row, panel.CronJob]{
				Wish: func(_ context.Context, r row) (panel.CronJob, error) { return r.wanted(), nil },
				Same: func(have, wish panel.CronJob) bool { return have == wish },
				List: cron.CronJobs, Set: cron.SetCronJob, Remove: cron.RemoveCronJob,
				Name: func(j panel.CronJob) string { return j.ID },
			}, nil
		},
	}
}

func (w wish) values() site.Values {
	return site.Values{
		"expression": w.expression, "timezone": w.timezone, "command": w.command, "enabled": w.enabled, "overlap": w.overlap,
		"timeout_seconds": w.timeoutSeconds,
	}
}
