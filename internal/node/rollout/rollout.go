// Package rollout keeps the configuration of a daemon that reads a directory with a file per account.
//
// A change is written whole, judged by the daemon's own checker, taken over by the daemon, and undone
// when either fails. Changes that come close together share one check and one reload, however many they
// are. One that the checker refuses is found and undone alone: nobody's broken configuration holds up
// another's.
package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/platform/clock"
)

// Config is what a rollout is told; all is needed.
type Config struct {
	Dir   string // of the files; nothing else is in it
	Ext   string // of the files' names: ".conf"
	Clock clock.Clock
	// Check answers an error when the daemon would refuse what is in Dir now.
	Check func(ctx context.Context) error
	// Load has the daemon take over what is in Dir now, and returns when it has.
	Load func(ctx context.Context) error
}

// Changes that come within quiet of each other are rolled out together, but none waits longer than
// patience for more to come; between two reloads lies at least the interval.
const (
	quiet    = 40 * time.Millisecond
	patience = 400 * time.Millisecond
	interval = time.Second
	limit    = 2 * time.Minute // of a check and a reload
)

// Rollout is the configuration of one daemon. Its methods may be called at the same time from anywhere.
type Rollout struct {
	cfg Config

	mu      sync.Mutex
	waiting []*change
	running bool
	now     map[string][]byte // what the daemon has; changed by the one who runs
	arrived chan struct{}     // one token: something is waiting
	loads   int
	last    time.Time // of the last load
	loaded  bool
	closed  chan struct{}
	idle    sync.WaitGroup
}

// change is the files of one call, by name; nil removes one.
type change struct {
	files  map[string][]byte
	before map[string][]byte
	done   chan error // buffered
}

// Open reads what is there. Nothing is checked or loaded before Start.
func Open(cfg Config) (*Rollout, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	r := &Rollout{cfg: cfg, now: map[string][]byte{}, arrived: make(chan struct{}, 1), closed: make(chan struct{})}
	entries, err := os.ReadDir(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	for _, e := range entries {
		file := filepath.Join(cfg.Dir, e.Name())
		name, ok := strings.CutSuffix(e.Name(), cfg.Ext)
		if !ok { // a write that a crash cut short
			if err := os.Remove(file); err != nil {
				return nil, fmt.Errorf("rollout: %w", err)
			}
			continue
		}
		if r.now[name], err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("rollout: %w", err)
		}
	}
	return r, nil
}

// Close ends the work on changes; those that wait fail.
func (r *Rollout) Close() error {
	r.mu.Lock()
	select {
	case <-r.closed:
	default:
		close(r.closed)
	}
	r.mu.Unlock()
	r.idle.Wait()
	return nil
}

// Start makes what is there pass the check, before the daemon starts with it: files that a crash left
// and that the checker refuses go; whoever they belong to is applied anew anyway.
func (r *Rollout) Start(ctx context.Context) error {
	if r.cfg.Check(ctx) == nil {
		return nil
	}
	var all []*change
	for name, content := range r.now {
		all = append(all, &change{files: map[string][]byte{name: content}, done: make(chan error, 1)})
	}
	for _, c := range all {
		for name := range c.files {
			if err := r.put(name, nil); err != nil {
				return err
			}
		}
	}
	if err := r.cfg.Check(ctx); err != nil { // it is not the accounts' fault
		for _, c := range all {
			for name, content := range c.files {
				err = errors.Join(err, r.put(name, content))
			}
		}
		return err
	}
	r.good(ctx, all)
	return nil
}

// Loads counts the reloads so far.
func (r *Rollout) Loads() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loads
}

// Has is what the daemon has under a name; nil when there is nothing.
func (r *Rollout) Has(name string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now[name]
}

// Names are the names of all files.
func (r *Rollout) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.now))
}

// Apply makes the named files have this content, nil for none, and returns when the daemon has taken
// them over. Files that are so already cost nothing. When it fails all of them are as they were.
func (r *Rollout) Apply(ctx context.Context, files map[string][]byte) error {
	c := &change{files: files, done: make(chan error, 1)}
	r.mu.Lock()
	if len(r.waiting) == 0 && !r.running && r.same(c) {
		r.mu.Unlock()
		return nil
	}
	select {
	case <-r.closed:
		r.mu.Unlock()
		return errors.New("rollout: closed")
	default:
	}
	r.waiting = append(r.waiting, c)
	if !r.running {
		r.running = true
		r.idle.Go(r.run)
	}
	r.mu.Unlock()
	select {
	case r.arrived <- struct{}{}:
	default: // somebody said so already
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// same tells that the change changes nothing. The caller holds the lock.
func (r *Rollout) same(c *change) bool {
	for name, content := range c.files {
		have, ok := r.now[name]
		if ok != (content != nil) || !bytes.Equal(have, content) {
			return false
		}
	}
	return true
}

// run rolls out what waits until nothing does.
func (r *Rollout) run() {
	for {
		r.gather()
		r.mu.Lock()
		batch := r.waiting
		r.waiting = nil
		if len(batch) == 0 {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		// The callers may leave; what they asked for is finished all the same.
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		r.roll(ctx, batch)
		cancel()
	}
}

// gather waits until no more changes come, or long enough.
func (r *Rollout) gather() {
	begun := r.cfg.Clock.Now()
	for {
		wait := quiet
		r.mu.Lock()
		if len(r.waiting) == 0 {
			r.mu.Unlock()
			return
		}
		if r.loaded {
			wait = max(wait, interval-r.cfg.Clock.Now().Sub(r.last))
		}
		r.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-r.closed:
			timer.Stop()
			return
		case <-timer.C:
			return
		case <-r.arrived:
			timer.Stop()
		}
		if r.cfg.Clock.Now().Sub(begun) > max(patience, interval) {
			return
		}
	}
}

// roll takes changes over, in the order in which they came, and answers each.
func (r *Rollout) roll(ctx context.Context, batch []*change) {
	batch = slices.DeleteFunc(batch, func(c *change) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(batch) == 1 && r.same(c) {
			c.done <- nil
			return true
		}
		return false
	})
	before := r.snapshot()
	good := r.good(ctx, batch)
	if len(good) == 0 || maps.EqualFunc(before, r.snapshot(), bytes.Equal) {
		for _, c := range good {
			c.done <- nil
		}
		return
	}
	err := r.load(ctx)
	if err != nil {
		for _, c := range slices.Backward(good) {
			err = errors.Join(err, r.undo(c))
		}
		err = errors.Join(err, r.load(ctx))
		if len(good) > 1 { // who of them was it?
			for _, c := range good {
				r.roll(ctx, []*change{c})
			}
			return
		}
	}
	for _, c := range good {
		c.done <- err
	}
}

func (r *Rollout) snapshot() map[string][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.now)
}

// good writes those of the changes that the checker accepts on top of what is there, and fails the
// others.
func (r *Rollout) good(ctx context.Context, batch []*change) []*change {
	if len(batch) == 0 {
		return nil
	}
	var err error
	written := 0
	for _, c := range batch {
		if err = r.write(c); err != nil {
			break
		}
		written++
	}
	if err == nil {
		if err = r.cfg.Check(ctx); err == nil {
			return batch
		}
	}
	for _, c := range slices.Backward(batch[:written]) {
		err = errors.Join(err, r.undo(c))
	}
	if len(batch) == 1 {
		batch[0].done <- err
		return nil
	}
	half := len(batch) / 2
	first := r.good(ctx, batch[:half])
	return slices.Concat(first, r.good(ctx, batch[half:]))
}

func (r *Rollout) load(ctx context.Context) error {
	err := r.cfg.Load(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loads++
	r.last, r.loaded = r.cfg.Clock.Now(), true
	return err
}

func (r *Rollout) write(c *change) error {
	c.before = map[string][]byte{}
	for name, content := range c.files {
		c.before[name] = r.Has(name)
		if err := r.put(name, content); err != nil {
			return errors.Join(err, r.undo(c))
		}
	}
	return nil
}

func (r *Rollout) undo(c *change) error {
	var err error
	for name, content := range c.before {
		err = errors.Join(err, r.put(name, content))
	}
	return err
}

// put makes a file have the content; nil removes it.
func (r *Rollout) put(name string, content []byte) error {
	file := filepath.Join(r.cfg.Dir, name+r.cfg.Ext)
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return fmt.Errorf("rollout: %q is no name", name)
	}
	r.mu.Lock()
	have, ok := r.now[name]
	r.mu.Unlock()
	if ok == (content != nil) && bytes.Equal(have, content) {
		return nil
	}
	var err error
	if content == nil {
		if err = os.Remove(file); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = record.WriteFile(file, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if content == nil {
		delete(r.now, name)
	} else {
		r.now[name] = content
	}
	return nil
}
