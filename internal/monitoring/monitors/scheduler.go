package monitors

import (
	"container/heap"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/probe"
)

// Bounds of the scheduler.
const (
	// mostInFlight are the checks that a process makes at a time.
	mostInFlight = 2000
	// Overdue monitors are spread over overdueEach for each, and overdueMost in all.
	overdueEach = 4 * time.Millisecond
	overdueMost = 4 * time.Second
	// Results are written when so many have come, or after so long: newsWait when one of them tells something new.
	batchSize = 200
	batchWait = 2 * time.Second
	newsWait  = 250 * time.Millisecond
	// mostWaiting bounds the results that wait for a database that does not answer; the oldest are dropped.
	mostWaiting = 10_000
	// beatLook is how often it is looked whether heartbeats have come.
	beatLook = 30 * time.Second
	// compareEvery is how often the entries are compared with the rows, for a signal may be lost.
	compareEvery = time.Minute
	// askApart is the least time between a check and one that another region asks for.
	askApart = 10 * time.Second
	// stopWait is how long checks may take to end when the process stops.
	stopWait = 2 * time.Second
)

// entry is a monitor as the scheduler knows it.
type entry struct {
	id       int64
	shard    int
	epoch    int64
	revision string // of its settings, by which a change is known
	settings settings
	target   probe.Target
	due      time.Time
	index    int  // in the heap; -1 while it is checked
	gone     bool // it is not to be checked any more
	// The last check that told something, for the share of the control plane.
	lastAt time.Time
	failed bool
}

// queue is a heap of entries by due time.
type queue []*entry

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *queue) Push(x any) { e := x.(*entry); e.index = len(*q); *q = append(*q, e) } //nolint:forcetypeassert // entries only
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q, e.index = old[:len(old)-1], -1
	return e
}

// scheduler makes the checks of the shards that this process leases.
type scheduler struct {
	*Service
	// reading is held from before rows are read until the entries are as these rows say, so that no older row replaces a newer one.
	reading  sync.Mutex
	mu       sync.Mutex
	queue    queue
	entries  map[int64]*entry
	leases   map[int]int64     // epochs by shard
	watched  map[int]time.Time // since when shards are looked at without a gap, of those that have had one
	changed  chan struct{}     // the queue has changed
	inFlight chan struct{}
	results  chan outcome
	checks   sync.WaitGroup
	late     func(time.Duration) // told how late each check began; for tests
}

func (s *Service) newScheduler() *scheduler {
	return &scheduler{
		Service: s, entries: map[int64]*entry{}, leases: map[int]int64{}, watched: map[int]time.Time{}, changed: make(chan struct{}, 1),
		inFlight: make(chan struct{}, mostInFlight), results: make(chan outcome, batchSize), late: func(time.Duration) {},
	}
}

// Run checks until ctx ends.
func (s *Service) Run(ctx context.Context) {
	if s.Idle {
		return
	}
	s.newScheduler().run(ctx)
}

func (d *scheduler) run(ctx context.Context) {
	refresh := make(chan int64, 1024)
	d.Signals.Subscribe(topic, func(payload string) {
		id, err := strconv.ParseInt(payload, 10, 64)
		if err != nil {
			return
		}
		select {
		case refresh <- id:
		default: // compare finds it
		}
	})
	d.Signals.Subscribe(askTopic, d.asked)
	checking, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { d.keepLeases(ctx) })
	running.Go(func() { d.follow(ctx, refresh) })
	running.Go(func() { d.keepEqual(ctx) })
	running.Go(func() { d.start(ctx, checking) })
	written := make(chan struct{})
	go func() {
		defer close(written)
		d.write(context.WithoutCancel(ctx))
	}()
	<-ctx.Done()
	running.Wait()
	timer := time.AfterFunc(stopWait, stop)
	d.checks.Wait()
	timer.Stop()
	close(d.results)
	<-written
	if err := d.release(context.WithoutCancel(ctx)); err != nil {
		d.Log.Warn("monitors: leases are not given back", "error", err)
	}
}

// keepLeases renews the leases, and takes over what others have left.
func (d *scheduler) keepLeases(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	made, last := false, time.Time{}
	for {
		if !made {
			err := d.makeShards(ctx)
			made = err == nil
			d.warn(ctx, "make shards", err)
		}
		free, err := d.free(ctx)
		d.warn(ctx, "look for leases", err)
		if now := d.Clock.Now(); made && (free || now.Sub(last) >= renewEvery) {
			held, err := d.renew(ctx, d.share())
			d.warn(ctx, "renew leases", err)
			if err == nil {
				last = now
				d.warn(ctx, "load monitors", d.lead(ctx, held))
			} else if now.Sub(last) >= leaseFor {
				d.warn(ctx, "drop monitors", d.lead(ctx, nil)) // somebody else has them now
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (d *scheduler) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		d.Log.Warn("monitors: "+what, "error", err)
	}
}

// lead makes the scheduler check exactly the shards of these leases.
func (d *scheduler) lead(ctx context.Context, held []lease) error {
	now := map[int]int64{}
	d.mu.Lock()
	for _, l := range held {
		if now[l.shard] = l.epoch; !l.since.IsZero() {
			d.watched[l.shard] = l.since
		}
	}
	var fresh []int64
	for shard, epoch := range now {
		if d.leases[shard] != epoch {
			fresh = append(fresh, int64(shard))
		}
	}
	for _, e := range d.entries {
		if now[e.shard] != e.epoch {
			d.drop(e)
		}
	}
	for shard := range d.leases {
		if now[shard] != d.leases[shard] {
			delete(d.leases, shard)
		}
	}
	d.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	d.reading.Lock()
	defer d.reading.Unlock()
	loaded := []monitor{}
	for above := int64(0); ; {
		rows, err := ofShards(ctx, d.DB, fresh, above, 1000)
		if err != nil {
			return err
		}
		loaded = append(loaded, rows...)
		if len(rows) < 1000 {
			break
		}
		above = rows[len(rows)-1].id
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, shard := range fresh {
		d.leases[int(shard)] = now[int(shard)]
	}
	d.add(loaded)
	return nil
}

// add takes monitors up, and spreads those that are overdue. d.mu is held.
func (d *scheduler) add(loaded []monitor) {
	now := d.Clock.Now()
	var overdue []*entry
	for i := range loaded {
		m := &loaded[i]
		epoch, ok := d.leases[m.shard]
		if !ok || m.paused {
			continue
		}
		e, err := d.entry(m, epoch)
		if err != nil {
			d.Log.Warn("monitors: a monitor cannot be checked", "monitor", m.id, "error", err)
			continue
		}
		if old := d.entries[m.id]; old != nil {
			d.drop(old)
		}
		d.entries[m.id] = e
		if e.due = firstDue(m, now); !e.due.After(now) {
			overdue = append(overdue, e)
			continue
		}
		heap.Push(&d.queue, e)
	}
	slices.SortFunc(overdue, func(a, b *entry) int { return a.due.Compare(b.due) })
	spread := min(overdueEach*time.Duration(len(overdue)), overdueMost)
	for i, e := range overdue {
		e.due = now.Add(spread * time.Duration(i) / time.Duration(len(overdue)))
		heap.Push(&d.queue, e)
	}
	d.wake()
}

// step is how often something is done about a monitor.
func (s settings) step() time.Duration {
	if s.Target.Type == probe.Heartbeat {
		return beatLook
	}
	return s.interval()
}

// firstDue is when a monitor is due that is taken up: an interval after its last check, in its phase; now when it was never
// checked.
func firstDue(m *monitor, now time.Time) time.Time {
	if m.lastCheckedAt == nil {
		return now
	}
	step := m.settings.step()
	due := inPhase(m.id, step, *m.lastCheckedAt)
	if m.memory.failing() && m.status != Down {
		due = m.lastCheckedAt.Add(min(m.settings.retryInterval(), step))
	}
	return due
}

func (m memory) failing() bool {
	for _, v := range m.Votes {
		if v.Failures > 0 {
			return true
		}
	}
	return false
}

// inPhase is the first time after a moment that is in the phase of a monitor. The phase follows from its id, so that it is
// the same for every replica, and monitors that were made together are not checked together.
func inPhase(id int64, step time.Duration, after time.Time) time.Time {
	phase := time.Duration(uint64(id)*0x9E3779B97F4A7C15>>1) % step //nolint:gosec // a hash: ids are positive
	at := after.Truncate(step).Add(phase)
	if !at.After(after) {
		at = at.Add(step)
	}
	return at
}

func (d *scheduler) entry(m *monitor, epoch int64) (*entry, error) {
	e := &entry{id: m.id, shard: m.shard, epoch: epoch, revision: m.revision(), settings: m.settings, target: m.settings.Target, index: -1}
	headers, err := d.openHeaders(*m)
	if err != nil {
		return nil, err
	}
	for name, value := range headers {
		if e.target.Header == nil {
			e.target.Header = http.Header{}
		}
		e.target.Header.Set(name, value)
	}
	return e, nil
}

// drop takes an entry out. d.mu is held.
func (d *scheduler) drop(e *entry) {
	e.gone = true
	if e.index >= 0 {
		heap.Remove(&d.queue, e.index)
	}
	if d.entries[e.id] == e {
		delete(d.entries, e.id)
	}
}

func (d *scheduler) wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// follow takes up monitors that have changed, as signals tell.
func (d *scheduler) follow(ctx context.Context, refresh <-chan int64) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-refresh:
			d.warn(ctx, "read a monitor that has changed", d.refresh(ctx, id))
		}
	}
}

// refresh makes the entry of a monitor as its row is. One that is new, resumed or checked otherwise is due at once. When the row cannot
// be read, the entry stays as it is.
func (d *scheduler) refresh(ctx context.Context, id int64) error {
	d.reading.Lock()
	defer d.reading.Unlock()
	m, err := byID(ctx, d.DB, id)
	if errors.Is(err, db.ErrNoRows) {
		m = monitor{id: id, paused: true}
	} else if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.entries[id]; old != nil && (m.paused || old.revision != m.revision()) {
		d.drop(old)
	}
	if !m.paused && d.entries[id] == nil {
		if m.settings.Target.Type != probe.Heartbeat {
			m.lastCheckedAt = nil
		}
		d.add([]monitor{m})
	}
	return nil
}

// keepEqual finds the changes of which no signal has told.
func (d *scheduler) keepEqual(ctx context.Context) {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.warn(ctx, "compare monitors", d.compare(ctx))
		}
	}
}

// compare refreshes the entries of the leased shards that are not as the rows say.
func (d *scheduler) compare(ctx context.Context) error {
	known := map[int64]string{}
	var leased []int64
	d.mu.Lock()
	for shard := range d.leases {
		leased = append(leased, int64(shard))
	}
	for id, e := range d.entries {
		known[id] = e.revision
	}
	d.mu.Unlock()
	if len(leased) == 0 {
		return nil
	}
	const atOnce = 1000
	var differ []int64
	for above, rows := int64(0), atOnce; rows == atOnce; {
		stored, err := revisionsOfShards(ctx, d.DB, leased, above, atOnce)
		if err != nil {
			return err
		}
		for i := range stored {
			m := &stored[i]
			if known[m.id] != m.revision() {
				differ = append(differ, m.id)
			}
			delete(known, m.id)
			above = m.id
		}
		rows = len(stored)
	}
	differ = slices.AppendSeq(differ, maps.Keys(known)) // paused or gone
	for _, id := range differ {
		if err := d.refresh(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// start begins the checks that are due, until ctx ends; checks may go on until checking does.
func (d *scheduler) start(ctx, checking context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var e *entry
		wait := time.Hour
		d.mu.Lock()
		if len(d.queue) > 0 {
			if wait = d.queue[0].due.Sub(d.Clock.Now()); wait <= 0 {
				e = heap.Pop(&d.queue).(*entry) //nolint:forcetypeassert // entries only
			}
		}
		d.mu.Unlock()
		if e == nil {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			case <-d.changed:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case d.inFlight <- struct{}{}:
		}
		d.late(d.Clock.Now().Sub(e.due))
		d.checks.Go(func() {
			defer func() { <-d.inFlight }()
			d.check(checking, e)
		})
	}
}

func (d *scheduler) check(ctx context.Context, e *entry) {
	o := outcome{monitorID: e.id, revision: e.revision, shard: e.shard, epoch: e.epoch, scheduledAt: e.due}
	if e.target.Type != probe.Heartbeat {
		o.result = d.Prober.Check(ctx, e.target)
	} else {
		d.mu.Lock()
		o.watched = d.watched[e.shard]
		d.mu.Unlock()
	}
	if ctx.Err() != nil {
		return // the process stops: somebody else will look
	}
	o.checkedAt = d.Clock.Now()
	d.mu.Lock()
	o.news = e.target.Type != probe.Heartbeat && (!o.result.OK || e.failed || e.lastAt.IsZero())
	d.mu.Unlock()
	d.results <- o
}

// write takes results in, many at a time, and plans the next checks.
func (d *scheduler) write(ctx context.Context) {
	var (
		waiting []outcome
		hurry   bool // one of them tells something new
	)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for open := true; open; {
		var flush bool
		select {
		case o, ok := <-d.results:
			if open = ok; !ok {
				flush = true
				break
			}
			if len(waiting) == 0 {
				timer.Reset(batchWait)
				hurry = false
			}
			if o.news && !hurry {
				timer.Reset(newsWait)
				hurry = true
			}
			waiting = append(waiting, o)
			flush = len(waiting) >= batchSize
		case <-timer.C:
			flush = true
		}
		if !flush || len(waiting) == 0 {
			continue
		}
		now := waiting
		waiting = nil
		for some := range slices.Chunk(now, batchSize) {
			told, err := d.record(ctx, some)
			if err != nil {
				d.Log.Warn("monitors: results are not written", "count", len(some), "error", err)
				if waiting = append(waiting, some...); len(waiting) > mostWaiting {
					waiting = waiting[len(waiting)-mostWaiting:]
				}
			}
			d.plan(some, told)
		}
		if len(waiting) > 0 && open {
			timer.Reset(time.Second)
		}
	}
}

// asked makes monitors due at once that another region has found changed.
func (d *scheduler) asked(payload string) {
	region, ids, ok := readAsk(payload)
	if !ok || region == homeRegion {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Clock.Now()
	for _, id := range ids {
		e := d.entries[id]
		if e == nil || e.index < 0 || e.target.Type == probe.Heartbeat || now.Sub(e.lastAt) < askApart || !e.due.After(now) {
			continue
		}
		e.due = now
		heap.Fix(&d.queue, e.index)
	}
	d.wake()
}

// share is what was found of late of the monitors that other regions check too.
func (d *scheduler) share() (found share) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Clock.Now()
	for _, e := range d.entries {
		if e.lastAt.IsZero() || now.Sub(e.lastAt) > shareFor || e.settings.homeOnly() {
			continue
		}
		if found.checked++; e.failed {
			found.failing++
		}
	}
	return found
}

// plan says when the monitors of results are due again. One that fails and is not known to be down is tried again soon.
func (d *scheduler) plan(results []outcome, told map[int64]recorded) {
	now := d.Clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range results {
		e := d.entries[o.monitorID]
		if e == nil || e.gone || e.index >= 0 || e.epoch != o.epoch || !e.due.Equal(o.scheduledAt) {
			continue // it is planned already, and may be checked again: what could not be written comes here twice
		}
		if !o.result.Unknown {
			e.lastAt, e.failed = o.checkedAt, !o.result.OK
		}
		step := e.settings.step()
		if told[o.monitorID].soon && e.target.Type != probe.Heartbeat {
			e.due = o.checkedAt.Add(min(e.settings.retryInterval(), step))
		} else {
			e.due = inPhase(e.id, step, o.scheduledAt)
			if e.due.Before(now) {
				e.due = inPhase(e.id, step, now)
			}
		}
		heap.Push(&d.queue, e)
	}
	d.wake()
}
