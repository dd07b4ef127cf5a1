package currencies

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/module"
)

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "currencies", Routes: s.Operations(), Needs: []any{s.Config},
		Workers: func(w *river.Workers) {
			jobs.Work(w, func(ctx context.Context, _ fetchArgs) error { return s.Fetch(ctx) })
		},
		Schedule: s.schedule,
		NoExport: "rates are nobody's",
	}
}

// fetchArgs is the job that asks the publishers of rates.
type fetchArgs struct{}

func (fetchArgs) Kind() string { return "currencies.fetch" }

// schedule asks several times a day: banks publish at hours of their own, and an answer that is missed is a day lost.
func (s *Service) schedule(every func(interval time.Duration, args river.JobArgs)) {
	if len(s.Sources) > 0 {
		every(6*time.Hour, fetchArgs{})
	}
}
