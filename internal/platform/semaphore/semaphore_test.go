package semaphore

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestAKeyAndAllKeysAreBounded(t *testing.T) {
	p := Keyed[string]{Each: 2, All: 3}
	take := func(key string, want bool) func() {
		t.Helper()
		release, ok := p.Acquire(key)
		if ok != want {
			t.Errorf("%s: %v, want %v", key, ok, want)
		}
		return release
	}
	first := take("a", true)
	second := take("a", true)
	take("a", false)
	third := take("b", true)
	take("c", false)
	first()
	first() // once more
	take("c", true)
	take("a", false) // all three are taken
	second()
	take("a", true)
	take("b", false)
	third()
	take("b", true)
	if len(p.taken) != 3 || p.InUse() != 3 {
		t.Errorf("%d keys are kept, %d are in use", len(p.taken), p.InUse())
	}
}

func TestConcurrentAcquireKeepsTheBound(t *testing.T) {
	p := Keyed[int]{Each: 3}
	var wg sync.WaitGroup
	var open, most atomic.Int64
	for range 200 {
		wg.Go(func() {
			release, ok := p.Acquire(1)
			if !ok {
				return
			}
			most.Store(max(most.Load(), open.Add(1)))
			open.Add(-1)
			release()
		})
	}
	wg.Wait()
	if most.Load() > 3 || len(p.taken) != 0 || p.InUse() != 0 {
		t.Errorf("%d at once, %d keys are kept, %d are in use", most.Load(), len(p.taken), p.InUse())
	}
}
