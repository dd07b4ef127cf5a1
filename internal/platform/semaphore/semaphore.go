// Package semaphore bounds how many of something are open at a time, such as streams: for each key, so that one caller
// cannot take all, and in total.
package semaphore

import "sync"

// Keyed is a counting semaphore for each key. A key without anything open takes no memory.
type Keyed[K comparable] struct {
	// Each is how many a key may have; All bounds those of all keys together, unless it is zero.
	Each, All int

	mu    sync.Mutex
	taken map[K]int
	all   int
}

// Acquire reserves one for a key until release is called; further calls of release do nothing. ok is false when the key, or
// all keys together, have reached their limit.
func (p *Keyed[K]) Acquire(key K) (release func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key] >= p.Each || p.All > 0 && p.all >= p.All {
		return nil, false
	}
	if p.taken == nil {
		p.taken = map[K]int{}
	}
	p.taken[key]++
	p.all++
	return sync.OnceFunc(func() { p.release(key) }), true
}

// InUse is how many are reserved, by all keys together.
func (p *Keyed[K]) InUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

func (p *Keyed[K]) release(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.taken[key]--; p.taken[key] == 0 {
		delete(p.taken, key)
	}
}
