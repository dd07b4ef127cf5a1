package cron

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// machine is the facility on a machine with real users, and with a clock that the test sets.
type machine struct {
	*Driver
	*nodetest.Machine
	t   *testing.T
	cfg Config

	mu    sync.Mutex
	clock time.Time
	told  []panel.LogLine
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, Machine: nodetest.New(t), clock: time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)}
	m.cfg = Config{
		Dir: filepath.Join(m.Dir, "cron"), Lookup: m.Lookup, Now: m.now, Log: slog.New(slog.DiscardHandler),
		Tell: func(_ accounts.Account, lines ...panel.LogLine) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.told = append(m.told, lines...)
			return nil
		},
	}
	m.reopen()
	t.Cleanup(func() { m.must(m.Stop(t.Context())) })
	return m
}

// reopen is what an agent does that starts anew; the former one was killed.
func (m *machine) reopen() {
	m.t.Helper()
	d, err := New(m.cfg)
	m.must(err)
	m.Driver = d
	for _, rec := range m.Store.List() {
		a, err := m.Lookup(rec.Ref)
		m.must(err)
		m.must(d.Apply(m.t.Context(), a))
	}
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock
}

// pass lets a minute pass after the other, with one look into the queue in each.
func (m *machine) pass(minutes int) {
	for range minutes {
		m.mu.Lock()
		m.clock = m.clock.Add(time.Minute)
		now := m.clock
		m.mu.Unlock()
		m.begin(now)
	}
}

// account makes one whose ref is its name; its home is answered.
func (m *machine) account(name string) string {
	m.t.Helper()
	return m.Account(name, panel.Limits{}).Home
}

func (m *machine) set(account string, j panel.CronJob) {
	m.t.Helper()
	if j.ID == "" {
		j.ID = "1"
	}
	if j.Expression == "" {
		j.Expression = "* * * * *"
	}
	j.Enabled = true
	_, err := m.SetCronJob(m.t.Context(), account, j)
	m.must(err)
}

func (m *machine) state(account, id string) panel.CronState {
	m.t.Helper()
	states, err := m.CronStates(m.t.Context(), account)
	m.must(err)
	for _, s := range states {
		if s.ID == id {
			return s
		}
	}
	m.t.Fatalf("no job %s in %+v", id, states)
	return panel.CronState{}
}

// ran waits until a job has had n runs that are kept, and answers the newest.
func (m *machine) ran(account, id string, n int) panel.CronRun {
	m.t.Helper()
	var s panel.CronState
	testkit.Eventually(m.t, time.Minute, func() bool {
		s = m.state(account, id)
		return len(s.Runs) >= n && s.Running == 0
	}, "the job ran")
	if len(s.Runs) != n {
		m.t.Fatalf("%d runs, want %d", len(s.Runs), n)
	}
	return s.Runs[0]
}

func TestACommandRunsAsTheAccountsUserInItsHome(t *testing.T) {
	m := newMachine(t)
	home := m.account("alice")
	m.set("alice", panel.CronJob{Command: `id -u; id -G; pwd; echo "$HOME $USER"; echo err >&2; cat; touch made; exit 3`})
	if next := m.state("alice", "1").NextRunAt; !next.Equal(time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)) {
		t.Errorf("next run at %s", next)
	}
	m.pass(1)
	r := m.ran("alice", "1", 1)
	a, err := m.Lookup("alice")
	m.must(err)
	want := fmt.Sprintf("%d\n%d\n%s\n%s %s\nerr\n", a.User.UID, a.User.GID, home, home, a.User.Name)
	if r.Output != want || r.ExitCode != 3 || r.End != panel.CronExited || r.Cut || !r.StartedAt.Equal(m.now()) {
		t.Errorf("%+v\nwant output %q", r, want)
	}
	if _, err := os.Stat(filepath.Join(home, "made")); err != nil {
		t.Error(err)
	}
	testkit.Eventually(t, time.Minute, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.told) == 1 && m.told[0].Status == 3 && m.told[0].Level == "error" && m.told[0].Source == panel.LogCron
	}, "the log tells of it")
	// The process's own directory, descriptors and environment are not the command's.
	m.set("alice", panel.CronJob{ID: "2", Command: "ls -l /proc/self/fd; env; touch /root/x /etc/x; exit 0"})
	m.pass(1)
	r = m.ran("alice", "2", 1)
	foreign := strings.Contains(strings.ReplaceAll(r.Output, home, ""), m.Dir)
	if foreign || strings.Contains(r.Output, "TEST") || strings.Contains(r.Output, "/root/go") || strings.Count(r.Output, "Permission denied") != 2 {
		t.Errorf("%s", r.Output)
	}
}

func TestOutputIsCutTimesOutAndIsText(t *testing.T) {
	m := newMachine(t)
	m.account("alice")
	m.set("alice", panel.CronJob{ID: "long", Command: "head -c 300000 /dev/zero | tr '\\0' x"})
	m.set("alice", panel.CronJob{ID: "odd", Command: "printf '\\377\\376ok'"})
	m.set("alice", panel.CronJob{ID: "slow", Command: "echo begun; sleep 60 & sleep 61; wait", TimeoutSeconds: 1})
	m.set("alice", panel.CronJob{ID: "shot", Command: "kill -9 $$"})
	m.set("alice", panel.CronJob{ID: "none", Command: "/does/not/exist"})
	m.pass(1)
	if r := m.ran("alice", "long", 1); len(r.Output) != panel.CronOutputBytes || !r.Cut || r.ExitCode != 0 {
		t.Errorf("%d bytes, cut %v, exit code %d", len(r.Output), r.Cut, r.ExitCode)
	}
	if r := m.ran("alice", "odd", 1); r.Output != "\uFFFDok" {
		t.Errorf("%q", r.Output)
	}
	if r := m.ran("alice", "slow", 1); r.End != panel.CronTimeout || r.Output != "begun\n" || r.ExitCode != 137 {
		t.Errorf("%+v", r)
	}
	if r := m.ran("alice", "shot", 1); r.End != panel.CronExited || r.ExitCode != 137 {
		t.Errorf("%+v", r)
	}
	if r := m.ran("alice", "none", 1); r.ExitCode != 127 {
		t.Errorf("%+v", r)
	}
	// Only the newest output is kept, of ten runs.
	for n := 2; n <= 11; n++ {
		m.pass(1)
		m.ran("alice", "odd", min(n, runsKept))
	}
	testkit.Eventually(t, time.Minute, func() bool {
		s := m.state("alice", "odd")
		return s.Runs[0].StartedAt.Equal(m.now()) && len(s.Runs) == runsKept && s.Runs[0].Output != "" && s.Runs[1].Output == ""
	}, "ten runs are kept, the newest with its output")
}

// blocked is a command that goes on until the file "go" is there.
const blocked = "echo x >> started; until [ -e go ]; do sleep 0.02; done"

func (m *machine) started(home string, n int) {
	m.t.Helper()
	testkit.Eventually(m.t, time.Minute, func() bool {
		text, _ := os.ReadFile(filepath.Join(home, "started"))
		return strings.Count(string(text), "x") >= n
	}, fmt.Sprintf("%d runs began", n))
}

func TestRunsOverlapOnlyWhenAsked(t *testing.T) {
	m := newMachine(t)
	home := m.account("alice")
	m.set("alice", panel.CronJob{Command: blocked})
	m.pass(1)
	m.started(home, 1)
	m.pass(3)
	if s := m.state("alice", "1"); s.Running != 1 || s.Skipped != 3 {
		t.Errorf("%+v", s)
	}
	m.must(os.WriteFile(filepath.Join(home, "go"), nil, 0o644))
	m.ran("alice", "1", 1)
	m.pass(1)
	m.ran("alice", "1", 2)

	other := m.account("bob")
	m.set("bob", panel.CronJob{Command: blocked, Overlap: panel.OverlapAllow})
	m.pass(3)
	m.started(other, 3)
	if s := m.state("bob", "1"); s.Running != 3 || s.Skipped != 0 {
		t.Errorf("%+v", s)
	}
	m.pass(runsAtOnce)
	if s := m.state("bob", "1"); s.Running != runsAtOnce || s.Skipped != 3 {
		t.Errorf("an account's runs have no bound: %+v", s)
	}
	// A removed job's runs end.
	m.must(m.RemoveCronJob(t.Context(), "bob", "1"))
	m.runs.Wait()
	if err := m.RemoveCronJob(t.Context(), "bob", "1"); !errors.Is(err, panel.ErrNotFound) {
		t.Error(err)
	}
}

func TestASuspendedAccountsJobsDoNotRun(t *testing.T) {
	m := newMachine(t)
	home := m.account("alice")
	m.set("alice", panel.CronJob{Command: blocked})
	m.pass(1)
	m.started(home, 1)
	m.suspend("alice", true)
	if r := m.ran("alice", "1", 1); r.End != panel.CronKilled || r.ExitCode != 137 {
		t.Errorf("%+v", r)
	}
	if s := m.state("alice", "1"); !s.NextRunAt.IsZero() {
		t.Errorf("%+v", s)
	}
	if _, err := m.SetCronJob(t.Context(), "alice", panel.CronJob{ID: "1", Expression: "@daily", Command: "x"}); !errors.Is(err, panel.ErrSuspended) {
		t.Error(err)
	}
	m.pass(5)
	m.suspend("alice", false)
	m.must(os.WriteFile(filepath.Join(home, "go"), nil, 0o644))
	m.pass(1)
	m.ran("alice", "1", 2)
}

func (m *machine) suspend(name string, suspended bool) {
	m.t.Helper()
	m.must(m.Apply(m.t.Context(), m.Update(name, func(rec *accounts.Record) { rec.Suspended = suspended })))
}

func TestAMinuteBeginsOnce(t *testing.T) {
	m := newMachine(t)
	home := m.account("alice")
	m.set("alice", panel.CronJob{Command: blocked})
	m.pass(1)
	m.started(home, 1)
	var pid int
	testkit.Eventually(t, time.Minute, func() bool {
		p, err := m.past("alice", "1")
		m.must(err)
		if len(p.Running) == 1 {
			pid = p.Running[0].PID
		}
		return pid != 0
	}, "the process is noted")

	// The agent is killed, and the next one begins within the same minute, by a clock that was put
	// back a little meanwhile.
	former := m.Driver
	m.mu.Lock()
	m.clock = m.clock.Add(-40 * time.Second)
	m.mu.Unlock()
	m.reopen()
	// The former agent is not dead here: it may have noted the end of its own shell, too.
	noted := func(one panel.CronRun) bool { return one.End == panel.CronExited && one.ExitCode == 137 }
	if r := slices.DeleteFunc(m.state("alice", "1").Runs, noted); len(r) != 1 || r[0].End != panel.CronKilled {
		t.Errorf("what the former agent left: %+v", r)
	}
	testkit.Eventually(t, time.Minute, func() bool {
		_, err := os.Stat("/proc/" + strconv.Itoa(pid))
		return err != nil
	}, "the former agent's run is ended")
	former.runs.Wait()
	before := m.now()
	for s := range 40 {
		m.begin(before.Add(time.Duration(s) * time.Second))
	}
	if s := m.state("alice", "1"); s.Running != 0 {
		t.Errorf("the minute began twice: %+v", s)
	}
	m.pass(2)
	m.started(home, 2)

	// What was missed while the machine slept does not take place.
	m.must(os.WriteFile(filepath.Join(home, "go"), nil, 0o644))
	m.set("alice", panel.CronJob{ID: "daily", Expression: "0 3 * * *", Command: "true"})
	m.mu.Lock()
	m.clock = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	m.mu.Unlock()
	m.begin(m.now())
	if s := m.state("alice", "daily"); s.Running != 0 || len(s.Runs) != 0 || !s.NextRunAt.Equal(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", s)
	}
	// A clock that was put back far counts anew.
	m.mu.Lock()
	m.clock = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	m.mu.Unlock()
	m.set("alice", panel.CronJob{ID: "new", Command: "true"})
	m.pass(1)
	m.ran("alice", "new", 1)
}

// A machine whose clock is ahead when it starts, and then put right, runs the jobs that it has.
func TestAClockThatIsPutBackHoldsUpNoJob(t *testing.T) {
	m := newMachine(t)
	m.account("alice")
	m.set("alice", panel.CronJob{ID: "often", Command: "true"})
	m.set("alice", panel.CronJob{ID: "daily", Expression: "0 3 * * *", Command: "true"})
	m.mu.Lock()
	m.clock = m.clock.Add(5 * time.Hour)
	m.mu.Unlock()
	m.pass(2) // what was missed is left out first
	m.ran("alice", "often", 1)
	m.mu.Lock()
	m.clock = m.clock.Add(-5 * time.Hour)
	m.mu.Unlock()
	m.pass(1)
	m.ran("alice", "often", 2)
	if s := m.state("alice", "daily"); !s.NextRunAt.Equal(time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", s)
	}
}

func TestJobsAreKeptAndEndWithTheAccount(t *testing.T) {
	m := newMachine(t)
	m.account("alice")
	m.set("alice", panel.CronJob{ID: "b", Expression: "@hourly", Timezone: "Asia/Tashkent", Command: "true"})
	m.set("alice", panel.CronJob{ID: "a", Command: "true"})
	m.pass(1)
	m.ran("alice", "a", 1)
	m.reopen()
	jobs, err := m.CronJobs(t.Context(), "alice")
	if err != nil || len(jobs) != 2 || jobs[0].ID != "a" || jobs[1].Timezone != "Asia/Tashkent" || jobs[0].TimeoutSeconds != 3600 {
		t.Errorf("%+v, %v", jobs, err)
	}
	m.pass(1)
	m.ran("alice", "a", 2)
	off := jobs[0]
	off.Enabled = false
	if _, err := m.SetCronJob(t.Context(), "alice", off); err != nil {
		t.Error(err)
	}
	m.pass(3)
	if s := m.state("alice", "a"); len(s.Runs) != 2 || !s.NextRunAt.IsZero() {
		t.Errorf("a job that is off: %+v", s)
	}
	for what, j := range map[string]panel.CronJob{
		"id": {ID: "../x", Expression: "@daily", Command: "x"}, "expression": {ID: "x", Expression: "@reboot", Command: "x"},
		"zone": {ID: "x", Expression: "@daily", Timezone: "Mars/Base", Command: "x"}, "two lines": {ID: "x", Expression: "@daily", Command: "a\nb"},
		"empty": {ID: "x", Expression: "@daily", Command: " "}, "NUL": {ID: "x", Expression: "@daily", Command: "a\x00b"},
		"overlap": {ID: "x", Expression: "@daily", Command: "x", Overlap: "maybe"}, "timeout": {ID: "x", Expression: "@daily", Command: "x", TimeoutSeconds: -1},
	} {
		if _, err := m.SetCronJob(t.Context(), "alice", j); !errors.Is(err, panel.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	a, _ := m.Lookup("alice")
	m.must(m.Remove(t.Context(), a))
	m.must(m.Remove(t.Context(), a))
	m.pass(2)
	if jobs, err := m.CronJobs(t.Context(), "alice"); err != nil || len(jobs) != 0 || len(m.due) != 0 {
		t.Errorf("%+v, %v, %d due", jobs, err, len(m.due))
	}
	if _, err := os.Stat(m.runsOf("alice")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("runs are left: %v", err)
	}
}

func TestARunThatEndsAfterItsAccountLeavesNothing(t *testing.T) {
	m := newMachine(t)
	m.account("alice")
	m.set("alice", panel.CronJob{Command: "sleep 1000"})
	m.pass(1)
	if s := m.state("alice", "1"); s.Running != 1 {
		t.Fatalf("the job does not run: %+v", s)
	}
	a, err := m.Lookup("alice")
	m.must(err)
	// Its processes are the last that goes.
	m.must(m.Store.Delete(t.Context(), "alice", func(ctx context.Context, _ accounts.Record) error { return m.Remove(ctx, a) }))
	m.must(m.Stop(t.Context()))
	if len(m.told) > 0 {
		t.Errorf("into the log of an account that is gone: %+v", m.told)
	}
	if _, err := os.Stat(m.runsOf("alice")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("runs are left: %v", err)
	}
}

func TestAFileThatALossOfPowerCutShortIsBegunAnew(t *testing.T) {
	m := newMachine(t)
	m.account("alice")
	m.set("alice", panel.CronJob{ID: "a", Command: "true"})
	m.pass(1)
	m.ran("alice", "a", 1)
	m.must(os.Truncate(m.runsFile("alice", "a"), 7))
	m.reopen()
	if s := m.state("alice", "a"); len(s.Runs) != 0 {
		t.Errorf("%+v", s)
	}
	m.pass(1)
	m.ran("alice", "a", 1)
	left, err := os.ReadDir(m.runsOf("alice"))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v: one file was expected", left, err)
	}
}

func TestALookAtManyJobsCostsNothing(t *testing.T) {
	m := newMachine(t)
	account := func(i int) accounts.Account {
		name := fmt.Sprintf("a%d", i)
		return accounts.Account{Record: accounts.Record{Ref: name, Name: name}, Home: "/"}
	}
	for i := range 200 {
		a := account(i)
		name := a.Name
		_, err := m.records.Update(name, func(rec *stored) error {
			for j := range 50 {
				rec.Jobs = append(rec.Jobs, panel.CronJob{
					ID: strconv.Itoa(j), Expression: fmt.Sprintf("%d 4 * * *", j), Timezone: "UTC", Command: "true", Enabled: true,
					Overlap: panel.OverlapSkip, TimeoutSeconds: 10,
				})
			}
			return nil
		})
		m.must(err)
		m.must(m.Apply(t.Context(), a))
	}
	if len(m.due) != 10_000 {
		t.Fatalf("%d jobs are due at some time", len(m.due))
	}
	now := m.now()
	if n := testing.AllocsPerRun(100, func() { m.begin(now) }); n != 0 {
		t.Errorf("a look allocates %v times", n)
	}
	a := account(7)
	if n := testing.AllocsPerRun(10, func() { m.must(m.Apply(t.Context(), a)) }); n > 5 {
		t.Errorf("applying what is applied allocates %v times", n)
	}
}

func TestTheLoopRunsJobs(t *testing.T) {
	m := newMachine(t)
	m.account("alice")
	m.set("alice", panel.CronJob{Command: "echo looped"})
	m.mu.Lock()
	m.clock = m.clock.Add(31 * time.Second)
	m.mu.Unlock()
	m.must(m.Start(t.Context()))
	if r := m.ran("alice", "1", 1); r.Output != "looped\n" {
		t.Errorf("%+v", r)
	}
}
