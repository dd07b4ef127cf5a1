package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/limits"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/panel"
)

// How the background measures usage. Writes through this process are counted as they come; writes of programs and
// daemons are found by walking. An account with processes is walked again after busyPause, any other after idlePause;
// walking takes at most one part in walkShare of the time.
const (
	sweepPause = 2 * time.Second
	busyPause  = 10 * time.Second
	idlePause  = time.Hour
	walkShare  = 10

	idleWalk     = time.Second
	walksAtOnce  = 64 // so many accounts are chosen at a time: all are looked at for that
	shortestRest = 5 * time.Millisecond
)

// watched is the background's knowledge of accounts, by ref.
type watched struct {
	mu   sync.Mutex
	of   map[string]*walked
	next []string // whom to walk next
}

// walked is the background's knowledge of an account.
type walked struct {
	at     time.Duration // when it was last walked, since the background started
	took   time.Duration // the duration of that walk
	active bool          // it has had processes since
}

// never is before the background started, by more than all pauses.
const never = -100 * 365 * 24 * time.Hour

// follow walks accounts one after the other, and stops writes of full ones.
func (n *Node) follow(ctx context.Context) {
	known := &watched{of: map[string]*walked{}}
	sweeper := limits.NewSweeper()
	since := clock.Stopwatch()
	beside(ctx, sweepPause, func() { n.sweep(sweeper, known) }, func() time.Duration { return n.walk(ctx, known, since) })
}

// beside calls sweep periodically, and walk when it asks for it, until ctx ends. Neither waits for the other: walking
// an account of millions of files takes minutes, during which the processes of all others need attention.
func beside(ctx context.Context, pause time.Duration, sweep func(), walk func() time.Duration) {
	var walking sync.WaitGroup
	defer walking.Wait()
	walking.Go(func() {
		next := time.NewTimer(0)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
				next.Reset(walk())
			}
		}
	})
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			sweep()
		}
	}
}

// sweep limits the processes of accounts that have users.
func (n *Node) sweep(sweeper *limits.Sweeper, known *watched) {
	users := map[int]limits.User{}
	refs := map[int]string{}
	for _, rec := range n.accounts.Where(func(rec accounts.Record) bool { return rec.User.UID != 0 }) {
		above := n.Files.Above(rec.Ref)
		u := limits.User{Name: rec.User.Name, Full: above > 0, Nothing: above > limits.Reserve(rec.Limits.DiskBytes())}
		if u.Full && n.cfg.LogSize != nil {
			u.Log = n.cfg.LogSize(rec.Name)
		}
		users[rec.User.UID] = u
		refs[rec.User.UID] = rec.Ref
	}
	if len(users) == 0 {
		return
	}
	active, err := sweeper.Sweep(users)
	if err != nil {
		n.cfg.Log.Warn("processes of accounts cannot be looked after", "error", err)
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	for uid := range active {
		if w := known.of[refs[uid]]; w != nil {
			w.active = true
		}
	}
}

// walk walks the account that has waited longest, if one is due, and returns when to come again. since is the time
// since the background started: the machine's clock may be changed while it works.
func (n *Node) walk(ctx context.Context, known *watched, since func() time.Duration) time.Duration {
	now := since()
	next, w := n.nextWalk(known, now)
	if w == nil {
		return idleWalk
	}
	err := n.Files.Measure(ctx, next)
	if err != nil && ctx.Err() == nil && !errors.Is(err, panel.ErrNotFound) {
		n.cfg.Log.Warn("account cannot be measured", "account", next, "error", err)
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	w.at = since()
	w.took = w.at - now
	return max(w.took*(walkShare-1), shortestRest)
}

// nextWalk is the account to walk next, if one is due.
func (n *Node) nextWalk(known *watched, now time.Duration) (ref string, w *walked) {
	known.mu.Lock()
	defer known.mu.Unlock()
	if len(known.next) == 0 {
		known.next = n.due(known, now)
	}
	if len(known.next) == 0 {
		return "", nil
	}
	ref, known.next = known.next[0], known.next[1:]
	w = known.of[ref]
	w.active = false
	return ref, w
}

// due are the accounts that have waited longest for a walk, these first.
func (n *Node) due(known *watched, now time.Duration) []string {
	var refs []string
	waited := map[string]time.Duration{}
	all := n.accounts.Refs()
	if len(known.of) > 2*len(all)+100 { // most of them were deleted
		clear(known.of)
	}
	for _, ref := range all {
		w := known.of[ref]
		if w == nil {
			w = &walked{at: never, active: true}
			known.of[ref] = w
		}
		pause := idlePause
		if w.active || n.Files.Full(ref) {
			pause = max(busyPause, 2*walkShare*w.took)
		}
		if due := now - w.at - pause; due >= 0 {
			refs = append(refs, ref)
			waited[ref] = due
		}
	}
	slices.SortStableFunc(refs, func(a, b string) int { return cmp.Compare(waited[b], waited[a]) })
	return refs[:min(len(refs), walksAtOnce)]
}
