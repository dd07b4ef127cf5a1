package certificates

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// How often due certificates are looked for.
const sweepEvery = time.Minute

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	site.Work[applyArgs](w, s.Apply)
	river.AddWorker(w, &tendWorker{certificates: s})
	jobs.Work(w, func(ctx context.Context, _ sweepArgs) error { return s.Sweep(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(sweepEvery, sweepArgs{})
}

type applyArgs struct{ site.Target }

func (applyArgs) Kind() string { return "certificates.apply" }

type tendArgs struct {
	AccountID     int64 `json:"account_id"`
	ServiceID     int64 `json:"service_id"`
	CertificateID int64 `json:"certificate_id"`
}

func (tendArgs) Kind() string { return "certificates.tend" }

// enqueueTend has a certificate looked after now.
func (s *Service) enqueueTend(ctx context.Context, tx *db.Tx, r row) error {
	return s.Queue.Enqueue(ctx, tx, tendArgs{r.AccountID, r.ServiceID, r.ID}, &river.InsertOpts{Queue: jobs.PanelQueue, Priority: jobs.FollowUp})
}

type tendWorker struct {
	river.WorkerDefaults[tendArgs]
	certificates *Service
}

// Timeout implements river.Worker: authorities take their time.
func (*tendWorker) Timeout(*river.Job[tendArgs]) time.Duration { return tendTimeout }

func (w *tendWorker) Work(ctx context.Context, job *river.Job[tendArgs]) error {
	return w.certificates.Tend(ctx, job.Args.AccountID, job.Args.ServiceID, job.Args.CertificateID)
}

type sweepArgs struct{}

func (sweepArgs) Kind() string { return "certificates.sweep" }

// Sweep has all certificates looked after that are due.
func (s *Service) Sweep(ctx context.Context) error {
	err := site.SweepEach(ctx, s.DB, takeDue, func(ctx context.Context, tx *db.Tx, d site.Owned) error {
		return s.Queue.Enqueue(ctx, tx, tendArgs{d.AccountID, d.ServiceID, d.ID}, &river.InsertOpts{
			Queue: jobs.PanelQueue, Priority: jobs.Routine, UniqueOpts: jobs.Once(),
		})
	})
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return forgetAttempts(ctx, tx, tx.Now.Add(-week)) })
}
