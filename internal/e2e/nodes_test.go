package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/testkit"
)

// agent is a separate hosting machine: its data and, while it runs, its process.
type agent struct {
	dir, address, sites string
	env                 []string
	program             string // that runs it
	cmd                 *exec.Cmd

	mu  sync.Mutex
	log bytes.Buffer
}

// logged is what the agent has written so far.
func (a *agent) logged() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.String()
}

// diskOfItsOwn is a folder on a disk that nothing else fills: a node with a nearly full disk gets no services.
func diskOfItsOwn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("stead-test", dir, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "size=64g,mode=0755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// newAgent joins a machine to the control plane.
func newAgent(t *testing.T, in *installation, control, name string, flags ...string) *agent {
	t.Helper()
	return newAgentAt(t, in, in.binary(), testkit.Address(t), control, name, flags...)
}

// newAgentAt joins a machine that runs a program and serves at an address.
func newAgentAt(t *testing.T, in *installation, program, address, control, name string, flags ...string) *agent {
	t.Helper()
	a := &agent{program: program, dir: filepath.Join(diskOfItsOwn(t), "data"), address: address, sites: testkit.Address(t)}
	a.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "STEAD_DATA_DIR=" + a.dir, "STEAD_AGENT_LISTEN=" + a.address,
		"STEAD_NODE_LISTEN=" + a.sites,
	}
	a.join(t, in, control, name, flags...)
	return a
}

// join invites the machine, and has it join.
func (a *agent) join(t *testing.T, in *installation, control, name string, flags ...string) {
	t.Helper()
	var invitation struct {
		Token   string `json:"token"`
		Command string `json:"command"`
	}
	in.must(t, &invitation, append([]string{"admin", "nodes", "add", name}, flags...)...)
	if !strings.Contains(invitation.Command, "https://"+control) {
		t.Errorf("the command to run there is %q", invitation.Command)
	}
	machine := &installation{env: a.env, program: a.program}
	stdout, stderr, code := machine.runWith(t, invitation.Token+"\n", "node", "join", "--url", "https://"+control, "--token-stdin", "--address", a.address)
	if code != 0 {
		t.Fatalf("join: exit code %d\n%s%s", code, stdout, stderr)
	}
	if stdout, _, code := machine.runWith(t, invitation.Token+"\n", "node", "join", "--again", "--url", "https://"+control, "--token-stdin",
		"--address", a.address); code != 1 {
		t.Errorf("a token was used twice: exit code %d\n%s", code, stdout)
	}
}

func (a *agent) start(t *testing.T) {
	t.Helper()
	a.cmd = exec.Command(a.program, "node")
	a.cmd.Env, a.cmd.Stderr = a.env, &lockedWriter{mu: &a.mu, w: &a.log}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := a.cmd
	t.Cleanup(func() { _ = cmd.Process.Kill() })
}

// kill ends the agent like a power failure.
func (a *agent) kill(t *testing.T) {
	t.Helper()
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = a.cmd.Wait() // it was killed
}

// state is a node's state at the control plane.
func (in *installation) state(t *testing.T, name string) string {
	t.Helper()
	var list struct {
		Data []struct {
			Name, State string
		} `json:"data"`
	}
	in.must(t, &list, "admin", "nodes", "list")
	for _, n := range list.Data {
		if n.Name == name {
			return n.State
		}
	}
	return ""
}

// TestKilledWhileProvisioningOnARemoteNode kills the control plane and the agent in the middle of their
// work, again and again. SQLite: a job of a killed process is taken up at the next start there, and only
// after minutes where other replicas might still be at it.
func TestKilledWhileProvisioningOnARemoteNode(t *testing.T) {
	t.Parallel()
	control := testkit.Address(t)
	in := newInstallation(t, "STEAD_PANEL=nodes", "STEAD_NODES_LISTEN="+control, "STEAD_NODES_URL=https://"+control)
	in.env = append(in.env, "STEAD_NODE_LISTEN=off")
	p := in.serve(t, "--demo")
	c := p.signIn(t)
	in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "5000", "--reason", "a test")
	_, before, _ := c.charges()
	plan := c.plan()

	// Without a node nothing is sold, and nothing is paid.
	early, price := c.order(plan, "early.example.com")
	if status, answer, err := c.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", early), "{}", "early"); err != nil ||
		status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), "out_of_stock") {
		t.Fatalf("pay without a node: %d %v %s", status, err, answer)
	}
	if _, balance, _ := c.charges(); balance != before {
		t.Errorf("the balance is %d, want %d", balance, before)
	}

	a := newAgent(t, in, control, "node1", "--location", "tashkent", "--disk-percent", "10000")
	a.start(t)
	defer func() {
		if t.Failed() {
			_, _ = a.cmd.Process.Kill(), a.cmd.Wait() // it writes its log no more
			t.Logf("log of the agent:\n%s", tail(a.logged(), 4000))
		}
	}()
	testkit.Eventually(t, time.Minute, func() bool { return in.state(t, "node1") == "active" }, "the node reports")

	const kills, each = 50, 2
	var orders []int64
	var paying sync.WaitGroup
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for done := 0; done < kills; {
		for range each {
			domain := fmt.Sprintf("s%d.example.com", len(orders))
			order, _ := c.order(plan, domain)
			orders = append(orders, order)
			at := *c
			paying.Go(func() {
				_, _, _ = at.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", fmt.Sprint(order))
			})
		}
		<-time.After(time.Duration(random.IntN(120)) * time.Millisecond) // sleeps: it is killed at any moment
		if random.IntN(2) == 0 {
			a.kill(t)
			done++
			a.start(t)
			<-time.After(time.Duration(random.IntN(60)) * time.Millisecond) // sleeps: it is killed at any moment
		}
		p.kill(t)
		done++
		paying.Wait()
		p = in.serve(t, "--demo")
		c = c.at(p)
	}

	// Repeat unanswered requests with their keys.
	for _, order := range orders {
		paying.Go(func() {
			for range 100 {
				status, answer, err := c.call(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", fmt.Sprint(order))
				if err != nil || (status != http.StatusConflict && status != http.StatusOK) {
					t.Errorf("pay order %d: %d %v %s", order, status, err, answer)
				}
				if status == http.StatusOK {
					return
				}
			}
		})
	}
	paying.Wait()
	var services struct {
		Data []struct {
			ID                    int64
			Status, Domain, Panel string
		} `json:"data"`
		Meta struct {
			Total int `json:"total"`
		} `json:"meta"`
	}
	testkit.Eventually(t, 60*time.Second, func() bool {
		services.Data = nil
		in.must(t, &services, "admin", "services", "list", "--status", "active", "--per-page", "50")
		return services.Meta.Total == len(orders)
	}, "all services are active")

	// Every account exists once, complete, and there is nothing else.
	entries, err := os.ReadDir(filepath.Join(a.dir, "node", "accounts"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(orders) {
		t.Errorf("%d accounts are on the node, want %d", len(entries), len(orders))
	}
	for page := 1; len(services.Data) > 0; page++ {
		for _, service := range services.Data {
			home := filepath.Join(a.dir, "node", "accounts", fmt.Sprintf("s%d", service.ID))
			if err := os.WriteFile(filepath.Join(home, "public_html", "index.html"), []byte(service.Domain), 0o644); err != nil {
				t.Error(err)
			}
			if status, page := a.get(t, service.Domain); status != http.StatusOK || page != service.Domain {
				t.Errorf("%s is answered %d %q", service.Domain, status, page)
			}
		}
		services.Data = nil
		in.must(t, &services, "admin", "services", "list", "--status", "active", "--per-page", "50", "--page", fmt.Sprint(page+1))
	}
	charged, balance, _ := c.charges()
	for _, order := range orders {
		if charged[order] != 1 {
			t.Errorf("order %d was charged %d times", order, charged[order])
		}
	}
	if want := before - int64(len(orders))*price; balance != want {
		t.Errorf("the balance is %d, want %d", balance, want)
	}
	in.booksAreWhole(t)
	t.Logf("%d accounts after %d kills", len(orders), kills)

	// A node with services is not removed by mistake.
	if _, _, code := in.run(t, "admin", "nodes", "remove", "node1"); code != 3 {
		t.Errorf("remove: exit code %d", code)
	}
}

// get requests a site from the node.
func (a *agent) get(t *testing.T, domain string) (status int, page string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.sites, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = domain
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
