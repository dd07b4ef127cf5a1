// Package places bounds how much of something there is at a time, such as open streams: for each key, so that nobody
// has what is everybody's, and in all.
package places

import "sync"

// Places are bounded. A key that has none takes no memory.
type Places[K comparable] struct {
	// Each is how many a key may have; All bounds those of all keys together, unless it is zero.
	Each, All int

	mu    sync.Mutex
	taken map[K]int
	all   int
}

// Take gives a key a place until giveBack, which does nothing when it is called again. ok is false where no place is free.
func (p *Places[K]) Take(key K) (giveBack func(), ok bool) {
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
	return sync.OnceFunc(func() { p.giveBack(key) }), true
}

// Taken is how many places are taken, by all keys together.
func (p *Places[K]) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

func (p *Places[K]) giveBack(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.taken[key]--; p.taken[key] == 0 {
		delete(p.taken, key)
	}
}
