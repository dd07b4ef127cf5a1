// Package keylock gives each key a lock of its own, so that what one account waits for holds up no
// other account.
package keylock

import "sync"

// Locks are the locks of any number of keys. The zero value is ready for use; a key that nobody
// holds takes no memory.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	sync.Mutex
	users int // who holds it or waits for it
}

// Lock waits until nobody holds the key and answers how to let go of it.
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
