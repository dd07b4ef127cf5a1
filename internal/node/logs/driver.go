package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/platform/semaphore"
	"stead.dev/stead/internal/port/panel"
)

// How often the background looks for logs to rotate, and counts what was sent.
const every = time.Minute

// Driver is the facility: panel.Logs, and the counter of an account's traffic and visits.
type Driver struct {
	store  *Store
	lookup facility.Lookup
	sent   *record.Store[traffic]
	days   *record.Store[[]pastDay] // that are over

	counting sync.Mutex
	streams  semaphore.Keyed[string] // open ones, by account

	stop       context.CancelFunc
	background sync.WaitGroup
}

var (
	_ panel.Logs        = (*Driver)(nil)
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Counter  = (*Driver)(nil)
)

// New makes the facility for a store; it keeps its counters in state.
func New(store *Store, state string, lookup facility.Lookup) (*Driver, error) {
	sent, err := record.Open[traffic](filepath.Join(state, "traffic"))
	if err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	days, err := record.Open[[]pastDay](filepath.Join(state, "visits"))
	if err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	return &Driver{store: store, lookup: lookup, sent: sent, days: days, streams: semaphore.Keyed[string]{Each: streamsMost}}, nil
}

// Capability implements facility.Facility.
func (d *Driver) Capability() panel.Capability { return panel.CapLogs }

// Start implements facility.Starter: until Close logs are rotated and counted.
func (d *Driver) Start(ctx context.Context) error {
	ctx, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	d.background.Go(func() { d.run(ctx) })
	return nil
}

// Close ends the background work of Start.
func (d *Driver) Close() error {
	if d.stop != nil {
		d.stop()
	}
	d.background.Wait()
	return nil
}

func (d *Driver) run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.Tick(ctx)
		}
	}
}

// Tick does the background work. It counts traffic before it rotates, so that no line is lost.
func (d *Driver) Tick(ctx context.Context) {
	for account := range d.sent.All() {
		if _, err := d.count(ctx, account); err != nil {
			d.store.cfg.Log.Warn("traffic cannot be counted", "account", account, "error", err)
		}
	}
	if err := d.store.Rotate(ctx); err != nil {
		d.store.cfg.Log.Warn("logs cannot be rotated", "error", err)
	}
}

// Apply implements facility.Facility.
func (d *Driver) Apply(_ context.Context, a accounts.Account) error {
	if err := d.store.Prepare(a.Name, 0, a.User.GID); err != nil {
		return err
	}
	if d.sent.Get(a.Name).Volume != 0 {
		return nil
	}
	_, err := d.sent.Update(a.Name, func(t *traffic) error {
		t.Volume = 1
		return nil
	})
	return err
}

// Remove implements facility.Facility.
func (d *Driver) Remove(_ context.Context, a accounts.Account) error {
	d.counting.Lock() // wait for a running count, which would store a counter of the removed account
	defer d.counting.Unlock()
	return errors.Join(d.store.Remove(a.Name), d.sent.Delete(a.Name), d.days.Delete(a.Name))
}

// ReadLog implements panel.Logs.
func (d *Driver) ReadLog(ctx context.Context, ref string, q panel.LogQuery) (panel.LogPage, error) {
	a, err := d.lookup(ref)
	var page panel.LogPage
	if err == nil {
		page, err = d.store.Read(ctx, a.Name, q)
	}
	return page, panel.Wrap("logs.read", ref, err)
}

// FollowLog implements panel.Logs.
func (d *Driver) FollowLog(ctx context.Context, ref string, q panel.LogQuery) (io.ReadCloser, error) {
	a, err := d.lookup(ref)
	if err != nil {
		return nil, panel.Wrap("logs.follow", ref, err)
	}
	stream, err := d.follow(ctx, a.Name, q)
	return stream, panel.Wrap("logs.follow", ref, err)
}

// Count implements facility.Counter.
func (d *Driver) Count(ctx context.Context, a accounts.Account, into *panel.Usage) error {
	sent, err := d.count(ctx, a.Name)
	into.TrafficBytes = &sent
	return err
}
