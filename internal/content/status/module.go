package status

import (
	"context"
	"time"

	"stead.dev/stead/internal/platform/module"
)

// Module is what the section adds to the program.
func (s *Service) Module() module.Module {
	return module.Module{
		Name: "status", Routes: s.Operations(), Workers: register(s), Schedule: schedule, Run: s.Run, Needs: []any{s.Config},
		NoExport: "who is mailed of incidents is known by the address alone",
	}
}

// keep is how often the copy is made anew when nobody asks.
const keep = 30 * time.Second

// Run makes the first copy when a server starts, and a new one now and then, so that there is one when the database is
// lost.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(keep)
	defer tick.Stop()
	for {
		s.Now(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
