package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// binary is the program, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "stead-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "stead")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/stead")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		return 1
	}
	defer stopChromium()
	return m.Run()
}

// installation is a data directory and a database: what remains when the process has ended.
type installation struct {
	env     []string
	program string // that runs it; empty: this release's
}

func (in *installation) binary() string { return cmp.Or(in.program, binary) }

// engines runs f for an installation on each engine, at the same time as each other and as other tests: nothing may
// come after it in a test.
func engines(t *testing.T, f func(t *testing.T, in *installation)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, newInstallation(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, newInstallation(t, "STEAD_DATABASE_URL="+testkit.PostgresURL(t)))
	})
}

func newInstallation(t *testing.T, env ...string) *installation {
	t.Helper()
	return &installation{env: append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "STEAD_DATA_DIR=" + filepath.Join(testkit.DatabaseDir(t), "data"),
		"STEAD_LISTEN=127.0.0.1:0", "STEAD_NODE_LISTEN=127.0.0.1:0", "STEAD_OPS_LISTEN=127.0.0.1:0", "STEAD_DNS_LISTEN=127.0.0.1:0",
		"STEAD_THROTTLE=false", "STEAD_SHUTDOWN_TIMEOUT=20s", "STEAD_DATABASE_WAIT=30s", // beside all other tests
	}, env...)}
}

// run runs a command to its end.
func (in *installation) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return in.runWith(t, "", args...)
}

func (in *installation) runWith(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, in.binary(), args...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = in.env, strings.NewReader(stdin), &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("stead %v: %v", args, err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// must runs a command that must succeed and decodes its JSON.
func (in *installation) must(t *testing.T, into any, args ...string) {
	t.Helper()
	stdout, stderr, code := in.run(t, append(args, "--json")...)
	if code != 0 {
		t.Fatalf("stead %v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), into); err != nil {
		t.Fatalf("stead %v: %v in %s", args, err, stdout)
	}
}

// process is a running server.
type process struct {
	cmd      *exec.Cmd
	url, ops string
	took     time.Duration // from its start to its first answer

	mu     sync.Mutex
	log    bytes.Buffer
	stdout bytes.Buffer
	exited chan struct{}
	err    error
}

// start starts a server. It is killed with the test if it still runs then.
func (in *installation) start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(in.binary(), append([]string{"serve"}, args...)...), exited: make(chan struct{})}
	p.cmd.Env = in.env
	p.cmd.Stdout = &lockedWriter{mu: &p.mu, w: &p.stdout}
	p.cmd.Stderr = &lockedWriter{mu: &p.mu, w: &p.log}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.exited) }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("log of the server:\n%s", tail(p.logged(), 6000))
			t.Logf("errors in it:\n%s", tail(p.errors(), 6000))
		}
	})
	return p
}

// serve starts a server and waits until it is ready.
func (in *installation) serve(t *testing.T, args ...string) *process {
	t.Helper()
	began := time.Now()
	p := in.start(t, args...)
	testkit.Eventually(t, time.Minute, func() bool {
		select {
		case <-p.exited:
			t.Fatalf("the server ended: %v\n%s", p.err, p.logged())
		default:
		}
		if p.url == "" {
			p.findURLs()
			return false
		}
		r, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		_ = r.Body.Close()
		return r.StatusCode == http.StatusOK
	}, "the server is ready")
	p.took = time.Since(began)
	return p
}

// errors are the lines of the log that are errors.
func (p *process) errors() string {
	var lines strings.Builder
	for line := range strings.Lines(p.logged()) {
		if strings.Contains(line, `"level":"ERROR"`) {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// findURLs parses the addresses from the server's log line.
func (p *process) findURLs() {
	for line := range strings.Lines(p.logged()) {
		var l struct {
			Msg        string `json:"msg"`
			URL        string `json:"url"`
			Operations string `json:"operations"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "serving" {
			p.url, p.ops = l.URL, l.Operations
		}
	}
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

// kill ends the process like a power failure.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
}

// terminate sends SIGTERM to the process.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// ends waits for a clean end.
func (p *process) ends(t *testing.T) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
	if p.err != nil {
		t.Errorf("the server ended with %v", p.err)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}
