package atonce

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestEachIsCalledWithAllAndWithFewAtATime(t *testing.T) {
	var (
		mu        sync.Mutex
		seen      []int
		now, most int
	)
	Each(50, 3, func(i int) {
		mu.Lock()
		now++
		most = max(most, now)
		seen = append(seen, i)
		mu.Unlock()
		mu.Lock()
		now--
		mu.Unlock()
	})
	slices.Sort(seen)
	if len(seen) != 50 || seen[0] != 0 || seen[49] != 49 || len(slices.Compact(seen)) != 50 || most > 3 {
		t.Errorf("%d at a time: %v", most, seen)
	}
	Each(0, 3, func(int) { t.Error("called for nothing") })
}

func TestAPanicIsTheCallers(t *testing.T) {
	var mu sync.Mutex
	ended := 0
	defer func() {
		said := fmt.Sprint(recover())
		if !strings.Contains(said, "broken") || !strings.Contains(said, "atonce_test.go") || ended != 4 {
			t.Errorf("%d of the others ended; %s", ended, said)
		}
	}()
	Each(5, 2, func(i int) {
		if i == 1 {
			panic("broken")
		}
		mu.Lock()
		ended++
		mu.Unlock()
	})
}
