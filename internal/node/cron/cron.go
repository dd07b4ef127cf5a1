package cron

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/record"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// Config configures the facility.
type Config struct {
	Dir    string // of its records
	Lookup facility.Lookup
	Now    func() time.Time
	Log    *slog.Logger
	// Tell writes lines into the account's cron log; nil writes none.
	Tell func(a accounts.Account, lines ...panel.LogLine) error
	// Simulated runs nothing.
	Simulated bool
}

const (
	// late is how late a run may start.
	late = 2 * time.Minute
	// runsAtOnce bounds an account's concurrent runs.
	runsAtOnce = 10
	// jobsMost bounds an account's jobs; plans have smaller bounds.
	jobsMost = 1000
	// look is how often the heap is checked.
	look = time.Second
)

// Driver runs the jobs. It implements panel.Cron and facility.Facility.
type Driver struct {
	cfg     Config
	records *record.Store[stored]

	changing sync.Mutex // serializes changes of records together with applying them

	mu       sync.Mutex
	accounts map[string]*account // by name
	due      queue
	begun    time.Time // the minute whose runs were started last
	looked   time.Time // the time of the last check of the queue
	stop     context.CancelFunc
	loop     sync.WaitGroup // the checking loop
	runs     sync.WaitGroup // the running jobs
	files    sync.Mutex     // guards the files that record runs
}

var (
	_ panel.Cron        = (*Driver)(nil)
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Stopper  = (*Driver)(nil)
)

// stored is the record of an account.
type stored struct {
	Jobs []panel.CronJob `json:"jobs"`
}

func (rec stored) find(id string) int {
	return slices.IndexFunc(rec.Jobs, func(j panel.CronJob) bool { return j.ID == id })
}

// account is the applied state of an account.
type account struct {
	accounts.Account
	jobs map[string]*job
	runs int
}

// job is the applied state of a job.
type job struct {
	panel.CronJob
	schedule panel.Schedule
	of       *account
	next     time.Time
	place    int // index in the queue; -1 when it is not in it
	running  map[*run]bool
	skipped  int64
}

// queue orders the jobs by the time of their next run.
type queue []*job

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].next.Before(q[j].next) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	j, ok := x.(*job)
	if !ok {
		panic("cron: only jobs are queued")
	}
	j.place = len(*q)
	*q = append(*q, j)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	j := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	j.place = -1
	return j
}

// New makes the facility. Jobs run after Start.
func New(cfg Config) (*Driver, error) {
	records, err := record.Open[stored](filepath.Join(cfg.Dir, "records"))
	if err != nil {
		return nil, fmt.Errorf("cron: %w", err)
	}
	d := &Driver{cfg: cfg, records: records, accounts: map[string]*account{}}
	text, err := os.ReadFile(d.mark())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cron: %w", err)
	}
	if err == nil {
		if d.begun, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text))); err != nil {
			return nil, fmt.Errorf("cron: %s: %w", d.mark(), err)
		}
	}
	return d, nil
}

// mark is the file with the minute whose runs were started last.
func (d *Driver) mark() string { return filepath.Join(d.cfg.Dir, "begun") }

// Capability implements facility.Facility.
func (*Driver) Capability() panel.Capability { return panel.CapCron }

// Start implements facility.Starter.
func (d *Driver) Start(ctx context.Context) error {
	if d.cfg.Simulated {
		return nil
	}
	ctx, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	d.loop.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				d.begin(d.cfg.Now())
			}
		}
	})
	return nil
}

// Stop implements facility.Stopper.
func (d *Driver) Stop(context.Context) error {
	if d.stop != nil {
		d.stop()
	}
	d.loop.Wait()
	d.mu.Lock()
	for _, a := range d.accounts {
		for _, j := range a.jobs {
			j.end()
		}
	}
	d.mu.Unlock()
	d.runs.Wait()
	return nil
}

// begin starts the due runs.
func (d *Driver) begin(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	minute := now.Truncate(time.Minute)
	if d.looked.After(now.Add(late)) { // the clock was set back: the planned times are too far ahead
		for _, a := range d.accounts {
			for _, j := range a.jobs {
				d.plan(j, minute.Add(-time.Minute))
			}
		}
	}
	d.looked = now
	if len(d.due) == 0 || d.due[0].next.After(now) {
		return
	}
	if d.begun.After(now.Add(late)) { // by a clock that was set back since
		d.begun = minute.Add(-time.Minute)
	}
	noted := d.begun
	for len(d.due) > 0 && !d.due[0].next.After(now) {
		j := d.due[0]
		at := j.next
		d.plan(j, now)
		if !at.After(d.begun) || now.Sub(at) > late {
			continue
		}
		if noted.Before(minute) {
			if err := atomicfile.Write(d.mark(), []byte(minute.Format(time.RFC3339)+"\n"), 0o600); err != nil {
				d.cfg.Log.Error("the minute cannot be noted: cron jobs do not run", "error", err)
				return
			}
			noted = minute
		}
		d.start(j, now)
	}
	d.begun = noted
}

// plan queues a job for its next run, when it has one.
func (d *Driver) plan(j *job, now time.Time) {
	j.next = time.Time{}
	if j.Enabled && !j.of.Idle() {
		j.next = j.schedule.Next(now)
	}
	switch {
	case j.next.IsZero() && j.place >= 0:
		heap.Remove(&d.due, j.place)
	case j.next.IsZero():
	case j.place >= 0:
		heap.Fix(&d.due, j.place)
	default:
		heap.Push(&d.due, j)
	}
}

// start starts a run of the job, unless it must be skipped.
func (d *Driver) start(j *job, now time.Time) {
	if d.cfg.Simulated {
		return
	}
	if j.Overlap == panel.OverlapSkip && len(j.running) > 0 || j.of.runs >= runsAtOnce {
		j.skipped++
		d.tell(j.of.Account, panel.LogLine{
			At: now, Source: panel.LogCron, Level: "warning", Path: j.Command,
			Message: "left out: the run before goes on, or too many run at once",
		})
		return
	}
	r := newRun(d, j, now)
	j.running[r] = true
	j.of.runs++
	d.runs.Go(func() {
		done := r.do()
		d.mu.Lock()
		delete(j.running, r)
		r.of.runs--
		d.mu.Unlock()
		d.finish(r, done)
	})
}

func (d *Driver) tell(a accounts.Account, lines ...panel.LogLine) {
	if d.cfg.Tell == nil {
		return
	}
	if err := d.cfg.Tell(a, lines...); err != nil {
		d.cfg.Log.Warn("cron log cannot be written", "account", a.Ref, "error", err)
	}
}

// end ends the runs of a job.
func (j *job) end() {
	for r := range j.running {
		r.cancel(errEnded)
	}
}

// Apply implements facility.Facility.
func (d *Driver) Apply(_ context.Context, a accounts.Account) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.apply(a)
}

func (d *Driver) apply(a accounts.Account) error {
	rec := d.records.Get(a.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.cfg.Now()
	on, known := d.accounts[a.Name]
	if !known {
		if len(rec.Jobs) == 0 {
			return nil
		}
		on = &account{jobs: map[string]*job{}}
		d.accounts[a.Name] = on
		if !d.cfg.Simulated {
			d.endLeftovers(a.Name, rec)
		}
	}
	changed := on.Idle() != a.Idle()
	on.Account = a
	for id, j := range on.jobs {
		if rec.find(id) < 0 {
			d.forget(j)
		}
	}
	var failed error
	for _, want := range rec.Jobs {
		j, there := on.jobs[want.ID]
		if there && j.CronJob == want && !changed {
			continue
		}
		schedule, err := panel.ParseSchedule(want.Expression, want.Timezone)
		if err != nil { // an abolished time zone; the other jobs run
			failed = errors.Join(failed, fmt.Errorf("cron: job %s: %w", want.ID, err))
			continue
		}
		if !there {
			j = &job{of: on, place: -1, running: map[*run]bool{}}
			on.jobs[want.ID] = j
		}
		j.CronJob, j.schedule = want, schedule
		if a.Idle() {
			j.end()
		}
		d.plan(j, now)
	}
	return failed
}

// forget removes a job, and ends its runs.
func (d *Driver) forget(j *job) {
	j.end()
	j.Enabled = false
	d.plan(j, d.cfg.Now())
	delete(j.of.jobs, j.ID)
}

// Remove implements facility.Facility.
func (d *Driver) Remove(_ context.Context, a accounts.Account) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	d.mu.Lock()
	if on, ok := d.accounts[a.Name]; ok {
		for _, j := range on.jobs {
			d.forget(j)
		}
		delete(d.accounts, a.Name)
	}
	d.mu.Unlock()
	d.files.Lock() // a run that ends now stores its result before, or not at all
	defer d.files.Unlock()
	if err := os.RemoveAll(d.runsOf(a.Name)); err != nil {
		return fmt.Errorf("cron: %w", err)
	}
	return d.records.Delete(a.Name)
}

// CronJobs implements panel.Cron.
func (d *Driver) CronJobs(_ context.Context, ref string) ([]panel.CronJob, error) {
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return nil, panel.Wrap("cron.list", ref, err)
	}
	jobs := slices.Clone(d.records.Get(a.Name).Jobs)
	slices.SortFunc(jobs, func(x, y panel.CronJob) int { return strings.Compare(x.ID, y.ID) })
	return jobs, nil
}

// SetCronJob implements panel.Cron.
func (d *Driver) SetCronJob(_ context.Context, ref string, j panel.CronJob) (panel.CronJob, error) {
	j, err := d.set(ref, j)
	return j, panel.Wrap("cron.set", ref, err)
}

func (d *Driver) set(ref string, j panel.CronJob) (panel.CronJob, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return panel.CronJob{}, err
	}
	if a.Suspended {
		return panel.CronJob{}, panel.ErrSuspended
	}
	if j, err = j.Canonical(); err != nil {
		return panel.CronJob{}, err
	}
	_, err = d.records.Update(a.Name, func(rec *stored) error {
		i := rec.find(j.ID)
		if i < 0 {
			if len(rec.Jobs) >= jobsMost {
				return fmt.Errorf("%w: %d cron jobs", panel.ErrLimit, jobsMost)
			}
			rec.Jobs = append(rec.Jobs, j)
			return nil
		}
		rec.Jobs[i] = j
		return nil
	})
	if err != nil {
		return panel.CronJob{}, err
	}
	return j, d.apply(a)
}

// RemoveCronJob implements panel.Cron.
func (d *Driver) RemoveCronJob(_ context.Context, ref, id string) error {
	return panel.Wrap("cron.remove", ref, d.remove(ref, id))
}

func (d *Driver) remove(ref, id string) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return err
	}
	_, err = d.records.Update(a.Name, func(rec *stored) error {
		i := rec.find(id)
		if i < 0 {
			return fmt.Errorf("%w: cron job %q", panel.ErrNotFound, id)
		}
		rec.Jobs = slices.Delete(rec.Jobs, i, i+1)
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.apply(a); err != nil {
		return err
	}
	if err := os.Remove(d.runsFile(a.Name, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// CronStates implements panel.Cron.
func (d *Driver) CronStates(_ context.Context, ref string) ([]panel.CronState, error) {
	a, err := d.cfg.Lookup(ref)
	if err != nil {
		return nil, panel.Wrap("cron.states", ref, err)
	}
	states := []panel.CronState{}
	d.mu.Lock()
	if on, ok := d.accounts[a.Name]; ok {
		for id, j := range on.jobs {
			states = append(states, panel.CronState{ID: id, Running: len(j.running), NextRunAt: j.next, Skipped: j.skipped})
		}
	}
	d.mu.Unlock()
	for i := range states {
		past, err := d.past(a.Name, states[i].ID)
		if err != nil {
			return nil, panel.Wrap("cron.states", ref, err)
		}
		states[i].Runs = past.Runs
		if states[i].Runs == nil {
			states[i].Runs = []panel.CronRun{}
		}
	}
	slices.SortFunc(states, func(x, y panel.CronState) int { return cmp.Compare(x.ID, y.ID) })
	return states, nil
}

// past is the stored history of a job's runs.
type past struct {
	Runs    []panel.CronRun `json:"runs"`
	Running []process       `json:"running,omitempty"`
}

func (d *Driver) runsOf(account string) string { return filepath.Join(d.cfg.Dir, "runs", account) }
func (d *Driver) runsFile(account, id string) string {
	return filepath.Join(d.runsOf(account), id+".json")
}

// past reads the history of a job's runs. A file that a power loss truncated counts as empty.
func (d *Driver) past(account, id string) (past, error) {
	data, err := os.ReadFile(d.runsFile(account, id))
	if errors.Is(err, fs.ErrNotExist) {
		return past{}, nil
	}
	if err != nil {
		return past{}, err
	}
	var p past
	if err := json.Unmarshal(data, &p); err != nil {
		d.cfg.Log.Warn("what was known of a cron job's runs is lost", "account", account, "job", id, "error", err)
		return past{}, nil
	}
	return p, nil
}
