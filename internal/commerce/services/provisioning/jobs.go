package provisioning

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Attempts is how often the making of an account is tried: with the queue's growing pauses (1 s, 16 s, 81 s, …) the last
// one comes about 40 minutes after the first.
const Attempts = 7

// Register adds the workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &provisionWorker{provisioning: s})
	jobs.Work(w, func(ctx context.Context, a cleanUpArgs) error { return cleaned(s.CleanUp(ctx, a.ServiceID)) })
	jobs.Work(w, func(ctx context.Context, a suspensionArgs) error { return s.FollowSuspension(ctx, a.ServiceID) })
	jobs.Work(w, func(ctx context.Context, a limitsArgs) error { return s.FollowLimits(ctx, a.ServiceID) })
	river.AddWorker(w, &endWorker{provisioning: s})
	jobs.Work(w, func(ctx context.Context, a clearArgs) error {
		wait, err := s.Clear(ctx, a.ServiceID, a.Panel)
		if err != nil || wait == 0 {
			return err
		}
		return river.JobSnooze(wait)
	})
	jobs.Work(w, func(ctx context.Context, _ reconcileArgs) error { return s.Reconcile(ctx) })
}

// Schedule adds the periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, reconcileArgs{})
}

type provisionArgs struct {
	ServiceID int64 `json:"service_id"`
}

func (provisionArgs) Kind() string { return "services.provision" }

// EnqueueProvision has the account of a service in provisioning made. It adds no second job to one that is still to do
// something, so Reconcile may ask again.
func (s *Service) EnqueueProvision(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, provisionArgs{ServiceID: id}, &river.InsertOpts{
		Queue:       jobs.ProvisionQueue,
		MaxAttempts: Attempts,
		UniqueOpts:  jobs.Once(),
	})
}

type provisionWorker struct {
	river.WorkerDefaults[provisionArgs]
	provisioning *Service
}

func (w *provisionWorker) Work(ctx context.Context, job *river.Job[provisionArgs]) error {
	err := w.provisioning.Provision(ctx, job.Args.ServiceID, job.Attempt-(job.MaxAttempts-Attempts))
	if errors.Is(err, errMoved) {
		return river.JobSnooze(0)
	}
	return cleaned(err)
}

type clearArgs struct {
	ServiceID int64  `json:"service_id"`
	Panel     string `json:"panel"`
}

func (clearArgs) Kind() string { return "services.clear" }

// EnqueueClear has what is left of a service on a panel removed. It adds no second job to one that is still to do the same.
func (s *Service) EnqueueClear(ctx context.Context, tx *db.Tx, id int64, panelName string) error {
	return s.Queue.Enqueue(ctx, tx, clearArgs{ServiceID: id, Panel: panelName}, &river.InsertOpts{
		Queue: jobs.PanelQueue, Priority: jobs.FollowUp, UniqueOpts: jobs.Once(),
	})
}

// cleaned has a job come again that waits until an account is removed.
func cleaned(err error) error {
	if errors.Is(err, ErrCleaning) {
		return river.JobSnooze(time.Second)
	}
	return err
}

// cleanUpArgs name the panel, so that a node which is there again wakes the job: the service has no room on it any more.
type cleanUpArgs struct {
	ServiceID int64  `json:"service_id"`
	Panel     string `json:"panel,omitempty"`
}

func (cleanUpArgs) Kind() string { return "services.clean_up" }

// EnqueueCleanUp has what is left of the account of a service removed, on its panel, that has none any more.
func (s *Service) EnqueueCleanUp(ctx context.Context, tx *db.Tx, id int64, panelName string) error {
	return s.Queue.Enqueue(ctx, tx, cleanUpArgs{ServiceID: id, Panel: panelName}, &river.InsertOpts{Queue: jobs.PanelQueue, Priority: jobs.FollowUp})
}

type suspensionArgs struct {
	ServiceID int64 `json:"service_id"`
}

func (suspensionArgs) Kind() string { return "services.suspension" }

// EnqueueSuspension has the account of a service taken offline or online, as the service is.
func (s *Service) EnqueueSuspension(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, suspensionArgs{ServiceID: id}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

type limitsArgs struct {
	ServiceID int64 `json:"service_id"`
}

func (limitsArgs) Kind() string { return "services.limits" }

// EnqueueLimits has the account of a service given the limits of the service's plan.
func (s *Service) EnqueueLimits(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, limitsArgs{ServiceID: id}, &river.InsertOpts{Queue: jobs.PanelQueue})
}

type endArgs struct {
	ServiceID int64 `json:"service_id"`
	Unkept    bool  `json:"unkept,omitempty"` // without a final backup
}

func (endArgs) Kind() string { return "services.end" }

// EnqueueEnd has the account of a terminating service removed; one that ends unkept has no final backup. It adds no second
// job to one that is still to do the same.
func (s *Service) EnqueueEnd(ctx context.Context, tx *db.Tx, id int64, unkept bool) error {
	return s.Queue.Enqueue(ctx, tx, endArgs{ServiceID: id, Unkept: unkept}, &river.InsertOpts{
		Queue: jobs.PanelQueue, UniqueOpts: jobs.Once(),
	})
}

type endWorker struct {
	river.WorkerDefaults[endArgs]
	provisioning *Service
}

func (w *endWorker) Work(ctx context.Context, job *river.Job[endArgs]) error {
	wait, err := w.provisioning.End(ctx, job.Args.ServiceID, job.Args.Unkept)
	if err != nil || wait == 0 {
		return err
	}
	waited := w.provisioning.Clock.Now().Sub(job.CreatedAt)
	return river.JobSnooze(min(wait, max(askKeeperSoon, waited/4)))
}

type reconcileArgs struct{}

func (reconcileArgs) Kind() string { return "services.reconcile" }
