package cron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// runsKept is how many runs of a job are stored.
const runsKept = 10

// errEnded says that a run was ended early.
var errEnded = errors.New("cron: ended")

// run is a run of a job.
type run struct {
	d      *Driver
	id     string
	of     *account
	job    panel.CronJob    // as it was when the run started
	who    accounts.Account // likewise
	at     time.Time
	ctx    context.Context //nolint:containedctx // a run is a thing that can be ended from elsewhere
	cancel context.CancelCauseFunc
}

func newRun(d *Driver, j *job, now time.Time) *run {
	r := &run{d: d, id: j.ID, of: j.of, job: j.CronJob, who: j.of.Account, at: now}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// errTimeout says that a run took too long.
var errTimeout = errors.New("cron: timeout")

// do runs the command until it ends.
func (r *run) do() panel.CronRun {
	defer r.cancel(nil)
	out := &output{}
	done := panel.CronRun{StartedAt: r.at, End: panel.CronExited, ExitCode: -1}
	ctx, cancel := context.WithTimeoutCause(r.ctx, time.Duration(r.job.TimeoutSeconds)*time.Second, errTimeout)
	defer cancel()
	a := r.who
	cmd := identity.Command(ctx, a, "/bin/sh", "-c", r.job.Command)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second // for processes that left the group and still have the pipe
	err := cmd.Start()
	if err == nil {
		r.note(cmd.Process.Pid)
		err = cmd.Wait()
	}
	done.DurationMS = r.d.since(r.at)
	switch cause := context.Cause(ctx); {
	case cmd.Process == nil:
		done.End = panel.CronFailed
	case errors.Is(cause, errTimeout):
		done.End = panel.CronTimeout
	case cause != nil || r.stopped():
		done.End = panel.CronKilled
	}
	if cmd.ProcessState != nil {
		done.ExitCode = exitCode(cmd.ProcessState)
	}
	var exit *exec.ExitError
	if done.End == panel.CronFailed || err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		r.d.cfg.Log.Warn("cron job", "account", a.Ref, "job", r.id, "error", err)
	}
	done.Output, done.Cut = out.text()
	return done
}

// since is the time since at, in milliseconds; never negative, whatever the clock shows now.
func (d *Driver) since(at time.Time) int64 { return max(d.cfg.Now().Sub(at).Milliseconds(), 0) }

// stopped reports that the account is suspended or deleted: the machine then ends all of its processes, possibly before
// Apply.
func (r *run) stopped() bool {
	a, err := r.d.cfg.Lookup(r.who.Ref)
	return err != nil || a.Idle()
}

// exitCode reports signals as a shell does.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// finish stores the result of a run. It stores nothing of a deleted account, and writes no log line, which would create
// the log again: the last processes, and this run with them, end after everything else of the account is gone.
func (d *Driver) finish(r *run, done panel.CronRun) {
	if _, err := d.cfg.Lookup(r.who.Ref); errors.Is(err, panel.ErrNotFound) {
		return
	}
	err := r.change(func(p *past) {
		for i := range p.Runs {
			p.Runs[i].Output, p.Runs[i].Cut = "", false
		}
		p.Runs = slices.Insert(p.Runs, 0, done)
		p.Runs = p.Runs[:min(len(p.Runs), runsKept)]
		p.Running = slices.DeleteFunc(p.Running, func(q process) bool { return q.Began.Equal(r.at) })
	})
	if err != nil {
		d.cfg.Log.Warn("a cron job's run cannot be kept", "account", r.who.Name, "job", r.id, "error", err)
	}
	level := "info"
	if done.End != panel.CronExited || done.ExitCode != 0 {
		level = "error"
	}
	d.tell(r.who, panel.LogLine{
		At: r.at, Source: panel.LogCron, Level: level, Status: done.ExitCode, Path: r.job.Command,
		Message: fmt.Sprintf("%s after %.1f s", done.End, float64(done.DurationMS)/1000),
	})
}

// change changes the history of the job, unless the job is deleted.
func (r *run) change(f func(*past)) error {
	r.d.files.Lock()
	defer r.d.files.Unlock()
	if r.d.records.Get(r.who.Name).find(r.id) < 0 {
		return nil
	}
	p, err := r.d.past(r.who.Name, r.id)
	if err != nil {
		return err
	}
	f(&p)
	return r.d.saveHistory(r.who.Name, r.id, p)
}

// saveHistory writes the history of a job. It does not sync: a power loss may lose the last results. An agent that is being
// stopped may write at the same time.
func (d *Driver) saveHistory(account, id string, p past) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.runsOf(account), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(d.runsFile(account, id), data, 0o600)
}

// process is a run's first process, the leader of a group.
type process struct {
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // in ticks since the machine started
	Began time.Time `json:"began"`
}

// note records the process, so that the next agent finds it.
func (r *run) note(pid int) {
	start, err := startOf(pid)
	if err != nil {
		return // ended already
	}
	if err := r.change(func(p *past) { p.Running = append(p.Running, process{pid, start, r.at}) }); err != nil {
		r.d.cfg.Log.Warn("a cron job's process cannot be noted", "account", r.who.Name, "job", r.id, "error", err)
	}
}

// endLeftovers ends runs that a former agent left, and records their end.
func (d *Driver) endLeftovers(account string, rec stored) {
	d.files.Lock()
	defer d.files.Unlock()
	for _, j := range rec.Jobs {
		p, err := d.past(account, j.ID)
		if err != nil || len(p.Running) == 0 {
			continue
		}
		for _, q := range p.Running {
			if start, err := startOf(q.PID); err == nil && start == q.Start {
				_ = syscall.Kill(-q.PID, syscall.SIGKILL) // it may be gone already
			}
			p.Runs = slices.Insert(p.Runs, 0, panel.CronRun{
				StartedAt: q.Began, DurationMS: d.since(q.Began), End: panel.CronKilled, ExitCode: 128 + int(syscall.SIGKILL),
			})
		}
		p.Running, p.Runs = nil, p.Runs[:min(len(p.Runs), runsKept)]
		if err := d.saveHistory(account, j.ID, p); err != nil {
			d.cfg.Log.Warn("a cron job's runs cannot be kept", "account", account, "job", j.ID, "error", err)
		}
	}
}

// startOf is the start time of a process (proc(5), /proc/pid/stat, field 22).
func startOf(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may contain anything.
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return 0, fs.ErrInvalid
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// output keeps the beginning of a run's output.
type output struct {
	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write implements io.Writer; it takes everything.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := panel.CronOutputBytes - len(o.kept)
	if room < len(p) {
		o.cut = true
	}
	o.kept = append(o.kept, p[:min(room, len(p))]...)
	return len(p), nil
}

func (o *output) text() (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.ToValidUTF8(string(o.kept), "\uFFFD")
	if len(text) > panel.CronOutputBytes { // the replacement is longer than the replaced bytes
		text = strings.ToValidUTF8(text[:panel.CronOutputBytes], "")
	}
	return text, o.cut
}
