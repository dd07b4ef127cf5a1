// Package keylock has a lock for each key, so that one account's waiting does not delay another.
package keylock

import "sync"

// Locks are the locks of any number of keys. The zero value is ready for use; a free key takes no memory.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	sync.Mutex
	users int // holders and waiters
}

// Lock waits until the key is free and returns the function that unlocks it.
func (l *Locks) Lock(key string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	one := l.held[key]
	if one == nil {
		one = &lock{}
		l.held[key] = one
	}
	one.users++
	l.mu.Unlock()

	one.Lock()
	return func() {
		one.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.held, key)
		}
	}
}
