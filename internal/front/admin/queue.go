package admin

import (
	"context"
	"encoding/json"
	"errors"

	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/platform/db"
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

// FailedJobs reads a page of the jobs that have failed, the newest first: those that will be tried again, and those that were
// given up.
func (a *Admin) FailedJobs(ctx context.Context, p page.Params) (*page.List[jobs.Failed], error) {
	found, total, err := a.Jobs.FailedJobs(ctx, a.DB, p.Limit(), p.Offset())
	if err != nil {
		return nil, err
	}
	return page.Of(p, total, found), nil
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
