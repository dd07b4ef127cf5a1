package cron

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/site"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a applyArgs) error { return s.Apply(ctx, a.AccountID, a.ServiceID) })
}

// Schedule adds the section's periodic jobs: none. What a service consists of is compared with its
// panel by the section that has its domains.
func (s *Service) Schedule(func(interval time.Duration, args river.JobArgs)) {}

type applyArgs struct {
	AccountID int64 `json:"account_id"`
	ServiceID int64 `json:"service_id"`
}

func (applyArgs) Kind() string { return "cron.apply" }

// enqueueApply has the panel follow a change. Each change has a job of its own: one that is running may
// have read the rows before this change.
func (s *Service) enqueueApply(ctx context.Context, tx *db.Tx, accountID, serviceID int64) error {
	return s.Queue.Enqueue(ctx, tx, applyArgs{accountID, serviceID}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

// Apply implements site.Part.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	return site.Apply(ctx, s.DB, s.Services, accountID, serviceID, removeAll, s.follow)
}

func (s *Service) follow(ctx context.Context, on site.Site) error {
	cron, err := site.On[panel.Cron](s.Panels, on, panel.CapCron)
	if errors.Is(err, panel.ErrUnsupported) {
		return s.kind(nil, on).Refuse(ctx, s.DB, err)
	}
	if err != nil {
		return err
	}
	return site.Follow(ctx, s.DB, s.kind(cron, on))
}

// kind is cron jobs as site.Follow has panels follow them.
func (*Service) kind(cron panel.Cron, on site.Site) site.Kind[row, panel.CronJob] {
	return site.Kind[row, panel.CronJob]{
		Rows: func(ctx context.Context, q db.Querier) ([]row, error) { return ofService(ctx, q, on.ServiceID) },
		Head: row.head,
		Wish: func(_ context.Context, r row) (panel.CronJob, error) { return r.wanted(), nil },
		Same: func(have, wish panel.CronJob) bool { return have == wish },
		List: func(ctx context.Context) ([]panel.CronJob, error) { return cron.CronJobs(ctx, on.Ref) },
		Name: func(j panel.CronJob) string { return j.ID },
		Set: func(ctx context.Context, j panel.CronJob) (panel.CronJob, error) {
			return cron.SetCronJob(ctx, on.Ref, j)
		},
		Remove: func(ctx context.Context, id string) error { return cron.RemoveCronJob(ctx, on.Ref, id) },
		Note:   note,
	}
}

// note writes what became of a row on the panel.
func note(ctx context.Context, tx *db.Tx, r row, o site.Outcome[panel.CronJob]) error {
	switch {
	case o.Gone:
		return remove(ctx, tx, r)
	case o.Err != nil:
		if key := failureKey(o.Err); r.failureKey == nil || *r.failureKey != key {
			return setStatus(ctx, tx, r, site.Failed, &key)
		}
		return nil
	case r.status != site.Active:
		return setStatus(ctx, tx, r, site.Active, nil)
	default:
		return nil
	}
}
