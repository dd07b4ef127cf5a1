package status

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

func register(s *Service) func(*river.Workers) {
	return func(w *river.Workers) {
		jobs.Work(w, func(ctx context.Context, _ recordArgs) error { return s.Record(ctx) })
	}
}

func schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(5*time.Minute, recordArgs{})
}

type recordArgs struct{}

func (recordArgs) Kind() string { return "status.record" }
