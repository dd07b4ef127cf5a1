package announcements

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/jobs"
)

// register adds the section's workers.
func (s *Service) register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, a spreadArgs) error { return s.spread(ctx, a.AnnouncementID) })
	jobs.Work(w, func(ctx context.Context, _ dueArgs) error { return s.beginDue(ctx) })
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.clean(ctx) })
}

// schedule adds the section's periodic jobs.
func schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(time.Minute, dueArgs{})
	every(24*time.Hour, cleanArgs{})
}

// spreadArgs tells the next accounts of an announcement.
type spreadArgs struct {
	AnnouncementID int64 `json:"announcement_id"`
}

func (spreadArgs) Kind() string { return "announcements.spread" }

// InsertOpts lets notifications wait for everything else: there may be thousands.
func (spreadArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Priority: 4} }

// dueArgs begins the notifications of announcements whose time has come.
type dueArgs struct{}

func (dueArgs) Kind() string { return "announcements.due" }

type cleanArgs struct{}

func (cleanArgs) Kind() string { return "announcements.clean" }
