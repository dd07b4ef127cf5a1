package node

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/node/limits"
	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/clock"
)

// How the background follows what accounts occupy. Whatever is written through this process is counted
// as it comes; what programs and daemons write is found by walking. An account that has processes is
// walked again after busyPause, any other after idlePause; walking takes at most one part in
// walkShare of the time.
const (
	sweepPause = 2 * time.Second
	busyPause  = 10 * time.Second
	idlePause  = time.Hour
	walkShare  = 10

	idleWalk     = time.Second
	shortestRest = 5 * time.Millisecond
)

// walked is what the background knows of an account.
type walked struct {
	at     time.Duration // when it was walked last, since the background began
	took   time.Duration // that
	active bool          // it had processes since
}

// never is before the background began, by more than all pauses.
const never = -100 * 365 * 24 * time.Hour

// follow walks accounts one after the other, and has full ones write no more.
func (n *Node) follow(ctx context.Context) {
	known := map[string]*walked{}
	since := clock.Stopwatch()
	sweeper := limits.NewSweeper()
	sweep := time.NewTicker(sweepPause)
	defer sweep.Stop()
	walk := time.NewTimer(0)
	defer walk.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			n.sweep(sweeper, known)
		case <-walk.C:
			walk.Reset(n.walk(ctx, known, since))
		}
	}
}

// sweep looks after the processes of the accounts that have users.
func (n *Node) sweep(sweeper *limits.Sweeper, known map[string]*walked) {
	users := map[int]limits.User{}
	refs := map[int]string{}
	for _, rec := range n.accounts.List() {
		if rec.User.UID != 0 {
			users[rec.User.UID] = limits.User{Name: rec.User.Name, Full: n.Files.Full(rec.Ref)}
			refs[rec.User.UID] = rec.Ref
		}
	}
	if len(users) == 0 {
		return
	}
	active, err := sweeper.Sweep(users)
	if err != nil {
		n.cfg.Log.Warn("processes of accounts cannot be looked after", "error", err)
	}
	for uid := range active {
		if w := known[refs[uid]]; w != nil {
			w.active = true
		}
	}
}

// walk walks the account that waits longest for it, if any does, and answers when to come again. since tells how long
// ago the background began: the machine's clock may be put forward or back while it works.
func (n *Node) walk(ctx context.Context, known map[string]*walked, since func() time.Duration) time.Duration {
	now := since()
	var next string
	var longest time.Duration
	all := n.accounts.List()
	for _, rec := range all {
		w := known[rec.Ref]
		if w == nil {
			w = &walked{at: never, active: true}
			known[rec.Ref] = w
		}
		pause := idlePause
		if w.active || n.Files.Full(rec.Ref) {
			pause = max(busyPause, 2*walkShare*w.took)
		}
		if due := now - w.at - pause; due >= 0 && (next == "" || due > longest) {
			next, longest = rec.Ref, due
		}
	}
	if len(known) > 2*len(all)+100 { // most of them ended
		clear(known)
	}
	w := known[next]
	if w == nil {
		return idleWalk
	}
	w.active = false
	err := n.Files.Measure(ctx, next)
	if err != nil && ctx.Err() == nil && !errors.Is(err, panel.ErrNotFound) {
		n.cfg.Log.Warn("account cannot be measured", "account", next, "error", err)
	}
	w.at = since()
	w.took = w.at - now
	return max(w.took*(walkShare-1), shortestRest)
}
