package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/ssh/session"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// TestMain is also the program that begins sessions.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == session.Word {
		fmt.Fprintln(os.Stderr, session.Main(os.Args[2:], os.Environ()))
		os.Exit(126)
	}
	os.Exit(m.Run())
}

type world struct {
	*nodetest.Machine
	*Driver
	t       *testing.T
	enabled atomic.Bool
	alice   accounts.Account
}

func newWorld(t *testing.T, change func(*Config)) *world {
	t.Helper()
	w := &world{Machine: nodetest.New(t), t: t}
	w.enabled.Store(true)
	program := filepath.Join(w.Dir, "session")
	self, err := os.ReadFile("/proc/self/exe")
	w.must(err)
	w.must(os.WriteFile(program, self, 0o755))
	w.must(os.Chmod(program, 0o755))
	c := Config{
		Lookup: w.Lookup, Enabled: func(accounts.Account) bool { return w.enabled.Load() }, Log: nodetest.Log(t), Session: []string{program, session.Word},
	}
	if change != nil {
		change(&c)
	}
	w.Driver, err = New(c)
	w.must(err)
	t.Cleanup(func() { w.must(w.Close()) })
	w.alice = w.Account("alice", panel.Limits{Processes: 100, MemoryMB: 4096})
	w.Account("bob", panel.Limits{})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// person is somebody at a terminal.
type person struct {
	t      *testing.T
	keys   *panel.TerminalWriter
	typing *io.PipeWriter
	out    io.ReadCloser

	mu    sync.Mutex
	seen  bytes.Buffer
	ended chan struct{}
}

var window = panel.TerminalSize{Columns: 100, Rows: 30}

func (w *world) sit() *person {
	w.t.Helper()
	in, typing := io.Pipe()
	out, err := w.OpenTerminal(w.t.Context(), "alice", window, in)
	w.must(err)
	p := &person{t: w.t, keys: panel.NewTerminalWriter(typing), typing: typing, out: out, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		b := make([]byte, 4096)
		for {
			n, err := out.Read(b)
			p.mu.Lock()
			p.seen.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					w.t.Error(err)
				}
				return
			}
		}
	}()
	w.t.Cleanup(func() { _ = out.Close() })
	return p
}

func (p *person) types(line string) {
	p.t.Helper()
	if _, err := p.keys.Write([]byte(line + "\n")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *person) sees(want string) {
	p.t.Helper()
	testkit.Eventually(p.t, time.Minute, func() bool {
		return strings.Contains(p.screen(), want)
	}, fmt.Sprintf("%q is on the screen", want))
}

func (p *person) leaves(what string) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.t.Fatalf("%s: the terminal goes on", what)
	}
}

func TestAShellInATerminal(t *testing.T) {
	w := newWorld(t, nil)
	p := w.sit()
	p.types("echo user=$(id -un) home=$HOME pwd=$PWD; tty; stty size")
	p.sees("user=" + w.alice.User.Name + " home=" + w.alice.Home + " pwd=" + w.alice.Home)
	p.sees("/dev/pts/")
	p.sees("30 100")
	w.must(p.keys.Resize(panel.TerminalSize{Columns: 132, Rows: 50}))
	p.types("stty size")
	p.sees("50 132")
	p.types("echo sl''eeps; sleep 100")
	p.sees("sleeps")
	_, err := p.keys.Write([]byte{3}) // ^C, which needs a controlling terminal
	w.must(err)
	p.sees("^C")
	p.types("echo after=$((6*7)) > made.txt; cat made.txt")
	p.sees("after=42")
	info, err := os.Stat(filepath.Join(w.alice.Home, "made.txt"))
	if err != nil || info.Size() == 0 {
		t.Error(err)
	}
	p.types("exit")
	p.leaves("exit")
}

func TestATerminalSeesNothingOfOthers(t *testing.T) {
	w := newWorld(t, nil)
	bob, err := w.Lookup("bob")
	w.must(err)
	w.must(os.WriteFile(filepath.Join(bob.Home, "secret.txt"), []byte("not for you"), 0o644))
	p := w.sit()
	p.types("cat " + bob.Home + "/secret.txt; ls " + bob.Home + " " + filepath.Dir(bob.Jail) + "; cat /etc/shadow; cat /proc/1/environ; touch /usr/x; echo do''ne")
	p.sees("done")
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := p.seen.String(); strings.Contains(got, "not for you") || strings.Contains(got, "root:") || strings.Count(got, "denied")+strings.Count(got, "No such") < 6 {
		t.Errorf("%s", got)
	}
}

func TestWhatEndsATerminal(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.PerAccount = 2 })
	running := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.open)
	}
	for what, end := range map[string]func(*person){
		"closing":         func(p *person) { w.must(p.out.Close()) },
		"leaving":         func(p *person) { w.must(p.typing.Close()) },
		"switching off":   func(*person) { w.enabled.Store(false); w.must(w.Apply(t.Context(), w.alice)) },
		"nonsense":        func(p *person) { _, _ = p.typing.Write([]byte("}{\n")) },
		"a window of 0":   func(p *person) { w.must(p.keys.Resize(panel.TerminalSize{})) },
		"the end of time": func(*person) { w.must(w.Close()) },
	} {
		w.enabled.Store(true)
		p := w.sit()
		p.types("trap '' HUP TERM INT; echo re''ady; sleep 500 & wait; sleep 500")
		p.sees("ready")
		end(p)
		p.leaves(what)
		testkit.Eventually(t, time.Minute, func() bool { return running() == 0 }, what+": nothing is left")
	}
	w.enabled.Store(true)
	w.sit()
	w.sit()
	if _, err := w.OpenTerminal(t.Context(), "alice", window, strings.NewReader("")); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("a third terminal: %v", err)
	}
}

// A process that left the session keeps the line open, so nothing ends a Read of the screen but closing it.
func TestATerminalEndsBeforeAProcessThatLeftIt(t *testing.T) {
	w := newWorld(t, nil)
	for what, end := range map[string]func(*person){
		"exit":    func(p *person) { p.types("exit") },
		"closing": func(p *person) { w.must(p.out.Close()) },
		"leaving": func(p *person) { w.must(p.typing.Close()) },
	} {
		p := w.sit()
		p.types("setsid sh -c 'echo left=$$.; exec sleep 300' &")
		left := regexp.MustCompile(`left=(\d+)\.`)
		testkit.Eventually(t, time.Minute, func() bool { return left.MatchString(p.screen()) }, what+": the process has left")
		pid, err := strconv.Atoi(left.FindStringSubmatch(p.screen())[1])
		w.must(err)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		w.must(p.keys.Resize(panel.TerminalSize{Columns: 132, Rows: 50}))
		p.types("stty size")
		p.sees("50 132")
		end(p)
		p.leaves(what)
		w.must(p.out.Close())
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("%s: the process has not outlived the terminal: %v", what, err)
		}
	}
}

// TestAProcessIsOfItsSessionWhoseFirstThreadHasEnded: it goes on, and with it what the session started.
func TestAProcessIsOfItsSessionWhoseFirstThreadHasEnded(t *testing.T) {
	pid, ended := nodetest.Headless(t, nodetest.Dir(t), &syscall.SysProcAttr{Setsid: true})
	if got := sessionOf(pid); got != pid {
		t.Errorf("its session is %d, want %d", got, pid)
	}
	if err := endSession(pid); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it goes on after its session")
	}
}

func TestTimeIsBounded(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Idle = 2 * time.Second })
	p := w.sit()
	p.sees("$")
	p.leaves("nothing moved")
	w = newWorld(t, func(c *Config) { c.Longest = 2 * time.Second })
	p = w.sit()
	p.types("while sleep 0.1; do echo x; done")
	p.leaves("the longest time is over")
}

func TestWhoGetsNoTerminal(t *testing.T) {
	w := newWorld(t, nil)
	none := strings.NewReader("")
	for size, kind := range map[panel.TerminalSize]panel.Kind{{}: panel.ErrInvalid, {Columns: 80, Rows: -1}: panel.ErrInvalid, {Columns: 80, Rows: 1001}: panel.ErrInvalid} {
		if _, err := w.OpenTerminal(t.Context(), "alice", size, none); !errors.Is(err, kind) {
			t.Errorf("%+v: %v", size, err)
		}
	}
	if _, err := w.OpenTerminal(t.Context(), "nobody", window, none); !errors.Is(err, panel.ErrNotFound) {
		t.Error(err)
	}
	w.enabled.Store(false)
	if _, err := w.OpenTerminal(t.Context(), "alice", window, none); !errors.Is(err, panel.ErrUnsupported) {
		t.Error(err)
	}
	w.enabled.Store(true)
	p := w.sit()
	p.sees("$")
	w.alice = w.Update("alice", func(r *accounts.Record) { r.Suspended = true })
	w.must(w.Apply(t.Context(), w.alice))
	p.leaves("suspended")
	if _, err := w.OpenTerminal(t.Context(), "alice", window, none); !errors.Is(err, panel.ErrSuspended) {
		t.Error(err)
	}
}
