package monitors

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/probe"
)

// mortal is a replica that can die as if by a power failure: nothing of it reaches the database or a target afterwards.
type mortal struct {
	*Service
	dead atomic.Bool
	stop context.CancelFunc
	gone sync.WaitGroup
}

func (in database) mortal(t *testing.T, seen *sync.Map) *mortal {
	m := &mortal{}
	m.Service = in.replica(t, clock.System(0), checks(func(ctx context.Context, target probe.Target) probe.Result {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		if m.dead.Load() {
			return probe.Result{Unknown: true}
		}
		seen.Store(target.URL, true)
		return probe.Result{OK: true, HTTPStatus: 200, Response: 50 * time.Millisecond}
	}))
	ctx, stop := context.WithCancel(t.Context())
	m.stop = stop
	m.gone.Go(func() { m.Run(ctx) })
	return m
}

func (m *mortal) kill() {
	m.dead.Store(true)
	_ = m.DB.Close() // what it does from now on fails, giving its leases back too
	m.stop()
}

// TestAReplicaThatDiesLosesNoCheckForLong kills one replica after the other, at any moment, while another one lives. Time
// is that of a bubble, so that hours pass in seconds.
func TestAReplicaThatDiesLosesNoCheckForLong(t *testing.T) {
	databases(t, func(t *testing.T, in database) {
		synctest.Test(t, func(t *testing.T) {
			const (
				count    = 40
				kills    = 3
				interval = time.Minute
			)
			random := rand.New(rand.NewPCG(12, 8))
			passes := func(d time.Duration) {
				time.Sleep(d) // sleeps: no real time passes in a bubble
			}
			var seen sync.Map
			one, other := in.mortal(t, &seen), in.mortal(t, &seen)
			fill(t, one.Service, count, nil)
			passes(2 * interval)
			all := []*mortal{one, other}
			for range kills {
				dies := all[0]
				held := shardsOf(t, all[1].Service, dies.name)
				dies.kill()
				if held == 0 {
					t.Fatal("the one that died checked nothing")
				}
				passes(interval + time.Duration(random.Int64N(int64(interval))))
				if left := shardsOf(t, all[1].Service, dies.name); left != 0 {
					t.Errorf("%d shards are still those of a dead replica", left)
				}
				all = append(all[1:], in.mortal(t, &seen))
				dies.gone.Wait()
				passes(time.Duration(random.Int64N(int64(interval)))) // the new one gets its share as leases are renewed
			}
			passes(2 * interval)
			for _, m := range all {
				m.stop()
				m.gone.Wait()
			}
			last := in.replica(t, clock.System(0), nil)
			n := 0
			seen.Range(func(any, any) bool { n++; return true })
			if n != count {
				t.Errorf("%d of %d monitors were checked", n, count)
			}
			longest, rows := longestGap(t, last.DB)
			if rows < count*kills || longest < interval {
				t.Fatalf("%d checks, %v apart: the test tests nothing", rows, longest)
			}
			if longest > interval+20*time.Second {
				t.Errorf("a monitor was not checked for %v", longest)
			}
			t.Logf("%d checks, at most %v apart", rows, longest)
		})
	})
}

func shardsOf(t *testing.T, s *Service, owner string) (n int) {
	t.Helper()
	if err := s.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM monitors_shards WHERE owner = $1`, owner).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// longestGap is the longest time between two checks of a monitor that are kept.
func longestGap(t *testing.T, d *db.DB) (longest time.Duration, rows int) {
	t.Helper()
	type row struct {
		monitor int64
		at      time.Time
	}
	all, err := db.Collect(t.Context(), d, func(r db.Row) (one row, err error) {
		err = r.Scan(&one.monitor, &one.at)
		return one, err
	}, `SELECT monitor_id, checked_at FROM monitors_checks ORDER BY monitor_id, checked_at`)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(all); i++ {
		if all[i].monitor == all[i-1].monitor {
			longest = max(longest, all[i].at.Sub(all[i-1].at))
		}
	}
	return longest, len(all)
}
