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
	one := l.use(key)
	one.Lock()
	return func() { l.unlock(key, one) }
}

// TryLock locks the key if it is free, and returns the function that unlocks it; nil when it is not.
func (l *Locks) TryLock(key string) (unlock func()) {
	one := l.use(key)
	if !one.TryLock() {
		l.leave(key, one)
		return nil
	}
	return func() { l.unlock(key, one) }
}

// use counts the caller as a holder or waiter of the key's lock.
func (l *Locks) use(key string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	one := l.held[key]
	if one == nil {
		one = &lock{}
		l.held[key] = one
	}
	one.users++
	return one
}

// unlock ends what Lock or TryLock began.
func (l *Locks) unlock(key string, one *lock) {
	one.Unlock()
	l.leave(key, one)
}

// leave ends what use began.
func (l *Locks) leave(key string, one *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.held, key)
	}
}
