package oauth

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
)

const (
	// keepExpired is how long an expired row is kept, so that its use is answered as expired and not as unknown.
	keepExpired = 7 * 24 * time.Hour
	// cleanBatch bounds the rows of one transaction.
	cleanBatch = 1000
)

// cleanArgs is the periodic job that removes what has expired.
type cleanArgs struct{}

func (cleanArgs) Kind() string { return "oauth.clean" }

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ cleanArgs) error { return s.Clean(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(10*time.Minute, cleanArgs{})
}

// Clean removes expired rows, and the answers whose grace is over. Rows of a grant expire no later than the grant, so
// the order keeps every reference valid.
func (s *Service) Clean(ctx context.Context) error {
	for _, clean := range []func(ctx context.Context, tx *db.Tx) (int64, error){
		func(ctx context.Context, tx *db.Tx) (int64, error) {
			return dropAnswers(ctx, tx, tx.Now.Add(-max(s.RefreshGrace, 0)))
		},
		deleteDevices, deleteExpired("oauth_codes"), deleteExpired("oauth_access_tokens"), deleteExpired("oauth_refresh_tokens"),
		deleteExpired("oauth_grants"), deleteDeleted,
	} {
		for {
			var n int64
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
				n, err = clean(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
			if n < cleanBatch {
				break
			}
		}
	}
	return nil
}
