package node

import "sync"

// turns orders requests for accounts and the starts of work on them, so that work which started after a request is not
// repeated for it. The zero value is ready for use.
type turns struct {
	mu    sync.Mutex
	now   uint64
	begun map[string]uint64 // by ref: when the last successful work started
}

// next is a moment after all earlier ones.
func (t *turns) next() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	return t.now
}

// last is when the last successful work on the account started.
func (t *turns) last(ref string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun[ref]
}

// done records the success of work that started then.
func (t *turns) done(ref string, began uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun == nil {
		t.begun = map[string]uint64{}
	}
	t.begun[ref] = began
}

func (t *turns) forget(ref string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.begun, ref)
}
