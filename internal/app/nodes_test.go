package app

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/node/agent"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// runNode joins a machine to the control plane at a and runs it until the test ends, or until stop is called. also are further
// settings of it.
func runNode(t *testing.T, a *App, token string, also map[string]string) (stop func()) {
	t.Helper()
	return runNodeWith(t, a, token, also, quietly())
}

func runNodeWith(t *testing.T, a *App, token string, also map[string]string, opts Options) (stop func()) {
	t.Helper()
	address := testkit.Address(t)
	settings := map[string]string{"agent_listen": address}
	maps.Copy(settings, also)
	cfg := testConfig(t, settings)
	if err := RunNode(t.Context(), cfg, quietly()); !errors.Is(err, agent.ErrNotJoined) {
		t.Fatalf("a machine that has not joined runs: %v", err)
	}
	if _, err := JoinNode(t.Context(), cfg, agent.Invitation{URL: a.NodesURL(), Token: token, Address: address}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- RunNode(ctx, cfg, opts) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("node: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func TestTheDoctorCallsTheNodes(t *testing.T) {
	a := start(t, map[string]string{"panel": "nodes", "nodes_listen": "127.0.0.1:0", "node_listen": "off", "base_url": "http://stead.test"})
	invite := func(name string) string {
		t.Helper()
		_, token, err := a.nodes.Add(t.Context(), nodes.NewNode{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	found := func(version string) (all []string) {
		for _, c := range Examine(t.Context(), a.cfg, version).Checks {
			if c.Name == "nodes" {
				all = append(all, string(c.Status)+" "+c.Found)
			}
		}
		return all
	}
	expect := func(version string, want ...string) {
		t.Helper()
		if got := found(version); !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	invite("invited")
	expect("test", "fail none has joined")
	runNode(t, a, invite("node1"), nil)
	testkit.Eventually(t, heard, func() bool { return strings.HasPrefix(found("test")[0], "ok 1 report and answer; 1 of them") }, "the node has reported")
	expect("newer", "warn node1 runs version test, this is newer")
	// One that has joined and does not run.
	cfg := testConfig(t, nil)
	if _, err := JoinNode(t.Context(), cfg, agent.Invitation{URL: a.NodesURL(), Token: invite("node2"), Address: testkit.Address(t), Version: "test"}); err != nil {
		t.Fatal(err)
	}
	expect("test", "fail node2 has not reported since")
}

func TestANodeIsAPanelOfEveryReplica(t *testing.T) {
	both := map[string]string{"panel": "nodes", "nodes_listen": "127.0.0.1:0", "node_listen": "off"}
	settings := map[string]string{"database_url": testkit.PostgresURL(t), "data_dir": t.TempDir(), "base_url": "http://stead.test"}
	for k, v := range both {
		settings[k] = v
	}
	one, other := start(t, settings), start(t, settings)
	if _, ok := one.panels.Panel("node:1"); ok {
		t.Error("there is a node before one was added")
	}
	added, token, err := one.nodes.Add(t.Context(), nodes.NewNode{Name: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	runNode(t, other, token, nil) // joins by one replica
	name := nodes.PanelName(added.ID)
	for _, a := range []*App{one, other} {
		testkit.Eventually(t, heard, func() bool {
			p, ok := a.panels.Panel(name)
			if !ok {
				return false
			}
			_, err := panel.Of[panel.Files](p, panel.CapFiles)
			return err == nil
		}, "the replica has the node and knows what it can do")
		p, _ := a.panels.Panel(name)
		accounts, err := panel.Of[panel.Accounts](p, panel.CapAccounts)
		if err != nil {
			t.Fatal(err)
		}
		acc, err := accounts.CreateAccount(t.Context(), panel.AccountSpec{Ref: "7", Username: "s7", PrimaryDomain: "seven.example"})
		if err != nil || acc.Username != "s7" {
			t.Errorf("account: %+v, %v", acc, err)
		}
		if again, _ := a.panels.Panel(name); again != p {
			t.Error("the connection is made anew for each call")
		}
	}
	if _, err := one.nodes.Remove(t.Context(), "node1", false); err != nil {
		t.Fatal(err)
	}
	if _, ok := one.panels.Panel(name); ok {
		t.Error("where it was removed it is called still")
	}
	began := time.Now()
	testkit.Eventually(t, heard, func() bool {
		_, ok := other.panels.Panel(name)
		return !ok
	}, "the other replica has it no more")
	t.Logf("heard after %v", time.Since(began))
}

func TestOperatorsSeeWhereServicesAreAndWhereNoneGo(t *testing.T) {
	engines(t, map[string]string{"panel": "sandbox", "demo": "true"}, func(t *testing.T, a *App) {
		ctx := context.WithoutCancel(t.Context())
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_000)
		w.plan = w.aPlan()
		var ids [2]int64
		for i := range ids {
			ids[i] = a.dueService(t, w.owner.id, 300, a.clock.Now().Add(24*time.Hour))
		}
		added, err := a.admin.AddNode(ctx, nodes.NewNode{Name: "one", Location: "nowhere"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(added.Warning, "nowhere") {
			t.Errorf("a location that no plan names: %q", added.Warning)
		}
		named, anywhere, err := a.catalog.Places(ctx, a.db)
		if err != nil {
			t.Fatal(err)
		}
		none := ""
		changed, err := a.admin.SetNode(ctx, "one", nodes.Change{Location: &none})
		if err != nil || (changed.Warning == "") != (len(anywhere) > 0) {
			t.Errorf("without a location: %q, %v", changed.Warning, err)
		}
		for _, p := range named {
			if changed, err = a.admin.SetNode(ctx, "one", nodes.Change{Location: &p.Name}); err != nil || changed.Warning != "" {
				t.Errorf("at %s: %q, %v", p.Name, changed.Warning, err)
			}
		}
		err = a.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE services SET panel = $1 WHERE id = $2`, nodes.PanelName(added.Node.ID), ids[0])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]int64{"one": ids[:1], "sandbox": ids[1:], "another": {}, "": ids[:]} {
			list, err := a.admin.ListServices(ctx, admin.Services{Node: name}, page.Params{Page: 1, PerPage: 20})
			if err != nil {
				t.Fatal(err)
			}
			got := []int64{}
			for _, s := range list.Data {
				got = append(got, s.ID)
				if (s.Node != nil && *s.Node == "one") != (s.ID == ids[0]) {
					t.Errorf("service %d is on %v", s.ID, s.Node)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("on %q: %v, want %v", name, got, want)
			}
		}
		rooms, err := roomOfPlans(ctx, a.nodes, a.catalog, a.db)
		if err != nil || len(rooms) == 0 {
			t.Fatal(rooms, err)
		}
		for _, r := range rooms {
			if r.Services != 0 || len(r.Obstacles) == 0 {
				t.Errorf("of a node that has not joined: %+v", r)
			}
		}
	})
}

// spans is a collector of traces that keeps what it is sent.
type spans struct {
	mu   sync.Mutex
	sent [][]byte
}

func (s *spans) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, body)
}

// from reports whether the collector has a span of a service in a trace.
func (s *spans) from(service string, trace []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.sent, func(body []byte) bool {
		return bytes.Contains(body, []byte(service)) && bytes.Contains(body, trace)
	})
}

// lines is a log that a test reads while others write it.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// find returns the first line that has all of these texts.
func (l *lines) find(texts ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return line
		}
	}
	return ""
}

// TestARequestIsOneTraceFromTheEdgeToTheNode: spans of both, lines of both, and the exemplar of its duration have one id.
func TestARequestIsOneTraceFromTheEdgeToTheNode(t *testing.T) {
	collector := &spans{}
	server := httptest.NewServer(collector)
	t.Cleanup(server.Close)
	var edgeLog, nodeLog lines
	cfg := testConfig(t, map[string]string{
		"panel": "nodes", "nodes_listen": "127.0.0.1:0", "node_listen": "off", "base_url": "http://stead.test", "otlp_endpoint": server.URL,
	})
	a, err := New(t.Context(), cfg, Options{Version: "test", Log: observe.NewLog(&edgeLog, slog.LevelInfo)})
	if err != nil {
		t.Fatal(err)
	}
	run(t, a)
	added, token, err := a.nodes.Add(t.Context(), nodes.NewNode{Name: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	stop := runNodeWith(t, a, token, map[string]string{"otlp_endpoint": server.URL}, Options{Version: "test", Log: observe.NewLog(&nodeLog, slog.LevelInfo)})
	name := nodes.PanelName(added.ID)
	var far panel.Panel
	testkit.Eventually(t, heard, func() bool {
		far, _ = a.panels.Panel(name)
		if far == nil {
			return false
		}
		_, err := panel.Of[panel.Files](far, panel.CapFiles)
		return err == nil
	}, "the node has joined")
	accounts, err := panel.Of[panel.Accounts](far, panel.CapAccounts)
	if err != nil {
		t.Fatal(err)
	}
	owner := a.customer(t, a.application(t, false), 0)
	const ref = "1"
	if _, err := accounts.CreateAccount(t.Context(), panel.AccountSpec{Ref: ref, Username: "s1", PrimaryDomain: "one.example"}); err != nil {
		t.Fatal(err)
	}
	err = a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO services (id, account_id, order_id, type, label, status, domain, search, plan_id, plan_slug, plan_name, limits,
				period_months, auto_renew, renew_price, panel, panel_ref, username, created_at, provisioning_at, provisioned_at, expires_at, next_renewal_attempt_at, step_at)
			VALUES (1, $1, 0, 'hosting', 'one', 'active', 'one.example', 'one', 1, 'start', 'Start', '{}', 1, FALSE, 300, $2, $3, 's1', $4, $4, $4, $5, $5, $5)`,
			owner.id, name, ref, tx.Now, tx.Now.Add(240*time.Hour))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	answered := a.get(t, owner.token, "/api/v1/services/1/files?path=/")
	if answered.status != http.StatusOK {
		t.Fatal(answered)
	}
	request := `"request_id":"` + answered.header.Get("X-Request-Id") + `"`
	var edge struct {
		TraceID string `json:"trace_id"`
	}
	testkit.Eventually(t, heard, func() bool { return edgeLog.find(`"msg":"request"`, request) != "" }, "the edge has its line")
	if err := json.Unmarshal([]byte(edgeLog.find(`"msg":"request"`, request)), &edge); err != nil || edge.TraceID == "" {
		t.Fatal(edgeLog.find(request), err)
	}
	testkit.Eventually(t, heard, func() bool { return nodeLog.find(`"msg":"call"`, request, edge.TraceID) != "" }, "the node has a line of the same request and trace")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	metrics := httptest.NewRecorder()
	a.metrics.Handler().ServeHTTP(metrics, r)
	if !strings.Contains(metrics.Body.String(), `# {trace_id="`+edge.TraceID+`"}`) {
		t.Error("no exemplar names the trace")
	}
	trace, err := hex.DecodeString(edge.TraceID)
	if err != nil {
		t.Fatal(err)
	}
	stop() // sends what is left
	testkit.Eventually(t, heard, func() bool { return collector.from("stead-node", trace) && collector.from("files.List", trace) }, "the collector has both sides")
}
