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
		jobs.Work(w, func(ctx context.Context, a askArgs) error { return s.ask(ctx, a) })
		jobs.Work(w, func(ctx context.Context, a spreadArgs) error { return s.spread(ctx, a.NoticeID) })
		jobs.Work(w, func(ctx context.Context, a mailArgs) error { return s.mail(ctx, a.NoticeID, a.SubscriberID) })
	}
}

func schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(5*time.Minute, recordArgs{})
}

type recordArgs struct{}

func (recordArgs) Kind() string { return "status.record" }

// askArgs asks the owner of an address to confirm a subscription.
type askArgs struct {
	SubscriberID int64 `json:"subscriber_id"`
	// Attempt is the time at which the subscription was asked for: each has one mail.
	Attempt int64 `json:"attempt"`
}

func (askArgs) Kind() string { return "status.ask" }

// spreadArgs makes the jobs that mail a notice.
type spreadArgs struct {
	NoticeID int64 `json:"notice_id"`
}

func (spreadArgs) Kind() string { return "status.spread" }

// mailArgs mails a notice to one subscriber.
type mailArgs struct {
	NoticeID     int64 `json:"notice_id"`
	SubscriberID int64 `json:"subscriber_id"`
}

func (mailArgs) Kind() string { return "status.mail" }

// InsertOpts lets mails wait for everything else: there may be thousands.
func (mailArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Priority: 4} }
