package nameserver

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// verdict is the decision about an answer over UDP.
type verdict int

const (
	answerSent      verdict = iota
	answerTruncated         // empty: a real client repeats the query over TCP
	answerDropped
)

// buckets is the number of networks that are distinguished; those of one bucket share it, so forged addresses cannot
// grow the memory.
const buckets = 1 << 14

// limiter bounds the answers per network. The address of a datagram may be
// forged: without a bound anybody could make this server flood somebody else.
type limiter struct {
	perSecond float64
	now       func() time.Time
	seed      maphash.Seed
	table     []bucket
}

type bucket struct {
	mu     sync.Mutex
	tokens float64
	last   time.Time
	over   uint
}

func newLimiter(perSecond int, now func() time.Time) *limiter {
	l := &limiter{perSecond: float64(perSecond), now: now, seed: maphash.MakeSeed()}
	if perSecond > 0 {
		l.table = make([]bucket, buckets)
	}
	return l
}

// take uses one answer up. Every other answer beyond the bound is sent truncated.
func (l *limiter) take(from netip.Addr) verdict {
	if l.table == nil {
		return answerSent
	}
	network, ok := networkOf(from)
	if !ok {
		return answerDropped // a datagram without an address cannot be answered
	}
	b := &l.table[maphash.Comparable(l.seed, network)%buckets]
	now := l.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.IsZero() {
		b.tokens = l.perSecond
	} else {
		b.tokens = min(l.perSecond, b.tokens+max(0, now.Sub(b.last).Seconds())*l.perSecond)
	}
	b.last = now
	if b.tokens >= 1 {
		b.tokens--
		return answerSent
	}
	b.over++
	if b.over%2 == 1 {
		return answerTruncated
	}
	return answerDropped
}
