// Package throttle counts requests per key in a sliding window (specification, "Limits"): at no moment have more than the
// policy's number of requests passed within the policy's time before it, and that number always passes. A request that is
// refused is not counted. The time in the headers is when the oldest counted request leaves the window.
package throttle

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

// Policy is the number of requests that pass in any stretch of the time Window.
type Policy struct {
	// Name stands in the RateLimit headers and keeps the counts of policies
	// apart.
	Name   string
	Limit  int
	Window time.Duration
}

// maxSlots bounds how many moments are kept for a key. Up to that limit every request has a moment of its own.
const maxSlots = 240

// ends is when a request of now leaves the window. Policies of a large limit round it up, so that many requests share a
// moment.
func (p Policy) ends(now time.Time) time.Time {
	at := now.Add(p.Window).UnixMicro()
	if p.Limit > maxSlots {
		step := max(1, p.Window.Microseconds()/maxSlots)
		at = (at + step - 1) / step * step
	}
	return time.UnixMicro(at).UTC()
}

// Result is the state of a key's window after a request.
type Result struct {
	Allowed   bool
	Remaining int
	// Reset is the time until the oldest request leaves the window: until then Remaining requests pass, and then more.
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

// window is what counts of a key: requests, by the moment at which they leave. The oldest come first.
type window []slot

type slot struct {
	ends time.Time
	used int
}

// take counts a request of now.
func (w window) take(now time.Time, p Policy) (window, Result) {
	gone := slices.IndexFunc(w, func(s slot) bool { return now.Before(s.ends) })
	if gone < 0 {
		gone = len(w)
	}
	w = slices.Delete(w, 0, gone)
	used := 0
	for _, s := range w {
		used += s.used
	}
	r := Result{Allowed: used < p.Limit}
	if r.Allowed {
		used++
		ends := p.ends(now)
		// A clock that was set back never makes a request leave before those that came earlier.
		if last := len(w) - 1; last >= 0 && !w[last].ends.Before(ends) {
			w[last].used++
		} else {
			w = append(w, slot{ends, 1})
		}
	}
	r.Remaining = max(0, p.Limit-used)
	if len(w) > 0 {
		r.Reset = w[0].ends.Sub(now)
	}
	return w, r
}

// encode writes a window in few bytes: each moment as microseconds after the one before it, and the requests.
func (w window) encode() []byte {
	var b []byte
	last := int64(0)
	for _, s := range w {
		at := s.ends.UnixMicro()
		b = binary.AppendUvarint(b, uint64(at-last))
		b = binary.AppendUvarint(b, uint64(s.used)) //nolint:gosec // a count
		last = at
	}
	return b
}

// decodeWindow reads what encode wrote. It stops at what it cannot read: a lost window only forgives requests.
func decodeWindow(b []byte) (w window) {
	last := int64(0)
	for len(b) > 0 {
		after, n := binary.Uvarint(b)
		if n <= 0 {
			return w
		}
		used, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return w
		}
		last += int64(after)                                       //nolint:gosec // as written
		w = append(w, slot{time.UnixMicro(last).UTC(), int(used)}) //nolint:gosec // as written
		b = b[n+m:]
	}
	return w
}

// Memory counts in this process.
type Memory struct {
	clock clock.Clock

	mu      sync.Mutex
	windows map[string]window
	sweepAt time.Time
}

// Take counts a request of key.
func (m *Memory) Take(_ context.Context, key string, p Policy) (Result, error) {
	now := m.clock.Now()
	key = p.Name + "|" + key
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(now)
	w, r := m.windows[key].take(now, p)
	m.windows[key] = w
	return r, nil
}

// sweep drops empty windows now and then, so that memory follows the callers of the last minutes only.
func (m *Memory) sweep(now time.Time) {
	if now.Before(m.sweepAt) {
		return
	}
	for k, w := range m.windows {
		if len(w) == 0 || !now.Before(w[len(w)-1].ends) {
			delete(m.windows, k)
		}
	}
	m.sweepAt = now.Add(time.Minute)
}

// Shared counts in the database, for all replicas together.
type Shared struct{ db *db.DB }

// Take counts a request of key. Its row is locked meanwhile, so requests at once count one after the other.
func (s *Shared) Take(ctx context.Context, key string, p Policy) (r Result, err error) {
	key = p.Name + "|" + key
	err = s.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		err := tx.Queue(ctx, nil, `INSERT INTO throttle_windows (key, slots, ends_at) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING`,
			key, []byte{}, tx.Now)
		if err != nil {
			return err
		}
		var encoded []byte
		err = tx.QueryRow(ctx, `SELECT slots FROM throttle_windows WHERE key = $1`+tx.ForUpdate(), key).Scan(&encoded)
		if err != nil && !errors.Is(err, db.ErrNoRows) { // Clean has removed the empty row just now
			return err
		}
		var w window
		if w, r = decodeWindow(encoded).take(tx.Now, p); !r.Allowed {
			return nil
		}
		return tx.Queue(ctx, nil, `UPDATE throttle_windows SET slots = $2, ends_at = $3 WHERE key = $1`, key, w.encode(), w[len(w)-1].ends)
	})
	return r, err
}

// Clean removes empty windows; a periodic job calls it.
func Clean(ctx context.Context, d *db.DB) error {
	return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM throttle_windows WHERE ends_at < $1`, tx.Now)
		return err
	})
}
