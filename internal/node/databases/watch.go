package databases

import (
	"context"
	"maps"
	"time"

	"stead.dev/stead/internal/platform/clock"
)

// How often the sizes of databases with a limit are looked at. A look takes at most a tenth of the time of one core, unless a
// database could grow for longer than watchWithin then: with what it takes to apply the limit, that is the promise of 30 s.
const (
	watchEvery  = 10 * time.Second
	watchShare  = 10
	watchWithin = 25 * time.Second
	watchRest   = time.Second // at least, between two looks
)

// watchPause is the time until the next look, when one took so long.
func watchPause(took time.Duration) time.Duration {
	return max(watchRest, min(max(watchEvery, (watchShare-1)*took), watchWithin-took))
}

// beginWatch looks at the sizes of databases in the background: a program fills a disk in less time than passes between two
// reconciliations.
func (d *Driver) beginWatch(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.mu.Lock()
	former := d.rest
	d.rest = cancel
	d.mu.Unlock()
	if former != nil {
		former()
	}
	d.watching.Go(func() {
		pause := watchEvery
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			stopwatch := clock.Stopwatch()
			d.look(ctx)
			took := stopwatch()
			if took > watchWithin {
				d.cfg.Log.Warn("the sizes of databases take too long to measure; their limits hold late", "took", took)
			}
			pause = watchPause(took)
		}
	})
}

// Close ends the facility's work in this process; the servers keep running.
func (d *Driver) Close() error {
	d.mu.Lock()
	if d.rest != nil {
		d.rest()
		d.rest = nil
	}
	d.mu.Unlock()
	d.watching.Wait()
	return nil
}

// look measures the databases that have a limit, and applies it where a database has come above it or below.
func (d *Driver) look(ctx context.Context) {
	d.mu.Lock()
	refs := maps.Clone(d.refs)
	d.mu.Unlock()
	for name, ref := range refs {
		for _, db := range d.records.Get(name).Databases {
			if ctx.Err() != nil {
				return
			}
			s, ok := d.servers[db.Engine]
			if !ok || db.MaxSizeMB == 0 || !db.Made || db.Ending {
				continue
			}
			bytes, h, err := s.size(ctx, db.Name, db.MaxSizeMB<<20)
			if err != nil {
				continue // reconciliation tells
			}
			d.mu.Lock()
			last := d.sizes[db.Name]
			if h == last.hold {
				last.bytes, last.at = bytes, d.cfg.Now()
				d.sizes[db.Name] = last
			}
			d.mu.Unlock()
			if h == last.hold {
				continue
			}
			d.beginLimit(ctx, ref, db.Name)
		}
	}
}

// beginLimit applies the limit of a database in the background, unless that is going on: what the account waits for, such as a large
// database that is removed, delays nobody else's limit.
func (d *Driver) beginLimit(ctx context.Context, ref, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limiting[name] {
		return
	}
	d.limiting[name] = true
	d.watching.Go(func() {
		if err := d.limit(ctx, ref, name); err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("the limit of a database cannot be applied", "account", ref, "database", name, "error", err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.limiting, name)
	})
}

// limit applies a database whose size has passed its limit.
func (d *Driver) limit(ctx context.Context, ref, name string) error {
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return err
	}
	defer d.lock(a.Name)()
	// It is measured anew, and again with the next look when this fails.
	d.mu.Lock()
	delete(d.sizes, name)
	d.mu.Unlock()
	rec := d.records.Get(a.Name)
	i := rec.find(name)
	if i < 0 {
		return nil
	}
	if err = d.applyOne(ctx, a, rec.Databases[i]); err != nil {
		d.mu.Lock()
		delete(d.sizes, name)
		d.mu.Unlock()
	}
	return err
}
