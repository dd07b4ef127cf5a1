package admin

import (
	"context"
	"encoding/json"
	"errors"

	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/page"
)

// Provisioning makes the accounts of services.
type Provisioning interface {
	EnqueueProvision(ctx context.Context, tx *db.Tx, id int64) error
}

var _ Provisioning = (*provisioning.Service)(nil)

// ofService picks the jobs of a service.
func ofService(id int64) func(args []byte) bool {
	return func(args []byte) bool {
		var of struct {
			ServiceID int64 `json:"service_id"`
		}
		return json.Unmarshal(args, &of) == nil && of.ServiceID == id
	}
}

// ListJobs reads a page of the jobs that a filter picks, the newest first.
func (a *Admin) ListJobs(ctx context.Context, f jobs.Filter, p page.Params) (*page.List[jobs.Listed], error) {
	found, total, err := a.Jobs.List(ctx, a.DB, f, p.Limit(), p.Offset())
	if err != nil {
		return nil, err
	}
	return page.Of(p, total, found), nil
}

// Job is a job with the attempts that have failed.
type Job struct {
	jobs.Listed
	Failures []jobs.Attempt `json:"failures" doc:"The attempts that have failed, the first one first."`
}

// GetJob reads a job.
func (a *Admin) GetJob(ctx context.Context, id int64) (*Job, error) {
	l, failed, err := a.Jobs.Get(ctx, a.DB, id)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return &Job{l, failed}, err
}

// CancelJob ends a job that waits or runs, so that it is not tried again.
func (a *Admin) CancelJob(ctx context.Context, id int64) error {
	ctx = a.change(ctx, "job.cancel", "", rowOf("job", "river_job", "kind, state, attempt, max_attempts", "id", id))
	return a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		err := a.Jobs.Cancel(ctx, tx, id)
		if errors.Is(err, db.ErrNoRows) {
			err = errNothingToCancel.New()
		}
		return err
	})
}

// RetryJob has a job that has failed tried again at once.
func (a *Admin) RetryJob(ctx context.Context, id int64) error {
	ctx = a.change(ctx, "job.retry", "", rowOf("job", "river_job", "kind, state, attempt, max_attempts", "id", id))
	return a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		err := a.Jobs.Retry(ctx, tx, id)
		if errors.Is(err, db.ErrNoRows) {
			err = errNothingToRetry.New()
		}
		return err
	})
}

// Queues lists the queues of background jobs.
func (a *Admin) Queues(ctx context.Context) ([]jobs.Lane, error) { return a.Jobs.Lanes(ctx, a.DB) }

// PauseQueue has no job of a queue begun until it is resumed, or with false has them begun again.
func (a *Admin) PauseQueue(ctx context.Context, name string, paused bool) (jobs.Lane, error) {
	action, f := "queue.resume", a.Jobs.Resume
	if paused {
		action, f = "queue.pause", a.Jobs.Pause
	}
	ctx = a.change(ctx, action, "", subject{kind: "queue", key: name, state: func(ctx context.Context, q db.Querier) (any, error) {
		l, err := a.lane(ctx, q, name)
		return map[string]any{"paused_at": l.PausedAt}, err
	}})
	err := a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return f(ctx, tx, name) })
	if err != nil {
		return jobs.Lane{}, err
	}
	return a.lane(ctx, a.DB, name)
}

func (a *Admin) lane(ctx context.Context, q db.Querier, name string) (jobs.Lane, error) {
	l, err := a.Jobs.Lane(ctx, q, name)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return l, err
}
