package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/node/agent"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

// world is a control plane that nodes can reach.
type world struct {
	t   *testing.T
	db  *db.DB
	clk *clock.Fake
	*nodes.Service
	url   string
	mu    sync.Mutex
	awake []int64 // services whose jobs were told to come at once
	// leaving are arguments of jobs that remove what services have left on nodes.
	leaving []string
	cleared []string // those that were told to come at once
}

// RetryNow implements nodes.Jobs for jobs of the services 1 to 9, and one that names none.
func (w *world) RetryNow(_ context.Context, tx *db.Tx, queues []string, which func(args []byte) bool) error {
	tx.OnCommit(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for id := range int64(10) {
			if args := fmt.Sprintf(`{"service_id":%d}`, id); slices.Contains(queues, jobs.ProvisionQueue) && which([]byte(args)) {
				w.awake = append(w.awake, id)
			}
		}
		for _, args := range w.leaving {
			if slices.Contains(queues, jobs.PanelQueue) && which([]byte(args)) {
				w.cleared = append(w.cleared, args)
			}
		}
	})
	return nil
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	box, err := secret.OpenKeyFile(t.TempDir() + "/key")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	w := &world{t: t, db: d, clk: clk}
	w.Service = nodes.New(nodes.Config{DB: d, Clock: clk, Box: box, Signals: signal.NewHub(d, clk, log), Jobs: w, Log: log})
	w.Connect(nodes.Needs{Checks: nodes.NoChecks{}, Moves: nodes.NoMoves{}})
	identity, err := w.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.url = serve(t, &http.Server{Handler: w.Handler(), TLSConfig: identity.Server(nodes.Accept, true), ReadHeaderTimeout: time.Second})
	return w
}

func serve(t *testing.T, srv *http.Server) string {
	t.Helper()
	srv.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeTLS(ln, "", "") }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	return "https://" + ln.Addr().String()
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(t, newWorld(t, d, clk)) })
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(n nodes.NewNode) (nodes.Node, string) {
	w.t.Helper()
	added, token, err := w.Add(w.t.Context(), n)
	w.must(err)
	return added, token
}

func (w *world) invitation(dir, token string) agent.Invitation {
	return agent.Invitation{Dir: dir, URL: w.url, Token: token, Address: "127.0.0.1:8443", Version: "v1", Now: w.clk.Now}
}

// machine is a hosting machine that runs an agent.
type machine struct {
	dir      string
	capacity atomic.Pointer[nodelink.Capacity]
	checks   bool // of monitors
	stop     func()
}

// bare is a panel that can do what a test says.
type bare struct{ panel.Accounts }

func (bare) Name() string { return "bare" }

func (bare) Account(context.Context, string) (panel.Account, error) {
	return panel.Account{Username: "here"}, nil
}

// join makes a machine a node and runs it.
func (w *world) join(n nodes.NewNode) (nodes.Node, *machine) {
	w.t.Helper()
	added, token := w.add(n)
	m := &machine{dir: w.t.TempDir()}
	_, err := agent.Join(w.t.Context(), w.invitation(m.dir, token))
	w.must(err)
	w.run(m)
	w.eventually(added.Name, func(n nodes.Node) bool { return n.Shown(w.clk.Now()) == nodes.Active })
	return added, m
}

func (w *world) run(m *machine) {
	w.t.Helper()
	if m.capacity.Load() == nil {
		m.capacity.Store(&nodelink.Capacity{DiskMB: 1000, DiskFreeMB: 900, MemoryMB: 512, CPUs: 2, Load: 0.25})
	}
	var prober agent.Prober
	if m.checks {
		prober = nothing{}
	}
	a, err := agent.Open(agent.Config{
		Prober: prober, CheckEvery: 10 * time.Millisecond,
		Dir: m.dir, Panel: bare{}, Version: "v2", Now: w.clk.Now, Log: slog.New(slog.DiscardHandler), ReportEvery: 10 * time.Millisecond,
		Measure: func() (nodelink.Capacity, error) { return *m.capacity.Load(), nil },
	})
	w.must(err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, ln, time.Second) }()
	var once sync.Once
	m.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.t.Error(err)
			}
		})
	}
	w.t.Cleanup(m.stop)
}

func (w *world) node(name string) nodes.Node {
	w.t.Helper()
	all, err := w.List(w.t.Context())
	w.must(err)
	for _, n := range all {
		if n.Name == name {
			return n
		}
	}
	return nodes.Node{}
}

func (w *world) eventually(name string, ok func(nodes.Node) bool) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool { return ok(w.node(name)) }, "node "+name)
}

func (w *world) place(need nodes.Need) (name string, err error) {
	w.t.Helper()
	err = w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		name, err = w.Place(ctx, tx, need)
		return err
	})
	return name, err
}

func (w *world) ended(serviceID int64, event string) {
	w.t.Helper()
	w.must(w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return w.Follow(ctx, tx, outbox.Stored{Type: event, SubjectID: serviceID})
	}))
}

func key(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Def.Key
	}
	return fmt.Sprint(err)
}

func TestAMachineJoinsReportsAndIsCalled(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		added, token := w.add(nodes.NewNode{Name: "node1", Location: "tas"})
		if added.State != nodes.Joining || strings.Contains(fmt.Sprintf("%+v", added), token) {
			t.Errorf("added: %+v", added)
		}
		if _, _, err := w.Add(t.Context(), nodes.NewNode{Name: "node1"}); key(err) != "already_exists" {
			t.Errorf("the same name again: %v", err)
		}
		dir := t.TempDir()
		member, err := agent.Join(t.Context(), w.invitation(dir, token))
		w.must(err)
		if member != (agent.Member{ID: added.ID, Name: "node1", Location: "tas", Address: "127.0.0.1:8443"}) {
			t.Errorf("member: %+v", member)
		}
		if info, err := os.Stat(dir + "/membership.json"); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key's file: %v %v", info, err)
		}
		if n := w.node("node1"); n.State != nodes.Active || n.Shown(w.clk.Now()) != nodes.Offline {
			t.Errorf("before the first report: %+v", n)
		}

		// A token is good once, and a machine joins once.
		if _, err := agent.Join(t.Context(), w.invitation(t.TempDir(), token)); err == nil {
			t.Error("a token was used twice")
		}
		if _, err := agent.Join(t.Context(), w.invitation(dir, token)); err == nil {
			t.Error("a machine joined twice")
		}

		m := &machine{dir: dir}
		w.run(m)
		w.eventually("node1", func(n nodes.Node) bool { return n.Shown(w.clk.Now()) == nodes.Active })
		n := w.node("node1")
		if n.Version != "v2" || n.Capacity.DiskMB != 1000 || n.Capacity.Load != 0.25 || len(n.Capabilities) != 1 || n.Capabilities[0] != panel.CapAccounts {
			t.Errorf("as it reported: %+v", n)
		}
		m.stop()
		w.clk.Advance(nodelink.SilentAfter)
		if n := w.node("node1"); n.Shown(w.clk.Now()) != nodes.Offline {
			t.Errorf("silent: %+v", n)
		}
	})
}

func TestWhoIsNoNodeDoesNotJoin(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		_, token := w.add(nodes.NewNode{Name: "node1"})
		_, pin, err := nodelink.SplitToken(token)
		w.must(err)
		for name, in := range map[string]agent.Invitation{
			"another secret":    w.invitation(t.TempDir(), nodelink.JoinToken("st_node_guess", pin)),
			"no token":          w.invitation(t.TempDir(), ""),
			"another authority": w.invitation(t.TempDir(), strings.Replace(token, pin, strings.Repeat("A", len(pin)), 1)),
			"no address":        {Dir: t.TempDir(), URL: w.url, Token: token, Now: w.clk.Now},
			"no shown address":  {Dir: t.TempDir(), URL: w.url, Token: token, Address: "\x1b[2J:8443", Now: w.clk.Now},
			"no shown version":  {Dir: t.TempDir(), URL: w.url, Token: token, Address: "127.0.0.1:1", Version: "\x1b]0;v1\a", Now: w.clk.Now},
			"plain http":        {Dir: t.TempDir(), URL: "http://" + w.url, Token: token, Address: "127.0.0.1:1", Now: w.clk.Now},
		} {
			if m, err := agent.Join(t.Context(), in); err == nil {
				t.Errorf("%s joined as %+v", name, m)
			}
		}
		w.clk.Advance(61 * time.Minute)
		if _, err := agent.Join(t.Context(), w.invitation(t.TempDir(), token)); err == nil {
			t.Error("an old token was taken")
		}
		for _, n := range []nodes.NewNode{{}, {Name: "A"}, {Name: "../x"}, {Name: "a", Location: "x y"}, {Name: "a", MaxAccounts: -1}, {Name: "a", DiskPercent: -5}} {
			if _, _, err := w.Add(t.Context(), n); key(err) != "validation_failed" {
				t.Errorf("%+v: %v", n, err)
			}
		}
	})
}

func TestARemovedNodeIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		added, m := w.join(nodes.NewNode{Name: "node1"})
		if _, ok, err := w.Find(t.Context(), added.ID); !ok || err != nil {
			t.Fatalf("it is not found: %v", err)
		}
		_, err := w.Remove(t.Context(), "node1", false)
		w.must(err)
		if _, ok, err := w.Find(t.Context(), added.ID); ok || err != nil {
			t.Errorf("it is called still (%v)", err)
		}
		// Its certificate is good for weeks; nobody listens.
		var seen *time.Time
		read := func() {
			w.must(w.db.QueryRow(t.Context(), `SELECT last_seen_at FROM nodes_nodes WHERE id = $1`, added.ID).Scan(&seen))
		}
		read()
		before := *seen
		w.clk.Advance(time.Minute)
		m.stop()
		w.run(&machine{dir: m.dir})
		if _, err := w.Drain(t.Context(), "node1"); key(err) != "not_found" {
			t.Errorf("drain: %v", err)
		}
		read()
		if !seen.Equal(before) {
			t.Error("a removed node was heard")
		}
		// The name is free.
		if again, _ := w.add(nodes.NewNode{Name: "node1"}); again.ID == added.ID {
			t.Error("the same node")
		}
	})
}

func TestAMachineInANodesPlaceEndsTheFormer(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		added, m := w.join(nodes.NewNode{Name: "node1"})
		w.clk.Advance(time.Minute)
		_, token, err := w.Rejoin(t.Context(), "node1")
		w.must(err)
		in := w.invitation(t.TempDir(), token)
		in.Address = "127.0.0.1:9999"
		member, err := agent.Join(t.Context(), in)
		w.must(err)
		if member.ID != added.ID {
			t.Errorf("member: %+v", member)
		}
		joined := w.node("node1")
		w.clk.Advance(time.Minute)
		m.stop() // its last report has been made, or refused
		w.run(&machine{dir: m.dir})
		if n := w.node("node1"); n.Address != "127.0.0.1:9999" || (n.LastSeenAt != nil && n.LastSeenAt.After(*joined.JoinedAt)) {
			t.Errorf("the former machine was heard: %+v", n)
		}
		w.run(&machine{dir: in.Dir})
		w.eventually("node1", func(n nodes.Node) bool { return n.Shown(w.clk.Now()) == nodes.Active })
	})
}

func TestACertificateIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		_, m := w.join(nodes.NewNode{Name: "node1"})
		first := w.node("node1").CertificateEndsAt
		kept := func() string {
			data, err := os.ReadFile(m.dir + "/membership.json")
			w.must(err)
			return string(data)
		}
		before := kept()
		w.clk.Advance(nodelink.NodeLifetime/2 + time.Hour)
		// The control plane's own is of a shorter life and is renewed by itself.
		_, err := w.Identity(t.Context())
		w.must(err)
		w.eventually("node1", func(n nodes.Node) bool { return n.CertificateEndsAt.After(first.Add(24 * time.Hour)) })
		testkit.Eventually(t, time.Minute, func() bool { return kept() != before }, "the machine keeps it")
		m.stop()
		// Long after the first certificate ended the second is good.
		w.clk.Advance(nodelink.NodeLifetime/2 + time.Hour)
		_, err = w.Identity(t.Context())
		w.must(err)
		w.run(&machine{dir: m.dir})
		w.eventually("node1", func(n nodes.Node) bool { return n.Shown(w.clk.Now()) == nodes.Active })
	})
}

func TestTheControlPlaneCallsANodeAndNobodyElseDoes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		added, token := w.add(nodes.NewNode{Name: "node1"})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		w.must(err)
		in := w.invitation(t.TempDir(), token)
		in.Address = ln.Addr().String()
		_, err = agent.Join(t.Context(), in)
		w.must(err)
		a, err := agent.Open(agent.Config{
			Dir: in.Dir, Panel: bare{}, Now: w.clk.Now, Log: slog.New(slog.DiscardHandler),
			Measure: func() (nodelink.Capacity, error) { return nodelink.Capacity{}, nil },
		})
		w.must(err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx, ln, time.Second) }()
		found, ok, err := w.Find(t.Context(), added.ID)
		if !ok || err != nil {
			t.Fatalf("not found: %v", err)
		}
		identity, err := w.Identity(t.Context())
		w.must(err)
		far := remote.New(remote.Config{Name: "node", Address: found.Address, TLS: identity.Client(nodelink.NodeName(added.ID))})
		if acc, err := far.Account(t.Context(), "1"); err != nil || acc.Username != "here" {
			t.Errorf("account: %+v, %v", acc, err)
		}
		_ = far.Close()
		cancel()
		w.must(<-ended)
	})
}

// exchanges are the monitors of a control plane.
type exchanges struct {
	mu      sync.Mutex
	regions map[string]int
}

func (e *exchanges) Exchange(_ context.Context, _ int64, region string, _ nodelink.Checks) (nodelink.Work, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.regions[region]++
	return nodelink.Work{}, nil
}

// of is how many messages have come for a region.
func (e *exchanges) of(region string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.regions[region]
}

// nothing is a prober that is never called.
type nothing struct{}

func (nothing) Check(context.Context, probe.Target) probe.Result { panic("there is nothing to check") }

// TestNodesCheckForTheirRegion: the operator's word for it, else the location, else the name. One that is switched off is
// heard no more.
func TestNodesCheckForTheirRegion(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		heard := &exchanges{regions: map[string]int{}}
		w.Connect(nodes.Needs{Checks: heard, Moves: nodes.NoMoves{}})
		_, token := w.add(nodes.NewNode{Name: "node1", Location: "tashkent"})
		m := &machine{dir: t.TempDir(), checks: true}
		_, err := agent.Join(t.Context(), w.invitation(m.dir, token))
		w.must(err)
		w.run(m)
		in := func(region string) {
			t.Helper()
			before := heard.of(region)
			testkit.Eventually(t, time.Minute, func() bool { return heard.of(region) > before+1 }, "it checks for "+region)
		}
		in("tashkent")
		name := "uz-1"
		n, err := w.SetChecks(t.Context(), "node1", nil, &name)
		w.must(err)
		if n.Region() != name || !n.Checks {
			t.Errorf("%+v", n)
		}
		in(name)
		for _, bad := range []string{"control", "Ab", "a b"} {
			if _, err := w.SetChecks(t.Context(), "node1", nil, &bad); key(err) != "validation_failed" {
				t.Errorf("%q: %v", bad, err)
			}
			if _, _, err := w.Add(t.Context(), nodes.NewNode{Name: "node2", Region: bad}); key(err) != "validation_failed" {
				t.Errorf("%q: %v", bad, err)
			}
		}
		on, off := true, false
		_, err = w.SetChecks(t.Context(), "node1", &off, nil)
		w.must(err)
		m.stop()
		before := heard.of(name)
		w.run(&machine{dir: m.dir, checks: true})
		for range 3 { // it speaks again and again
			w.clk.Advance(2 * nodelink.SilentAfter)
			w.eventually("node1", func(n nodes.Node) bool { return n.Shown(w.clk.Now()) == nodes.Active })
		}
		if heard.of(name) != before {
			t.Error("a node that is switched off is heard")
		}
		_, err = w.SetChecks(t.Context(), "node1", &on, nil)
		w.must(err)
		in(name)
		if _, err := w.SetChecks(t.Context(), "node9", &on, nil); key(err) != "not_found" {
			t.Errorf("no such node: %v", err)
		}
	})
}
