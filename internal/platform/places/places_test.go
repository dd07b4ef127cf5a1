package places

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestPlacesAreBoundedForEachAndForAll(t *testing.T) {
	p := Places[string]{Each: 2, All: 3}
	take := func(key string, want bool) func() {
		t.Helper()
		giveBack, ok := p.Take(key)
		if ok != want {
			t.Errorf("%s: %v, want %v", key, ok, want)
		}
		return giveBack
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
	if len(p.taken) != 3 || p.Taken() != 3 {
		t.Errorf("%d keys are kept, %d places are taken", len(p.taken), p.Taken())
	}
}

func TestPlacesAreTakenAtTheSameTime(t *testing.T) {
	p := Places[int]{Each: 3}
	var wg sync.WaitGroup
	var open, most atomic.Int64
	for range 200 {
		wg.Go(func() {
			giveBack, ok := p.Take(1)
			if !ok {
				return
			}
			most.Store(max(most.Load(), open.Add(1)))
			open.Add(-1)
			giveBack()
		})
	}
	wg.Wait()
	if most.Load() > 3 || len(p.taken) != 0 || p.Taken() != 0 {
		t.Errorf("%d at once, %d keys are kept, %d places are taken", most.Load(), len(p.taken), p.Taken())
	}
}
