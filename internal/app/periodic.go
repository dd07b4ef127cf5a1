package app

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/throttle"
)

// cleanArgs is the job that removes what the platform keeps for a while only:
// old answers to idempotency keys, ended throttle windows, heard signals, old
// events.
type cleanArgs struct{}

func (cleanArgs) Kind() string { return "platform.clean" }

type cleanWorker struct {
	river.WorkerDefaults[cleanArgs]
	core *core
}

func (w *cleanWorker) Work(ctx context.Context, _ *river.Job[cleanArgs]) error {
	return errors.Join(w.core.answers.Clean(ctx), throttle.Clean(ctx, w.core.db), w.core.hub.Clean(ctx), w.core.outbox.Clean(ctx))
}

// register adds the workers of all sections.
func (c *core) register() {
	w := c.queue.Workers()
	river.AddWorker(w, &cleanWorker{core: c})
	c.outbox.Register(w)
	c.registerSections(w)
}

// periodic adds the jobs that run by the clock; one of all replicas inserts
// them.
func (a *App) periodic() {
	a.queue.Every(5*time.Minute, cleanArgs{})
	a.scheduleSections(a.queue.Every)
}
