package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stead.dev/stead/internal/platform/testkit"
)

// cluster is three replicas on one PostgreSQL, behind HAProxy as deploy/haproxy configures it, with three hosting machines; each
// has a network namespace of its own.
type cluster struct {
	t        *testing.T
	replicas [3]*installation
	running  [3]*process
	nodes    [3]*agent
	lan      *lan
	database string // as the test reaches it
	machines struct{ replicas, nodes [3]*machine }
	entrance *process // what customers reach: its url is the balancer's
}

// newCluster starts a cluster of the given program.
func newCluster(t *testing.T, program string) *cluster {
	t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		t.Fatalf("%v: run the tests with `make test`, which installs it", err)
	}
	n := newLAN(t)
	web, nodes := testkit.Address(t), n.address(1)+":8444"
	c := &cluster{t: t, lan: n, entrance: &process{url: "http://" + web}}
	n.lead(web, n.address(1)+":8080")
	balancer := exec.Command("ip", "netns", "exec", n.name, haproxy, "-db", "-f", filepath.Join("..", "..", "deploy", "haproxy", "haproxy.cfg"))
	balancer.Env = append(os.Environ(), "STEAD_WEB="+n.address(1)+":8080", "STEAD_NODES="+nodes)
	database, err := url.Parse(testkit.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	c.database, database.Host = database.String(), n.offer(database.Host)
	c.empty()
	var key string
	for i := range c.replicas {
		m := n.machine()
		c.machines.replicas[i] = m
		in := newInstallation(t, "STEAD_DATABASE_URL="+database.String(), "STEAD_BASE_URL=http://"+web, "STEAD_LISTEN="+m.address+":8080",
			"STEAD_TRUSTED_PROXIES="+n.address(1), "STEAD_SHUTDOWN_DELAY=2s", "STEAD_NODE_LISTEN=off", "STEAD_PANEL=nodes",
			"STEAD_NODES_LISTEN="+m.address+":8444", "STEAD_NODES_URL=https://"+nodes, "STEAD_DATABASE_CONNECTIONS=8", "STEAD_DATABASE_READERS=8")
		in.program = m.program(program)
		if key != "" {
			in.env = append(in.env, "STEAD_SECRET_KEY="+key)
		}
		c.replicas[i] = in
		c.start(i)
		if key == "" {
			key = c.key(in)
		}
		balancer.Env = append(balancer.Env, fmt.Sprintf("STEAD_%d=%s:8080", i+1, m.address), fmt.Sprintf("STEAD_NODES_%d=%s:8444", i+1, m.address))
	}
	if err := balancer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = balancer.Process.Kill(), balancer.Wait() })
	testkit.Eventually(t, time.Minute, func() bool { return ready(http.DefaultClient, c.entrance.url) }, "a replica is reached through the balancer")
	for i := range c.nodes {
		m := n.machine()
		c.machines.nodes[i] = m
		c.nodes[i] = newAgentAt(t, c.replicas[i], m.program(program), m.address+":8445", nodes, c.node(i), "--location", "tashkent", "--disk-percent", "10000")
		c.nodes[i].start(t)
	}
	for i := range c.nodes {
		testkit.Eventually(t, time.Minute, func() bool { return c.replicas[0].state(t, c.node(i)) == "active" }, "the node reports")
	}
	return c
}

// empty leaves nothing in the database: the program of an earlier release makes its own schema.
func (c *cluster) empty() {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.database)
	if err == nil {
		_, err = conn.Exec(c.t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
		err = errors.Join(err, conn.Close(c.t.Context()))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) node(i int) string { return fmt.Sprintf("node%d", i+1) }

// ready tells whether requests may be sent to a server.
func ready(client *http.Client, url string) bool {
	r, err := client.Get(url + "/readyz")
	if err != nil {
		return false
	}
	_ = r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// start starts a replica and waits until it is ready.
func (c *cluster) start(i int) {
	c.t.Helper()
	c.running[i] = c.replicas[i].start(c.t, "--demo")
	testkit.Eventually(c.t, time.Minute, func() bool { return ready(c.lan.client(), "http://"+c.machines.replicas[i].address+":8080") }, "the replica is ready")
}

// key is what the first replica seals secrets with; the others need the same.
func (c *cluster) key(in *installation) string {
	c.t.Helper()
	for _, variable := range in.env {
		if dir, ok := strings.CutPrefix(variable, "STEAD_DATA_DIR="); ok {
			content, err := os.ReadFile(filepath.Join(dir, "secret.key"))
			if err != nil {
				c.t.Fatal(err)
			}
			return strings.TrimSpace(string(content))
		}
	}
	c.t.Fatal("the installation has no data directory")
	return ""
}

// load is customers who order and pay, and what they saw.
type load struct {
	*customer
	plan int64

	mu      sync.Mutex
	made    int // orders
	paid    []int64
	phase   phase
	paying  sync.WaitGroup
	looking sync.WaitGroup
}

// phase is what was seen between two events.
type phase struct {
	calls, failed int
	last          time.Time       // the last failure
	waited        []time.Duration // from paid to completed, of those that were paid in it
	delayed       int             // of these, those that took longer than an order does when nothing happens
	lastDelayed   time.Time       // when the last of the delayed was completed
}

// delay is how long no order waits when nothing happens.
const delay = 3 * time.Second

// try repeats a call with its key until it is answered. Each answer that blames the server is a failure that a customer sees.
func (l *load) try(method, path, body, key string, into any) bool {
	for range 300 {
		status, answer, err := l.call(method, path, body, key)
		if err != nil && l.t.Context().Err() != nil {
			return false
		}
		l.mu.Lock()
		l.phase.calls++
		if failed := err != nil || status >= http.StatusInternalServerError; failed {
			l.phase.failed++
			l.phase.last = time.Now()
			l.t.Logf("%s %s: %d %v %.200s", method, path, status, err, answer)
		}
		l.mu.Unlock()
		if err == nil && status < 300 {
			if err := json.Unmarshal(answer, into); err != nil {
				l.t.Errorf("%s %s: %v in %s", method, path, err, answer)
			}
			return err == nil
		}
		if err == nil && status < http.StatusInternalServerError && status != http.StatusConflict {
			l.t.Errorf("%s %s: %d %s", method, path, status, answer)
			return false
		}
		<-time.After(100 * time.Millisecond) // sleeps: the other request with this key is being answered
	}
	l.t.Errorf("%s %s was never answered", method, path)
	return false
}

// buy orders and pays once, and waits for what was bought.
func (l *load) buy() {
	l.mu.Lock()
	l.made++
	n := l.made
	l.mu.Unlock()
	var order struct {
		ID     int64
		Status string
	}
	if !l.try(http.MethodPost, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": "o%d.example.com"}`, l.plan, n), fmt.Sprintf("order-%d", n), &order) ||
		!l.try(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order.ID), "{}", fmt.Sprintf("pay-%d", n), &struct{}{}) {
		return
	}
	paid := time.Now()
	l.mu.Lock()
	l.paid = append(l.paid, order.ID)
	l.mu.Unlock()
	l.looking.Go(func() {
		for order.Status != "completed" {
			if time.Since(paid) > 3*time.Minute {
				l.t.Errorf("order %d is %s three minutes after it was paid", order.ID, order.Status)
				return
			}
			<-time.After(200 * time.Millisecond) // sleeps: it is asked how far it is
			if !l.try(http.MethodGet, fmt.Sprintf("/api/v1/orders/%d", order.ID), "", "", &order) {
				return
			}
		}
		l.mu.Lock()
		l.phase.waited = append(l.phase.waited, time.Since(paid))
		if time.Since(paid) > delay {
			l.phase.delayed++
			l.phase.lastDelayed = time.Now()
		}
		l.mu.Unlock()
	})
}

// during runs customers until what happens meanwhile is over, and says what they saw.
func (l *load) during(name string, happens func()) phase {
	l.t.Helper()
	began, over := time.Now(), make(chan struct{})
	for range 4 {
		l.paying.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(150 * time.Millisecond): // sleeps: customers take their time
					l.buy()
				}
			}
		})
	}
	<-time.After(2 * time.Second) // sleeps: there is load before it happens
	happened := time.Now()
	happens()
	<-time.After(2 * time.Second) // sleeps: there is load after it
	close(over)
	l.paying.Wait()
	l.looking.Wait()
	p := l.phase
	l.phase = phase{}
	slices.Sort(p.waited)
	// Recovered is when the last call had failed and the last delayed order was completed.
	recovered := time.Duration(0)
	for _, last := range []time.Time{p.last, p.lastDelayed} {
		if !last.IsZero() {
			recovered = max(recovered, last.Sub(happened))
		}
	}
	if len(p.waited) == 0 {
		l.t.Fatalf("%s: nothing was bought", name)
	}
	l.t.Logf("%s: %d orders, %d calls in %.0f s, %d failed, %d orders were delayed, all was as before %.1f s after it; from paid to completed p50 %d ms, p99 %d ms, longest %d ms", name,
		len(p.waited), p.calls, time.Since(began).Seconds(), p.failed, p.delayed, recovered.Seconds(), p.waited[len(p.waited)/2].Milliseconds(),
		p.waited[len(p.waited)*99/100].Milliseconds(), p.waited[len(p.waited)-1].Milliseconds())
	return p
}

// lastRelease builds the program of the release that packaging/released names, from the repository's history.
func lastRelease(t *testing.T) string {
	t.Helper()
	root := filepath.Join("..", "..")
	line, err := os.ReadFile(filepath.Join(root, "packaging", "released"))
	if err != nil {
		t.Fatal(err)
	}
	version, commit, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
	if !ok {
		t.Fatalf("packaging/released does not name a version and its commit: %s", line)
	}
	source := t.TempDir()
	program := filepath.Join(source, "stead-"+version)
	for _, command := range [][]string{
		{"git", "-C", root, "archive", "--output", filepath.Join(source, "source.tar"), commit},
		{"tar", "-C", source, "-xf", filepath.Join(source, "source.tar")},
		{"go", "build", "-C", source, "-ldflags", "-X stead.dev/stead/internal/platform/release.version=" + version, "-o", program, "./cmd/stead"},
	} {
		c := exec.CommandContext(t.Context(), command[0], command[1:]...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\nThe source of %s comes from the history of the repository, which a shallow clone lacks", command, err, output, version)
		}
	}
	if said, _, _ := (&installation{program: program}).run(t, "version"); !strings.Contains(said, version) {
		t.Fatalf("the program of %s says of itself: %s", version, said)
	}
	return program
}

// TestReplicasAndNodesAreLostAndReplacedUnderLoad: customers buy while all replicas and hosting machines of the last release are replaced
// by those of this one, while the power of a replica fails, and while that of a hosting machine fails. Nothing is lost or charged twice,
// an upgrade fails no call at all, and a replica at most those that it was answering, which wait for no timeout of the balancer.
func TestReplicasAndNodesAreLostAndReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	c := newCluster(t, lastRelease(t))
	c.replicas[0].must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "50000", "--reason", "a test")
	buyer := c.entrance.signIn(t)
	earlier, before, _ := buyer.charges()
	l := &load{customer: buyer, plan: buyer.plan()}

	replaced := l.during("each replica and each hosting machine is upgraded", func() {
		for i, in := range c.replicas {
			c.running[i].terminate(t)
			c.running[i].ends(t)
			in.program = c.machines.replicas[i].program(binary)
			c.start(i)
		}
		for i, n := range c.nodes {
			n.kill(t)
			n.program = c.machines.nodes[i].program(binary)
			n.start(t)
		}
	})
	if replaced.failed > 0 {
		t.Errorf("%d calls failed while replicas were replaced", replaced.failed)
	}
	for i := range c.nodes {
		testkit.Eventually(t, time.Minute, func() bool { return c.replicas[0].state(t, c.node(i)) == "active" }, "the upgraded node reports")
	}
	l.during("nothing happens", func() {})
	killed := l.during("the power of a replica fails", func() {
		c.machines.replicas[0].cut()
		c.running[0].kill(t)
		<-time.After(3 * time.Second) // sleeps: its work is taken over meanwhile
	})
	if killed.failed > 8 { // 4 customers, each with one call at a time and one look at its order
		t.Errorf("%d calls failed by the death of a replica", killed.failed)
	}
	if longest := killed.waited[len(killed.waited)-1]; longest > time.Minute {
		t.Errorf("an order took %s to complete after the death of a replica", longest)
	}
	c.machines.replicas[0].plug()
	c.start(0)
	lost := l.during("the power of a hosting machine fails", func() {
		c.machines.nodes[0].cut()
		c.nodes[0].kill(t)
		<-time.After(3 * time.Second) // sleeps: orders are placed elsewhere meanwhile
	})
	if lost.failed > 0 {
		t.Errorf("%d calls failed by the death of a hosting machine", lost.failed)
	}

	charged, after, held := buyer.charges()
	for _, order := range l.paid {
		if charged[order] != 1 {
			t.Errorf("order %d was charged %d times", order, charged[order])
		}
	}
	if len(charged) != len(earlier)+len(l.paid) || held != 0 || after >= before {
		t.Errorf("%d orders were charged and %d paid; %d cents are held, the balance went from %d to %d", len(charged)-len(earlier), len(l.paid), held, before, after)
	}
	c.replicas[0].booksAreWhole(t)
	if lost := c.givenUp(); len(lost) > 0 {
		t.Errorf("jobs were given up: %v", lost)
	}
}

// givenUp lists the jobs that are not tried again although they failed, each with its kind and its last error.
func (c *cluster) givenUp() (lost []string) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.database)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close(c.t.Context()) }()
	rows, err := conn.Query(c.t.Context(), `SELECT kind || ': ' || COALESCE(errors[array_length(errors, 1)] ->> 'error', '') FROM river_job WHERE state IN ('discarded', 'cancelled')`)
	if err == nil {
		lost, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return lost
}
