package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/panel"
)

// closures is what is known of the directories that accounts close to visitors by .htaccess.
type closures struct {
	mu    sync.Mutex
	asked map[string]bool          // accounts, by ref, to look at
	rests map[string]time.Duration // until when an account is not looked at again
	wake  chan struct{}
	since func() time.Duration

	unapplied map[string]bool               // accounts, by ref, whose last look was recorded and could not be applied
	ignored   map[string]panel.IgnoredRules // by ref: the rules without effect that the last look has found
}

// Of one account's looks: changes within lookMerge are found by one, and they take one part in lookShare of the time.
const (
	lookMerge = 200 * time.Millisecond
	lookShare = 10
	lookAgain = 10 * time.Second // when what the last one has found could not be applied
)

// mostClosed bounds the directories of an account that are known to be closed or opened: twice what one look finds.
const mostClosed = 2 * files.MostClosed

func newClosures() *closures {
	return &closures{
		asked: map[string]bool{}, rests: map[string]time.Duration{}, wake: make(chan struct{}, 1), since: clock.Stopwatch(),
		unapplied: map[string]bool{}, ignored: map[string]panel.IgnoredRules{},
	}
}

// ask has the account looked at soon.
func (c *closures) ask(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[ref] = true
	select {
	case c.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// next takes the accounts that are to be looked at now, and tells how long until the next; 0 when none was asked for.
func (c *closures) next() (refs []string, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.since()
	for ref := range c.asked {
		if rest := c.rests[ref] - now; rest > 0 {
			if pause == 0 || rest < pause {
				pause = rest
			}
			continue
		}
		refs = append(refs, ref)
		delete(c.asked, ref)
	}
	for ref, until := range c.rests {
		if until <= now {
			delete(c.rests, ref)
		}
	}
	return refs, pause
}

// looked notes how long a look took.
func (c *closures) looked(ref string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := max(lookMerge, took*(lookShare-1))
	if c.unapplied[ref] {
		rest = max(rest, lookAgain)
	}
	c.rests[ref] = c.since() + rest
}

// mark stores whether what a look has found could not be applied.
func (c *closures) mark(ref string, unapplied bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if unapplied {
		c.unapplied[ref] = true
	} else {
		delete(c.unapplied, ref)
	}
}

// isUnapplied reports whether what the last look has found is recorded and not applied.
func (c *closures) isUnapplied(ref string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unapplied[ref]
}

// setIgnored stores the rules without effect that a look has found, if the account is still here: it may have been deleted, and
// forgotten, while it was looked at. They are found anew after a restart.
func (c *closures) setIgnored(ref string, rules panel.IgnoredRules, isHere func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isHere() {
		c.ignored[ref] = rules
	}
}

// ignoredOf are the rules without effect of an account; nil before the first look.
func (c *closures) ignoredOf(ref string) *panel.IgnoredRules {
	c.mu.Lock()
	defer c.mu.Unlock()
	rules, known := c.ignored[ref]
	if !known {
		return nil
	}
	return &rules
}

// forget drops what is known of a deleted account.
func (c *closures) forget(ref string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ignored, ref)
	delete(c.unapplied, ref)
}

// closeDirectories looks at accounts that may have changed what they close, until ctx ends.
func (n *Node) closeDirectories(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for soon := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-n.closures.wake:
			if !soon { // else an account that asks all the time would put off everybody's look
				pause.Reset(lookMerge)
				soon = true
			}
			continue
		case <-pause.C:
			soon = false
		}
		refs, rest := n.closures.next()
		for _, ref := range refs {
			took := clock.Stopwatch()
			err := n.lookAt(ctx, ref)
			n.closures.looked(ref, took())
			if err != nil && ctx.Err() == nil && !errors.Is(err, panel.ErrNotFound) {
				n.cfg.Log.Warn("closed directories cannot be found", "account", ref, "error", err)
			}
		}
		if rest > 0 {
			pause.Reset(rest)
		}
	}
}

// lookAt finds the directories that an account closes, and closes them, and the rules without effect.
func (n *Node) lookAt(ctx context.Context, ref string) error {
	rec, err := n.here(ref)
	if err != nil {
		return err
	}
	var roots []string
	for _, d := range rec.Domains {
		roots = append(roots, d.DocumentRoot)
	}
	looked, err := n.Files.Closed(ctx, ref, roots)
	if err != nil {
		return err
	}
	return n.found(ctx, rec, looked)
}

// found closes the directories that a look has found.
func (n *Node) found(ctx context.Context, rec accounts.Record, looked files.Looked) error {
	n.closures.setIgnored(rec.Ref, looked.Ignored, func() bool {
		_, err := n.here(rec.Ref)
		return err == nil
	})
	found, former := looked.Closed, n.closed.Get(rec.Name)
	if !looked.Complete {
		found = withFormer(found, former)
	}
	slices.SortFunc(found, func(a, b files.Closed) int { return cmp.Compare(a.Dir, b.Dir) })
	if slices.Equal(found, former) && !n.closures.isUnapplied(rec.Ref) {
		return nil
	}
	if err := n.setClosed(rec, found); err != nil {
		return err
	}
	// The record is no proof: what it closes is open until it is applied.
	err := n.apply(ctx, rec.Ref)
	failed := err != nil && !errors.Is(err, panel.ErrNotFound)
	n.closures.mark(rec.Ref, failed)
	if failed {
		n.closures.ask(rec.Ref)
	}
	return err
}

// setClosed records the directories that are closed, if the account is still here. No account ends meanwhile.
func (n *Node) setClosed(rec accounts.Record, found []files.Closed) error {
	defer n.applying.Lock(rec.Ref)()
	if _, err := n.here(rec.Ref); err != nil {
		return err
	}
	_, err := n.closed.Update(rec.Name, func(c *[]files.Closed) error {
		*c = found
		return nil
	})
	return err
}

// withFormer adds what was closed and not looked at, which stays closed, to what an incomplete look found: up to mostClosed, as
// every directory is some lines of the web server's configuration.
func withFormer(found, former []files.Closed) []files.Closed {
	for _, c := range former {
		if len(found) >= mostClosed {
			break
		}
		if c.Denied && !slices.ContainsFunc(found, func(f files.Closed) bool { return f.Dir == c.Dir }) {
			found = append(found, c)
		}
	}
	return found
}

// closedIn are the directories of a site that are closed, and those within that are open.
func (n *Node) closedIn(rec accounts.Record, documentRoot string) (all []web.Closed) {
	root, err := files.CleanPath(documentRoot)
	if err != nil {
		return nil
	}
	above := false // whether the document root is closed by what is found above it
	nearest := -1
	for _, c := range n.closed.Get(rec.Name) {
		dir := "/" + string(c.Dir) + "/"
		if c.Dir == "." {
			dir = "/"
		}
		switch at := strings.TrimSuffix("/"+strings.TrimPrefix(root, "."), "/") + "/"; {
		case strings.HasPrefix(at, dir):
			if len(dir) > nearest {
				nearest, above = len(dir), c.Denied
			}
		case strings.HasPrefix(dir, at):
			all = append(all, web.Closed{Path: dir[len(at)-1:], Denied: c.Denied})
		}
	}
	if above {
		all = append(all, web.Closed{Path: "/", Denied: true})
	}
	slices.SortFunc(all, func(a, b web.Closed) int { return strings.Compare(a.Path, b.Path) })
	return all
}
