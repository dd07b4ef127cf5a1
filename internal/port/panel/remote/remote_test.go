package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/paneltest"
	"stead.dev/stead/internal/port/panel/remote"
)

func newNode(t *testing.T) panel.Panel {
	t.Helper()
	m, err := machine.Open(t.Context(), machine.Config{
		Kind: machine.Directories, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), OriginURL: "http://127.0.0.1:1", Now: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return panelnode.New(m.Node)
}

// directories are the capabilities of a machine of directories.
var directories = []panel.Capability{
	panel.CapAccounts, panel.CapUsage, panel.CapSites, panel.CapFiles, panel.CapArchives, panel.CapDeploys, panel.CapBackups, panel.CapHandover, panel.CapMoving, panel.CapInventory, panel.CapMovedLogs,
}

func TestSuite(t *testing.T) {
	paneltest.RunSuite(t, directories, func(t *testing.T) panel.Panel { return connect(t, newNode(t)) })
}

func TestCapabilitiesAreTheNodes(t *testing.T) {
	near := newNode(t)
	far := connect(t, near)
	if got, want := panel.Capabilities(far), panel.Capabilities(near); !slices.Equal(got, want) {
		t.Errorf("capabilities = %v, want %v", got, want)
	}
	if _, err := panel.Of[panel.Databases](far, panel.CapDatabases); !errors.Is(err, panel.ErrUnsupported) {
		t.Errorf("databases of a machine without: %v", err)
	}
	// Nor does the call itself get through, whatever the caller believes.
	_, err := far.ListDatabases(t.Context(), "1")
	refused(t, err, panel.ErrUnsupported)
}

func refused(t *testing.T, err error, kind panel.Kind) *panel.Error {
	t.Helper()
	var e *panel.Error
	if !errors.As(err, &e) || e.Kind != kind || !errors.Is(err, kind) {
		t.Fatalf("error = %v, want %s", err, kind)
	}
	return e
}

func TestANodeThatIsAwayIsUnreachable(t *testing.T) {
	in := newInstallation(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	_ = ln.Close()
	far := remote.New(remote.Config{Name: "node:7", Address: address, TLS: in.control.Client(nodelink.NodeName(7))})
	_, err = far.Account(t.Context(), "12")
	if e := refused(t, err, panel.ErrUnreachable); e.Ref != "12" || e.Op != "accounts.Account" {
		t.Errorf("%+v", e)
	}
	if !far.Can(panel.CapFiles) {
		t.Error("a node that cannot be asked is taken to have nothing")
	}
	_, err = far.Upload(t.Context(), "12", "/x", strings.NewReader("x"), panel.WriteOptions{})
	refused(t, err, panel.ErrUnreachable)
}

// TestANodeThatNeverAnswersHoldsFewJobs: a machine takes calls and answers none. Few jobs at a time wait for it; the
// others go on to those of other machines. It has them all when it answers again.
func TestANodeThatNeverAnswersHoldsFewJobs(t *testing.T) {
	in := newInstallation(t)
	awake := make(chan struct{})
	var waiting atomic.Int64
	far := remote.New(remote.Config{
		Name: "node:7", TLS: in.control.Client(nodelink.NodeName(7)), QuietAfter: time.Millisecond,
		Capabilities: []panel.Capability{panel.CapAccounts}, Job: func(ctx context.Context) bool { return ctx.Value(request{}) == nil },
		Address: in.serve(t, remote.Handler(&scripted{account: func(ctx context.Context) (panel.Account, error) {
			waiting.Add(1)
			defer waiting.Add(-1)
			select {
			case <-awake:
				return panel.Account{Ref: "1"}, nil
			case <-ctx.Done():
				return panel.Account{}, ctx.Err()
			}
		}}, "")),
	})
	refused := make(chan error, 1)
	round := func() (giveUp func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		call := func() {
			calls.Go(func() {
				if _, err := far.Account(ctx, "1"); errors.Is(err, panel.ErrUnreachable) {
					select {
					case refused <- err:
					default:
					}
				}
			})
		}
		testkit.Eventually(t, time.Minute, func() bool {
			call()
			select {
			case <-refused:
				return true
			default:
				return false
			}
		}, "a call is refused while others wait")
		return func() { cancel(); calls.Wait() }
	}
	round()() // those that wait give up; it is still known
	testkit.Eventually(t, time.Minute, func() bool { return waiting.Load() == 0 }, "the calls have ended on the node")
	giveUp := round()
	if n := waiting.Load(); n > 2 {
		t.Errorf("%d jobs wait for a node that is known to answer nothing", n)
	}
	// Who asks in a browser holds no worker, and waits as long as it likes.
	asked := make(chan error, 1)
	go func() {
		_, err := far.Account(context.WithValue(t.Context(), request{}, true), "1")
		asked <- err
	}()
	testkit.Eventually(t, time.Minute, func() bool { return waiting.Load() == 3 }, "a request waits beside the jobs")
	close(awake)
	if err := <-asked; err != nil {
		t.Error(err)
	}
	giveUp()
	if _, err := far.Account(t.Context(), "1"); err != nil {
		t.Errorf("it answers again: %v", err)
	}
}

// request marks the contexts of calls that are no job's.
type request struct{}

func TestAnotherMachineAtTheAddressIsUnreachable(t *testing.T) {
	in, other := newInstallation(t), newInstallation(t)
	served := remote.Handler(newNode(t), "")
	for name, far := range map[string]*remote.Panel{
		"of another installation": remote.New(remote.Config{Address: other.serve(t, served), TLS: in.control.Client(nodelink.NodeName(7))}),
		"another node":            remote.New(remote.Config{Address: in.serve(t, served), TLS: in.control.Client(nodelink.NodeName(8))}),
		"a node calls a node":     remote.New(remote.Config{Address: in.serve(t, served), TLS: in.node.Client(nodelink.NodeName(7))}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := far.CreateAccount(t.Context(), panel.AccountSpec{Ref: "1", PrimaryDomain: "a.example"})
			if e := refused(t, err, panel.ErrUnreachable); e.Ref != "1" {
				t.Errorf("%+v", e)
			}
		})
	}
}

// scripted is a panel whose files do what a test says.
type scripted struct {
	panel.Files
	panel.Archives
	account func(ctx context.Context) (panel.Account, error)
	zip     func(ctx context.Context) (io.ReadCloser, error)
	upload  func(ctx context.Context, src io.Reader) (panel.Entry, error)
	panel.Accounts
	terminal func(ctx context.Context, input io.Reader) (io.ReadCloser, error)
}

func (s *scripted) OpenTerminal(ctx context.Context, _ string, _ panel.TerminalSize, input io.Reader) (io.ReadCloser, error) {
	return s.terminal(ctx, input)
}

func (*scripted) Name() string { return "scripted" }

func (s *scripted) Account(ctx context.Context, _ string) (panel.Account, error) {
	return s.account(ctx)
}

func (s *scripted) OpenZip(ctx context.Context, _, _ string) (io.ReadCloser, error) {
	return s.zip(ctx)
}

func (s *scripted) Upload(ctx context.Context, _, _ string, src io.Reader, _ panel.WriteOptions) (panel.Entry, error) {
	return s.upload(ctx, src)
}

func TestACallerWhoLeavesEndsTheCallOnTheNode(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	far := connect(t, &scripted{account: func(ctx context.Context) (panel.Account, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return panel.Account{}, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := far.Account(ctx, "1"); !errors.Is(err, context.Canceled) || panel.KindOf(err) == panel.ErrUnreachable {
		t.Errorf("error = %v", err)
	}
	<-ended
}

func TestAFaultOfANodeIsAFailure(t *testing.T) {
	far := connect(t, &scripted{account: func(context.Context) (panel.Account, error) { panic("out of luck") }})
	_, err := far.Account(t.Context(), "1")
	if e := refused(t, err, panel.ErrInternal); !strings.Contains(e.Error(), "out of luck") {
		t.Errorf("%v", e)
	}
}

func TestACallThatTakesTooLongIsUnreachable(t *testing.T) {
	in := newInstallation(t)
	address := in.serve(t, remote.Handler(&scripted{account: func(ctx context.Context) (panel.Account, error) {
		<-ctx.Done()
		return panel.Account{}, ctx.Err()
	}}, ""))
	far := remote.New(remote.Config{Address: address, TLS: in.control.Client(nodelink.NodeName(7)), Timeout: 50 * time.Millisecond})
	_, err := far.Account(t.Context(), "1")
	refused(t, err, panel.ErrUnreachable)
}

// slow is a stream of which more comes when the test says, and that ends as it says.
type slow struct {
	more   chan string
	err    error
	closed chan struct{}
	once   sync.Once
}

func (s *slow) Read(b []byte) (int, error) {
	select {
	case text, ok := <-s.more:
		if !ok {
			return 0, s.err
		}
		return copy(b, text), nil
	case <-s.closed:
		return 0, io.ErrClosedPipe
	}
}

func (s *slow) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func TestAStreamArrivesAsItComesAndSaysHowItEnded(t *testing.T) {
	for name, c := range map[string]struct {
		end  error
		kind panel.Kind
	}{
		"to its end":     {io.EOF, ""},
		"refused":        {panel.Wrap("x", "1", panel.ErrDiskFull), panel.ErrDiskFull},
		"failed somehow": {errors.New("a disk broke"), panel.ErrInternal},
	} {
		t.Run(name, func(t *testing.T) {
			src := &slow{more: make(chan string, 1), err: c.end, closed: make(chan struct{})}
			far := connect(t, &scripted{zip: func(context.Context) (io.ReadCloser, error) { return src, nil }})
			stream, err := far.OpenZip(t.Context(), "1", "/")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			b := make([]byte, 16)
			for _, text := range []string{"one", "two"} {
				src.more <- text
				n, err := stream.Read(b)
				if err != nil || string(b[:n]) != text {
					t.Fatalf("read %q, %v", b[:n], err)
				}
			}
			close(src.more)
			rest, err := io.ReadAll(stream)
			if len(rest) != 0 || panel.KindOf(err) != c.kind {
				t.Errorf("the end: %q, %v", rest, err)
			}
			<-src.closed
		})
	}
}

func TestAReaderWhoClosesEndsTheStreamOnTheNode(t *testing.T) {
	src := &slow{more: make(chan string, 1), closed: make(chan struct{})}
	far := connect(t, &scripted{zip: func(context.Context) (io.ReadCloser, error) { return src, nil }})
	stream, err := far.OpenZip(t.Context(), "1", "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Close()
	<-src.closed // though nothing was ever written
}

func TestAStreamThatBreaksOffIsNoEnd(t *testing.T) {
	in := newInstallation(t)
	address := in.serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	far := remote.New(remote.Config{Address: address, TLS: in.control.Client(nodelink.NodeName(7))})
	stream, err := far.OpenZip(t.Context(), "1", "/")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(stream)
	if string(got) != "half" {
		t.Errorf("read %q", got)
	}
	refused(t, err, panel.ErrUnreachable)
}

func TestWhatASenderFailsWithIsTheAnswer(t *testing.T) {
	broken := errors.New("the visitor's line broke")
	var seen atomic.Value
	far := connect(t, &scripted{upload: func(_ context.Context, src io.Reader) (panel.Entry, error) {
		_, err := io.Copy(io.Discard, src)
		seen.Store(err != nil)
		return panel.Entry{}, err
	}})
	_, err := far.Upload(t.Context(), "1", "/x", io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), failing{broken}), panel.WriteOptions{})
	if !errors.Is(err, broken) {
		t.Errorf("error = %v", err)
	}
	testkit.Eventually(t, time.Minute, func() bool { return seen.Load() == true }, "the node sees the upload fail")
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// counting counts what is read of it.
type counting struct {
	r io.Reader
	n atomic.Int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func TestAnEarlyRefusalEndsTheUpload(t *testing.T) {
	far := connect(t, &scripted{upload: func(context.Context, io.Reader) (panel.Entry, error) {
		return panel.Entry{}, panel.Wrap("files.upload", "1", panel.ErrDiskFull)
	}})
	const size = 256 << 20
	src := &counting{r: io.LimitReader(zeros{}, size)}
	_, err := far.Upload(t.Context(), "1", "/x", src, panel.WriteOptions{})
	refused(t, err, panel.ErrDiskFull)
	after := src.n.Load()
	if after == size {
		t.Error("all was sent to somebody who did not want it")
	}
	_, _ = far.Upload(t.Context(), "1", "/x", strings.NewReader(""), panel.WriteOptions{})
	if now := src.n.Load(); now != after {
		t.Errorf("the source was read on after the answer: %d bytes", now-after)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestAFileIsSoughtThroughTheWire(t *testing.T) {
	far := connect(t, newNode(t))
	ctx := t.Context()
	if _, err := far.CreateAccount(ctx, panel.AccountSpec{Ref: "1", PrimaryDomain: "a.example"}); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // a MiB
	if _, err := far.Upload(ctx, "1", "/public_html/big", bytes.NewReader(content), panel.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := far.Open(ctx, "1", "/public_html/big")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, at := range []int64{500_000, 0, 3, int64(len(content)) - 4} {
		if pos, err := f.Seek(at, io.SeekStart); pos != at || err != nil {
			t.Fatalf("seek: %d, %v", pos, err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, content[at:at+4]) {
			t.Errorf("at %d: %q, %v", at, got, err)
		}
	}
	if n, err := f.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if size, err := f.Seek(0, io.SeekEnd); size != int64(len(content)) || err != nil {
		t.Errorf("end = %d, %v", size, err)
	}
	if _, err := f.Seek(-1, io.SeekStart); err == nil {
		t.Error("there is something before the beginning")
	}
	// Of two versions of a file no mixture is read.
	if _, err := far.Write(ctx, "1", "/public_html/big", bytes.Repeat([]byte("x"), len(content)), panel.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(10, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	_, err = f.Read(make([]byte, 4))
	refused(t, err, panel.ErrETagMismatch)
}

func TestMalformedCallsAreRefused(t *testing.T) {
	in := newInstallation(t)
	address := in.serve(t, remote.Handler(newNode(t), ""))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: in.control.Client(nodelink.NodeName(7)), ForceAttemptHTTP2: true}}
	for body, want := range map[string]int{
		``: 422, `{}`: 422, `[]`: 422, `[1]`: 422, `["1", "2"]`: 422, `["none"]`: 422,
	} {
		for path, status := range map[string]int{"/v1/accounts.Account": want, "/v1/accounts.None": 404, "/v1/accounts": 404, "/v2/accounts.Account": 404} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != status || answer.ProtoMajor != 2 {
				t.Errorf("%s %q: %s %s", path, body, answer.Proto, answer.Status)
			}
		}
	}
}

func TestAConversationGoesBothWaysAtOnce(t *testing.T) {
	hungUp := make(chan struct{})
	far := connect(t, &scripted{terminal: func(_ context.Context, input io.Reader) (io.ReadCloser, error) {
		out, w := io.Pipe()
		go func() {
			err := panel.ReadTerminalInput(input, func(in panel.TerminalInput) error {
				_, err := w.Write(bytes.ToUpper(in.Data))
				return err
			})
			_ = w.CloseWithError(err)
			close(hungUp)
		}()
		return out, nil
	}})
	typed, keyboard := io.Pipe()
	screen, err := far.OpenTerminal(t.Context(), "1", panel.TerminalSize{Columns: 80, Rows: 24}, typed)
	if err != nil {
		t.Fatal(err)
	}
	tty := panel.NewTerminalWriter(keyboard)
	for _, text := range []string{"ls", "pwd"} {
		if _, err := io.WriteString(tty, text); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, len(text))
		if _, err := io.ReadFull(screen, b); err != nil || string(b) != strings.ToUpper(text) {
			t.Fatalf("%q, %v", b, err)
		}
	}
	_ = screen.Close()
	<-hungUp
	_ = keyboard.Close()
}

func TestATerminalEndsWithItsNode(t *testing.T) {
	in := newInstallation(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	address := in.serve(t, remote.Ending(ctx, remote.Handler(&scripted{terminal: func(ctx context.Context, _ io.Reader) (io.ReadCloser, error) {
		out, w := io.Pipe()
		context.AfterFunc(ctx, func() { _ = w.Close() })
		return out, nil
	}}, "")))
	far := remote.New(remote.Config{Address: address, TLS: in.control.Client(nodelink.NodeName(7))})
	typed, keyboard := io.Pipe()
	defer func() { _ = keyboard.Close() }()
	within, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	screen, err := far.OpenTerminal(within, "1", panel.TerminalSize{Columns: 80, Rows: 24}, typed)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = screen.Close() }()
	stop()
	_, _ = io.ReadAll(screen)
	if within.Err() != nil {
		t.Error("the terminal outlives the end of its node")
	}
}
