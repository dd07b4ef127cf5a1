package jobs

import "testing"

func TestAPollIsSparedWhileNothingHasChanged(t *testing.T) {
	p := newPolling(4)
	asks := func(queue string, want ...bool) {
		t.Helper()
		for i, w := range want {
			if got := p.wants(queue); got != w {
				t.Errorf("poll %d of %s asks the database: %v, want %v", i+1, queue, got, w)
			}
		}
	}
	asks("one", true, false, false, false, true, false) // the first, and each fourth all the same
	asks("other", true, false)
	p.change("one")
	p.change("nobody's")
	asks("one", true, false)
	asks("other", false)
	p.change()
	asks("one", true, false, false, false, true)
	asks("other", true, false)
}
