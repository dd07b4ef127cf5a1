package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	testkit.Eventually(t, time.Minute, is, what)
}

func supervise(t *testing.T, dir string) *Processes {
	t.Helper()
	p, err := NewProcesses(Config{Dir: dir, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() {
		for _, name := range Running(dir) {
			must(t, p.Stop(context.Background(), name))
		}
		must(t, p.Close())
	})
	return p
}

// sleeper is a daemon that says it is ready by a file, counts reloads in another and has a child.
func sleeper(dir string) Spec {
	script := `trap 'echo r >>reloads' HUP; sleep 1000 & echo $! >child; touch ready; while :; do wait; done`
	return Spec{
		Name: "sleeper", Command: []string{"/bin/bash", "-c", script}, Dir: dir, Reload: syscall.SIGHUP,
		StopTimeout: 5 * time.Second,
		Ready:       func(context.Context) error { _, err := os.Stat(filepath.Join(dir, "ready")); return err },
	}
}

func alive(pid int) bool {
	s, err := statOf(pid)
	return err == nil && s.state != 'Z'
}

// pidIn is the process id that a file holds; 0 while it is being written.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

func TestDaemonOutlivesItsSupervisorAndIsAdopted(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	first, err := NewProcesses(Config{Dir: state, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	spec := sleeper(dir)
	must(t, first.Ensure(t.Context(), spec))
	pid := first.PID("sleeper")
	must(t, first.Close())
	if !alive(pid) {
		t.Fatal("closing the supervisor ended the daemon")
	}

	p := supervise(t, state)
	must(t, p.Ensure(t.Context(), spec))
	if got := p.PID("sleeper"); got != pid {
		t.Fatalf("pid %d, want the one that runs: %d", got, pid)
	}
	must(t, p.Reload(t.Context(), "sleeper"))
	eventually(t, "the adopted daemon reloads", func() bool { _, err := os.Stat(filepath.Join(dir, "reloads")); return err == nil })

	// It is watched too, and what it left is ended before the next one starts.
	child := pidIn(t, filepath.Join(dir, "child"))
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, "the killed daemon runs again", func() bool { now := p.PID("sleeper"); return now != 0 && now != pid })
	eventually(t, "its old child is gone", func() bool { return !alive(child) })

	pid = p.PID("sleeper")
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, "a killed child runs again", func() bool { now := p.PID("sleeper"); return now != 0 && now != pid })

	pid = p.PID("sleeper")
	spec.Env = []string{"A=1"}
	must(t, p.Ensure(t.Context(), spec))
	if now := p.PID("sleeper"); now == 0 || now == pid || alive(pid) {
		t.Errorf("with another environment: pid %d, was %d", now, pid)
	}
	eventually(t, "the new one has its child", func() bool {
		child = pidIn(t, filepath.Join(dir, "child"))
		return alive(child)
	})
	must(t, p.Stop(t.Context(), "sleeper"))
	if p.PID("sleeper") != 0 || len(Running(state)) != 0 {
		t.Error("it runs after Stop")
	}
	eventually(t, "nothing is left", func() bool { return !alive(child) })
	must(t, p.Stop(t.Context(), "sleeper"))
	if err := p.Reload(t.Context(), "sleeper"); err == nil {
		t.Error("a daemon that was stopped reloads")
	}
}

func TestProcessWithAnOldIDIsNotTakenForTheDaemon(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	other := exec.CommandContext(t.Context(), "/bin/sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a daemon of somebody else: its id is that of a session
	must(t, other.Start())
	ended := make(chan struct{})
	go func() { _ = other.Wait(); close(ended) }()
	spec, err := sleeper(dir).complete()
	must(t, err)
	line := fmt.Sprintf("%d (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n%s\n%s\n", other.Process.Pid, bootID(), spec.fingerprint())
	must(t, os.WriteFile(filepath.Join(state, "sleeper.pid"), []byte(line), 0o600))

	p := supervise(t, state)
	must(t, p.Ensure(t.Context(), spec))
	if p.PID("sleeper") == other.Process.Pid {
		t.Error("another process was taken for the daemon")
	}
	// Nor is it ended as what a daemon of before the boot left.
	former := process{pid: other.Process.Pid, start: 7, boot: "before"}
	must(t, former.end(syscall.SIGTERM, 0))
	select {
	case <-ended:
		t.Error("another process was ended")
	default:
	}
	if !alive(other.Process.Pid) {
		t.Error("another process is being ended")
	}
}

func TestDaemonThatCannotStartSaysWhatItPrinted(t *testing.T) {
	p := supervise(t, t.TempDir())
	spec := Spec{
		Name: "broken", Command: []string{"/bin/sh", "-c", "echo the reason >&2; exit 3"},
		Ready: func(context.Context) error { return errors.New("not yet") },
	}
	if err := p.Ensure(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "(exit status 3): the reason") {
		t.Errorf("error: %v", err)
	}
	if p.PID("broken") != 0 {
		t.Error("it runs")
	}
	for _, bad := range []Spec{{Name: "../x", Command: []string{"/bin/true"}}, {Name: "x"}, {Name: "x", Command: []string{"true"}}} {
		if err := p.Ensure(t.Context(), bad); err == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
}

// The next agent knows what runs before it says what should.
func TestWhatAFormerAgentStartedIsKnownAtOnce(t *testing.T) {
	state := t.TempDir()
	first, err := NewProcesses(Config{Dir: state, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	spec := sleeper(t.TempDir())
	must(t, first.Ensure(t.Context(), spec))
	pid := first.PID("sleeper")
	must(t, first.Close())
	p := supervise(t, state)
	if got := p.PID("sleeper"); got != pid {
		t.Errorf("pid %d, want %d", got, pid)
	}
	must(t, p.Stop(t.Context(), "sleeper"))
	if got := p.PID("sleeper"); got != 0 {
		t.Errorf("after its end: pid %d", got)
	}
}

// What a run that was cut short left is in nobody's way.
func TestStaleFilesGoBeforeEachStart(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "stale")
	spec := Spec{
		Name: "careful", Command: []string{"/bin/sh", "-c", "test ! -e " + stale + " && : >" + stale + " && exec sleep 1000"}, Stale: []string{stale},
		Ready: func(context.Context) error { _, err := os.Stat(stale); return err },
	}
	must(t, os.WriteFile(stale, nil, 0o600))
	p := supervise(t, t.TempDir())
	must(t, p.Ensure(t.Context(), spec))
	pid := p.PID("careful")
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, "it runs again", func() bool {
		now := p.PID("careful")
		_, err := os.Stat(stale)
		return now != 0 && now != pid && err == nil
	})
	must(t, p.Stop(t.Context(), "careful"))
}

// The agent is killed at any moment while it starts a daemon: the next one finds the daemon, once.
func TestKilledSupervisorLeavesOneDaemon(t *testing.T) {
	if state := os.Getenv("STEAD_TEST_SUPERVISE"); state != "" {
		p, err := NewProcesses(Config{Dir: state, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		must(t, err)
		for {
			must(t, p.Ensure(context.Background(), listener(t)))
			must(t, p.Stop(context.Background(), "listener"))
		}
	}
	program, err := os.Executable()
	must(t, err)
	addr := testkit.Address(t)
	state := t.TempDir()
	t.Setenv("STEAD_TEST_LISTEN", addr)
	p := supervise(t, state)
	for round := range 15 {
		agent := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
		agent.Env = append(os.Environ(), "STEAD_TEST_SUPERVISE="+state)
		must(t, agent.Start())
		<-time.After(time.Duration(20+round*7) * time.Millisecond) // sleeps: the agent is killed at any moment
		must(t, agent.Process.Kill())
		_ = agent.Wait() // killed, as told
		must(t, p.Ensure(t.Context(), listener(t)))
		// One that the dead agent was about to stop may still have been there for Ensure; another is started then.
		eventually(t, fmt.Sprintf("round %d: there is one daemon", round), func() bool { return listeners(t, addr) == 1 })
		must(t, p.Stop(t.Context(), "listener"))
		if got := listeners(t, addr); got != 0 {
			t.Fatalf("round %d: %d daemons after Stop", round, got)
		}
	}
}

func listener(t *testing.T) Spec {
	addr := os.Getenv("STEAD_TEST_LISTEN")
	_, port, err := net.SplitHostPort(addr)
	must(t, err)
	return Spec{
		Name:    "listener",
		Command: []string{"/usr/bin/perl", "-MIO::Socket::INET", "-e", `my $s = IO::Socket::INET->new(LocalAddr=>"127.0.0.1:$ARGV[0]", Listen=>5, ReuseAddr=>1) or die $!; $s->accept while 1`, port},
		Ready: func(ctx context.Context) error {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err == nil {
				err = c.Close()
			}
			return err
		},
	}
}

// listeners counts the processes that run the listener of this test.
func listeners(t *testing.T, addr string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	must(t, err)
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	count := 0
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(line), "/usr/bin/perl\x00-MIO::Socket::INET") && strings.HasSuffix(string(line), "\x00"+port+"\x00") {
			count++
		}
	}
	return count
}

func TestReloadsAreShared(t *testing.T) {
	var runs atomic.Int32
	r := NewReloader(20*time.Millisecond, func(context.Context) error {
		runs.Add(1)
		<-time.After(10 * time.Millisecond) // sleeps: as long as a quick reload takes
		return nil
	})
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { must(t, r.Do(t.Context())) })
	}
	wg.Wait()
	if n := runs.Load(); n > 3 {
		t.Errorf("100 callers at once cost %d runs", n)
	}
	before := runs.Load()
	must(t, r.Do(t.Context()))
	if runs.Load() != before+1 {
		t.Error("a caller got a run that began before its call")
	}
}

// Orders that come one after the other wait for no pause, which is for those that come at once.
func TestWhoComesAloneIsNotHeldUp(t *testing.T) {
	runs := 0
	r := NewReloader(time.Hour, func(context.Context) error { runs++; return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for range 5 {
		must(t, r.Do(ctx))
	}
	if runs != 5 {
		t.Errorf("%d runs", runs)
	}
}

func TestLongRunsAreFartherApart(t *testing.T) {
	for _, c := range []struct {
		took    time.Duration
		callers int
		want    time.Duration
	}{
		{10 * time.Millisecond, 1, 10 * time.Millisecond},
		{10 * time.Millisecond, 2, 990 * time.Millisecond},
		{600 * time.Millisecond, 1, 600 * time.Millisecond},
		{600 * time.Millisecond, 2, 1800 * time.Millisecond},
		{time.Minute, 1, 5 * time.Second},
		{time.Minute, 64, 5 * time.Second},
	} {
		if got := rest(time.Second, c.took, c.callers); got != c.want {
			t.Errorf("after %v for %d: %v, want %v", c.took, c.callers, got, c.want)
		}
	}
}

// config is a directory of files of which none may hold the word "bad" (says the checker) or
// "worse" (says the daemon).
type config struct {
	*Files
	dir            string
	checks, reload int
	loaded         string
}

func openConfig(t *testing.T, dir string) *config {
	c := &config{dir: dir}
	all := func() string {
		names, err := c.Names()
		must(t, err)
		var b strings.Builder
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			must(t, err)
			fmt.Fprintf(&b, "%s=%s ", name, data)
		}
		return b.String()
	}
	f, err := OpenFiles(FilesConfig{
		Dir: dir, Log: slog.New(slog.DiscardHandler),
		Check: func(context.Context, []string) error {
			if c.checks++; strings.Contains(all(), "bad") {
				return errors.New("bad word")
			}
			return nil
		},
		Reload: func(context.Context) error {
			c.reload++
			if strings.Contains(all(), "worse") {
				return errors.New("worse word")
			}
			c.loaded = all()
			return nil
		},
	})
	must(t, err)
	c.Files = f
	return c
}

func TestRefusedConfigurationIsPutBack(t *testing.T) {
	c := openConfig(t, t.TempDir())
	ctx := t.Context()
	must(t, c.Apply(ctx, map[string][]byte{"a": []byte("1"), "sub/b": []byte("2")}))
	if c.loaded != "a=1 sub/b=2 " {
		t.Fatalf("loaded %q", c.loaded)
	}
	n := c.reload
	must(t, c.Apply(ctx, map[string][]byte{"a": []byte("1"), "none": nil}))
	if c.reload != n {
		t.Error("reloaded for nothing")
	}
	for _, word := range []string{"bad", "worse"} {
		err := c.Apply(ctx, map[string][]byte{"a": []byte(word), "new": []byte("x"), "sub/b": nil})
		if err == nil || !strings.Contains(err.Error(), word+" word") {
			t.Errorf("%s: %v", word, err)
		}
		must(t, c.Reload(ctx))
		if c.loaded != "a=1 sub/b=2 " {
			t.Errorf("%s: loaded %q", word, c.loaded)
		}
	}
	must(t, c.Apply(ctx, map[string][]byte{"a": nil}))
	if c.loaded != "sub/b=2 " {
		t.Errorf("loaded %q", c.loaded)
	}
	for _, name := range []string{"../x", "/x", ".undo/x", "a/../b", ""} {
		if err := c.Apply(ctx, map[string][]byte{name: []byte("x")}); err == nil {
			t.Errorf("%q was taken for a name", name)
		}
	}
}

func TestOneBadChangeOfABatchFailsAlone(t *testing.T) {
	c := openConfig(t, t.TempDir())
	c.cfg.Pause = 0
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			content := "fine"
			if i == 17 {
				content = "bad"
			}
			err := c.Apply(t.Context(), map[string][]byte{fmt.Sprint("f", i): []byte(content)})
			if (err != nil) != (i == 17) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(c.loaded, "fine"); n != 39 || strings.Contains(c.loaded, "bad") {
		t.Errorf("loaded %d files: %s", n, c.loaded)
	}
}

func TestCrashInTheMiddleOfAChangeIsUndone(t *testing.T) {
	dir := t.TempDir()
	c := openConfig(t, dir)
	must(t, c.Apply(t.Context(), map[string][]byte{"a": []byte("1"), "b": []byte("2")}))
	// A crash after the swap, before the check.
	must(t, c.remember([]string{"a", "b", "c"}))
	must(t, c.put("a", []byte("bad")))
	must(t, c.put("b", nil))
	must(t, c.put("c", []byte("3")))

	c = openConfig(t, dir)
	must(t, c.Apply(t.Context(), map[string][]byte{"a": []byte("1")}))
	if c.loaded != "a=1 b=2 " || c.reload != 1 {
		t.Errorf("loaded %q in %d reloads", c.loaded, c.reload)
	}
	must(t, c.Apply(t.Context(), map[string][]byte{"a": []byte("1")}))
	if c.reload != 1 {
		t.Error("reloaded again for nothing")
	}
	left, err := os.ReadDir(filepath.Join(dir, undoDir))
	must(t, err)
	if len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLogsRotate(t *testing.T) {
	log := filepath.Join(t.TempDir(), "x.log")
	must(t, os.WriteFile(log, []byte("small"), 0o600))
	must(t, rotate(log))
	for n := range 5 {
		must(t, os.WriteFile(log, append([]byte{byte('0' + n)}, make([]byte, logSize)...), 0o600))
		must(t, rotate(log))
	}
	for n, want := range []string{"", "4", "3", "2"} {
		name := log
		if n > 0 {
			name += "." + strconv.Itoa(n)
		}
		data, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(data), want) || n == 0 && len(data) != 0 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	if _, err := os.Stat(log + ".4"); err == nil {
		t.Error("old logs pile up")
	}
}

// What a daemon started as others lives on when it is killed, and where systemd does not look for it. It keeps the
// sockets: PHP-FPM does not start beside it.
func TestWorkersOfAKilledDaemonEndBeforeTheNext(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "pid"), filepath.Join(dir, "worker")
	leader := exec.CommandContext(t.Context(), "/bin/sh", "-c", `echo $$ >"$1"; sleep 1000 & echo $! >"$2".new; mv "$2".new "$2"; wait`, "sh", file, out)
	leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(t, leader.Start())
	var worker process
	testkit.Eventually(t, time.Minute, func() bool {
		text, _ := os.ReadFile(out)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		s, err := statOf(pid)
		worker = process{pid: pid, start: s.start, boot: bootID()}
		return pid > 1 && err == nil
	}, "the worker runs")
	end := endWorkers(file)
	must(t, leader.Process.Kill())
	_ = leader.Wait() // killed, as told
	if !worker.lives() {
		t.Fatal("the worker ended by itself: nothing is shown")
	}
	must(t, exec.CommandContext(t.Context(), end[0], end[1:]...).Run())
	testkit.Eventually(t, time.Minute, func() bool { return !worker.lives() }, "the worker ended")
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is left, whose number is another's some day")
	}
	must(t, exec.CommandContext(t.Context(), end[0], end[1:]...).Run()) // nothing to be ended
}

func TestUnitFile(t *testing.T) {
	dir := t.TempDir()
	var calls []string
	s := &Systemd{units: dir, specs: map[string]Spec{}, systemctl: func(_ context.Context, args ...string) ([]byte, error) {
		calls = append(calls, strings.Join(args, " "))
		return []byte("7\n"), nil
	}}
	spec := Spec{
		Name: "nginx", Command: []string{"/bin/true", "-g", `a "b" $c %d \e`}, Env: []string{"A=$b"}, Reload: syscall.SIGHUP,
		Stop: syscall.SIGQUIT, User: "root", Stale: []string{"/run/a b"}, PIDFile: "/run/nginx.pid",
	}
	must(t, s.Ensure(t.Context(), spec))
	file := filepath.Join(dir, "stead-nginx.service")
	text, err := os.ReadFile(file)
	must(t, err)
	for _, line := range []string{
		`ExecStart="/bin/true" "-g" "a \"b\" $$c %%d \\e"`, `Environment="A=$b"`, "KillSignal=SIGQUIT", "ExecReload=/bin/kill -1 $MAINPID",
		`ExecStartPre=+/bin/rm -f "/run/a b"`, `ExecStartPre=+/bin/rm -f "/run/nginx.pid"`,
		`ExecStopPost=-+"/bin/sh" "-c" "test -s \"$$1\" && pkill -KILL -s \"$$(cat \"$$1\")\"; rm -f \"$$1\"" "sh" "/run/nginx.pid"`,
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze: %v: %s", err, out)
	}
	must(t, s.Ensure(t.Context(), spec))
	spec.Stale, spec.PIDFile = append(spec.Stale, "/run/c"), "/run/d" // no reason to end what runs
	must(t, s.Ensure(t.Context(), spec))
	must(t, Unread(file+".unread").Note()) // an agent was killed when it had written the unit
	must(t, s.Ensure(t.Context(), spec))
	must(t, s.Reload(t.Context(), "nginx"))
	must(t, s.Stop(t.Context(), "nginx"))
	const unit = "stead-nginx.service"
	const show = "show --property=MainPID --value " + unit
	want := []string{
		"daemon-reload", "enable --quiet " + unit, "restart " + unit,
		"daemon-reload", "enable --quiet " + unit, "start " + unit,
		"daemon-reload", "enable --quiet " + unit, "start " + unit,
		"daemon-reload", "enable --quiet " + unit, "restart " + unit,
		show, "reload " + unit, "disable --quiet --now " + unit, "daemon-reload",
	}
	if got := strings.Join(calls, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("calls:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the unit is left")
	}
	evil := spec
	evil.Command = []string{"/bin/true", "a\nExecStartPre=/bin/evil"}
	spec.Stale = []string{"/run/a\nExecStartPre=/bin/evil"}
	for _, spec := range []Spec{evil, spec} {
		if err := s.Ensure(t.Context(), spec); err == nil {
			t.Error("a line was smuggled into the unit")
		}
	}
}
