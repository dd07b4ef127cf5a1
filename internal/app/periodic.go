package app

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/throttle"
)

// cleanArgs is the job that deletes expired rows of the platform: answers to idempotency keys, throttle windows, signals
// that all replicas have read, and old events.
type cleanArgs struct{}

func (cleanArgs) Kind() string { return "platform.clean" }

// register adds the workers of all sections.
func (c *core) register() {
	w := c.queue.Workers()
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error {
		return errors.Join(c.answers.Clean(ctx), throttle.Clean(ctx, c.db), c.hub.Clean(ctx), c.outbox.Clean(ctx))
	})
	for _, m := range c.modules {
		if m.Workers != nil {
			m.Workers(w)
		}
	}
}

// periodic adds the jobs that run on a schedule. One of the replicas inserts them.
func (a *App) periodic() {
	a.queue.Every(5*time.Minute, cleanArgs{})
	for _, m := range a.modules {
		if m.Schedule != nil {
			m.Schedule(a.queue.Every)
		}
	}
}
