package domains

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &workWorker{domains: s})
	jobs.Work(w, func(ctx context.Context, a stepArgs) error { return s.Step(ctx, a.DomainID) })
	jobs.Work(w, func(ctx context.Context, a forgetArgs) error { return s.ForgetContact(ctx, a.Sandbox, a.Handle) })
	river.AddWorker(w, &stepsWorker{domains: s})
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(10*time.Minute, stepsArgs{})
}

type workArgs struct {
	OperationID int64 `json:"operation_id"`
}

func (workArgs) Kind() string { return "domains.work" }

func (s *Service) enqueueWork(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, workArgs{id}, &river.InsertOpts{
		Queue: jobs.PanelQueue, UniqueOpts: jobs.Once(),
	})
}

type workWorker struct {
	river.WorkerDefaults[workArgs]
	domains *Service
}

// Work retries as long as the registry has to be asked again, and never gives up: the money is held.
func (w *workWorker) Work(ctx context.Context, job *river.Job[workArgs]) error {
	err := w.domains.Work(ctx, job.Args.OperationID)
	if errors.Is(err, errLater) {
		w.domains.Log.WarnContext(ctx, "domains: an operation waits for the registry", "operation", job.Args.OperationID, "error", err)
		return river.JobSnooze(pause(w.domains.Clock.Now().Sub(job.CreatedAt)))
	}
	return err
}

// pause grows with the age of the operation, from ten seconds to an hour.
func pause(age time.Duration) time.Duration { return min(max(age/4, 10*time.Second), time.Hour) }

type forgetArgs struct {
	Sandbox bool   `json:"sandbox"`
	Handle  string `json:"handle"`
}

func (forgetArgs) Kind() string { return "domains.forget_contact" }

func (s *Service) enqueueForget(ctx context.Context, tx *db.Tx, d domain, handle string) error {
	return s.Queue.Enqueue(ctx, tx, forgetArgs{d.sandbox, handle}, &river.InsertOpts{Queue: jobs.PanelQueue, UniqueOpts: jobs.Once()})
}

type stepArgs struct {
	DomainID int64 `json:"domain_id"`
}

func (stepArgs) Kind() string { return "domains.step" }

// stepTries run within a few seconds; then Steps inserts another job, in an hour or at a notice of the registry. A job
// with long pauses between its attempts, as after hours without the registry, would block that.
const stepTries = 3

func (s *Service) enqueueStep(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, stepArgs{id}, &river.InsertOpts{
		Queue: jobs.PanelQueue, UniqueOpts: jobs.Once(), MaxAttempts: stepTries,
	})
}

type stepsArgs struct{}

func (stepsArgs) Kind() string { return "domains.steps" }

type stepsWorker struct {
	river.WorkerDefaults[stepsArgs]
	domains *Service
}

// pollFor bounds the reading of notices from a registry that hangs, below the queue's timeout of a job, so that due
// steps still run.
const pollFor = 30 * time.Second

func (w *stepsWorker) Work(ctx context.Context, _ *river.Job[stepsArgs]) error {
	listening, cancel := context.WithTimeout(ctx, pollFor)
	defer cancel()
	return errors.Join(w.domains.Poll(listening), w.domains.Steps(ctx))
}
