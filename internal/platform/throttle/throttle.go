// Package throttle counts requests per key in windows (specification, "Limits"): a window opens with a key's first
// request, allows the policy's number of requests, and ends after the policy's time. So a client never gets more than
// its number in a window, and the headers' reset time is exact.
package throttle

import (
	"context"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

// Policy is the number of requests that a window allows.
type Policy struct {
	// Name stands in the RateLimit headers and keeps the counts of policies
	// apart.
	Name   string
	Limit  int
	Window time.Duration
}

// Result is the state of a key's window after a request.
type Result struct {
	Allowed   bool
	Remaining int
	// Reset is the time until the window ends.
	Reset time.Duration
}

// Limiter counts a request and decides whether it may pass.
type Limiter interface {
	Take(ctx context.Context, key string, p Policy) (Result, error)
}

// New is the limiter for d: in memory for one process, in the database for
// several replicas.
func New(d *db.DB, c clock.Clock) Limiter {
	if d.Shared() {
		return &Shared{db: d}
	}
	return &Memory{clock: c, windows: map[string]window{}}
}

func result(used int, ends, now time.Time, p Policy) Result {
	return Result{Allowed: used <= p.Limit, Remaining: max(0, p.Limit-used), Reset: max(0, ends.Sub(now))}
}

// Memory counts in this process.
type Memory struct {
	clock clock.Clock

	mu      sync.Mutex
	windows map[string]window
	sweepAt time.Time
}

type window struct {
	ends time.Time
	used int
}

// Take counts a request of key.
func (m *Memory) Take(_ context.Context, key string, p Policy) (Result, error) {
	now := m.clock.Now()
	key = p.Name + "|" + key
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	w, ok := m.windows[key]
	if !ok || !now.Before(w.ends) {
		w = window{ends: now.Add(p.Window)}
	}
	if w.used <= p.Limit {
		w.used++
	}
	m.windows[key] = w
	return result(w.used, w.ends, now, p), nil
}

// sweep drops ended windows now and then, so that memory follows the callers of the last minutes only.
func (m *Memory) sweep(now time.Time) {
	if now.Before(m.sweepAt) {
		return
	}
	for k, w := range m.windows {
		if !now.Before(w.ends) {
			delete(m.windows, k)
		}
	}
	m.sweepAt = now.Add(time.Minute)
}

// Shared counts in the database, for all replicas together.
type Shared struct{ db *db.DB }

// Take counts a request of key.
func (s *Shared) Take(ctx context.Context, key string, p Policy) (r Result, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		var (
			used int
			ends time.Time
		)
		err := tx.QueryRow(ctx, `
			INSERT INTO throttle_windows AS w (key, started_at, ends_at, used) VALUES ($1, $2, $3, 1)
			ON CONFLICT (key) DO UPDATE SET
				started_at = CASE WHEN w.ends_at <= $2 THEN $2 ELSE w.started_at END,
				ends_at    = CASE WHEN w.ends_at <= $2 THEN $3 ELSE w.ends_at END,
				used       = CASE WHEN w.ends_at <= $2 THEN 1 WHEN w.used <= $4 THEN w.used + 1 ELSE w.used END
			RETURNING used, ends_at`,
			p.Name+"|"+key, tx.Now, tx.Now.Add(p.Window), p.Limit).Scan(&used, &ends)
		if err != nil {
			return err
		}
		r = result(used, ends, tx.Now, p)
		return nil
	})
	return r, err
}

// Clean removes ended windows; a periodic job calls it.
func Clean(ctx context.Context, d *db.DB) error {
	return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM throttle_windows WHERE ends_at < $1`, tx.Now)
		return err
	})
}
