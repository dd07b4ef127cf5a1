package keylock

import (
	"strconv"
	"sync"
	"testing"
)

func TestLocksKeepCallersOfAKeyApartAndForgetIt(t *testing.T) {
	var locks Locks
	counts := make([]int, 4) // without the locks the race detector finds these
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			key := i % len(counts)
			defer locks.Lock(strconv.Itoa(key))()
			counts[key]++
		})
	}
	wg.Wait()
	for key, n := range counts {
		if n != 50 {
			t.Errorf("key %d: %d", key, n)
		}
	}
	if len(locks.held) != 0 {
		t.Errorf("%d keys are kept", len(locks.held))
	}
	done := locks.Lock("a")
	locks.Lock("b")() // does not wait for a
	if locks.TryLock("a") != nil {
		t.Error("locked twice")
	}
	done()
	done = locks.TryLock("a")
	if done == nil {
		t.Fatal("a free key is not locked")
	}
	done()
	if len(locks.held) != 0 {
		t.Errorf("%d keys are kept", len(locks.held))
	}
}
