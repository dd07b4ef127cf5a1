package exports

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

// makeArgs is the job that makes an archive. Address and UserAgent are those of the browser that asked for it.
type makeArgs struct {
	ExportID  int64      `json:"export_id"`
	Address   netip.Addr `json:"address"`
	UserAgent string     `json:"user_agent"`
}

func (makeArgs) Kind() string { return "exports.make" }

// attempts bounds how often an archive is tried: its owner waits, and can ask again.
func attempts() *river.InsertOpts { return &river.InsertOpts{MaxAttempts: 4} }

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "exports.clean" }

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	river.AddWorker(w, &makeWorker{exports: s})
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.Clean(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Hour, cleanArgs{})
}

type makeWorker struct {
	river.WorkerDefaults[makeArgs]
	exports *Service
}

// Timeout bounds one attempt.
func (*makeWorker) Timeout(*river.Job[makeArgs]) time.Duration { return 20 * time.Minute }

func (w *makeWorker) Work(ctx context.Context, job *river.Job[makeArgs]) error {
	err := w.exports.make(ctx, job.Args.ExportID, auth.Caller{Address: job.Args.Address, UserAgent: job.Args.UserAgent}, job.Attempt == job.MaxAttempts)
	if err == nil || job.Attempt < job.MaxAttempts && !errors.Is(err, errTooLarge) {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // ctx may be over
	defer cancel()
	return jobs.Cancel(errors.Join(err, w.exports.DB.InTx(last, func(ctx context.Context, tx *db.Tx) error {
		return fail(ctx, tx, job.Args.ExportID)
	})))
}
