package oauth

import (
	"cmp"
	"container/list"
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"stead.dev/stead/internal/platform/auth"
)

// maxAge is how long an entry is used without reading the database. It is shorter than signals are kept, so a replica
// that was disconnected for longer has no older entries left.
const maxAge = 5 * time.Minute

type tokenHash = [sha256.Size]byte

// The kinds of objects that a cache entry depends on.
const (
	refToken       = "token"
	refGrant       = "grant"
	refAccount     = "account"
	refApplication = "application"
)

// ref names an object that an entry depends on; when it changes, the entry is dropped.
type ref struct {
	kind string
	id   int64
}

// entry is a verified token. It does not change.
type entry struct {
	hash      tokenHash
	principal auth.Principal
	grantID   int64
	createdAt time.Time
	expiresAt time.Time
	filledAt  time.Time
	// the minute in which the use was last recorded
	noted *atomic.Int64
}

func (e *entry) refs() [4]ref {
	return [4]ref{
		{refToken, e.principal.TokenID},
		{refGrant, e.grantID},
		{refAccount, e.principal.AccountID},
		{refApplication, e.principal.ApplicationID},
	}
}

// cache holds the tokens that were verified last. The generation changes whenever entries are dropped, so that a result
// read from the database before is not stored afterwards.
type cache struct {
	max int

	mu         sync.Mutex
	entries    map[tokenHash]*list.Element // of *entry
	order      *list.List                  // the most recently used first
	made       map[ref]map[tokenHash]struct{}
	generation uint64
}

func newCache(limit int) *cache {
	return &cache{
		max: limit, entries: map[tokenHash]*list.Element{}, order: list.New(), made: map[ref]map[tokenHash]struct{}{},
	}
}

// get returns a valid entry, else nil.
func (c *cache) get(hash tokenHash, now time.Time) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[hash]
	if !ok {
		return nil
	}
	e := el.Value.(*entry) // the list holds nothing else
	if !now.Before(e.expiresAt) || now.Sub(e.filledAt) > maxAge {
		c.drop(el)
		return nil
	}
	c.order.MoveToFront(el)
	return e
}

// mark is the generation before a reading of the database.
func (c *cache) mark() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generation
}

// put stores e unless anything was dropped since mark.
func (c *cache) put(mark uint64, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mark != c.generation {
		return
	}
	if old, ok := c.entries[e.hash]; ok {
		c.drop(old)
	}
	c.entries[e.hash] = c.order.PushFront(e)
	for _, r := range e.refs() {
		if c.made[r] == nil {
			c.made[r] = map[tokenHash]struct{}{}
		}
		c.made[r][e.hash] = struct{}{}
	}
	for c.order.Len() > c.max {
		c.drop(c.order.Back())
	}
}

// forget drops all entries that depend on r.
func (c *cache) forget(r ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for hash := range c.made[r] {
		c.drop(c.entries[hash])
	}
}

// clear drops everything.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	if c.order.Len() == 0 {
		return
	}
	clear(c.entries)
	clear(c.made)
	c.order.Init()
}

func (c *cache) drop(el *list.Element) {
	e := c.order.Remove(el).(*entry) // the list holds nothing else
	delete(c.entries, e.hash)
	for _, r := range e.refs() {
		delete(c.made[r], e.hash)
		if len(c.made[r]) == 0 {
			delete(c.made, r)
		}
	}
}

// uses collects which grants were used, until they are written.
type uses struct {
	mu    sync.Mutex
	noted map[int64]time.Time
}

type use struct {
	grantID int64
	at      time.Time
}

// note records the use of e, at most once a minute.
func (u *uses) note(e *entry, now time.Time) {
	minute := now.Unix() / 60
	if before := e.noted.Load(); before == minute || !e.noted.CompareAndSwap(before, minute) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.noted == nil {
		u.noted = map[int64]time.Time{}
	}
	u.noted[e.grantID] = now
}

// take returns the recorded uses, in the order in which all replicas lock rows.
func (u *uses) take() []use {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := make([]use, 0, len(u.noted))
	for id, at := range u.noted {
		out = append(out, use{id, at})
	}
	u.noted = nil
	slices.SortFunc(out, func(a, b use) int { return cmp.Compare(a.grantID, b.grantID) })
	return out
}
