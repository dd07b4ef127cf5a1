package node

import "sync"

// turns orders what is asked of accounts and when work on them began, so that work which began after
// somebody asked for it is not done for him again. The zero value is ready for use.
type turns struct {
	mu    sync.Mutex
	now   uint64
	begun map[string]uint64 // by ref: when the last work began that succeeded
}

// next is a moment after all before it.
func (t *turns) next() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	return t.now
}

// last is when the last work on the account began that succeeded.
func (t *turns) last(ref string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun[ref]
}

// done notes that work succeeded that had begun then.
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
