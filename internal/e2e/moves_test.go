package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// hosted is a service on a node, as operators see it.
type hosted struct {
	ID             int64
	Domain, Status string
}

// on lists the services of a node by their domains.
func (in *installation) on(t *testing.T, node string) map[string]hosted {
	t.Helper()
	var list struct{ Data []hosted }
	in.must(t, &list, "admin", "services", "list", "--node", node)
	byDomain := map[string]hosted{}
	for _, s := range list.Data {
		byDomain[s.Domain] = s
	}
	return byDomain
}

// page is where the front page of a service lies on a machine.
func (a *agent) page(service int64) string {
	return filepath.Join(a.dir, "node", "accounts", fmt.Sprintf("s%d", service), "public_html", "index.html")
}

// backUp makes a backup of a service and waits until it is complete.
func (c *customer) backUp(service int64) {
	c.t.Helper()
	path := fmt.Sprintf("/api/v1/services/%d/backups", service)
	var made struct{ ID int64 }
	c.must(http.MethodPost, path, `{}`, &made)
	testkit.Eventually(c.t, time.Minute, func() bool {
		var list struct {
			Data []struct {
				ID     int64
				Status string
			}
		}
		c.must(http.MethodGet, path, "", &list)
		for _, b := range list.Data {
			if b.ID == made.ID {
				return b.Status == "completed"
			}
		}
		return false
	}, "the backup is complete")
}

// restart starts a machine that was dead, and waits until it answers.
func (a *agent) restart(t *testing.T) {
	t.Helper()
	a.start(t)
	testkit.Eventually(t, time.Minute, func() bool {
		conn, err := net.DialTimeout("tcp", a.sites, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, "the machine answers")
}

// newShopOfNodes starts an installation without a node of its own, with a customer who has money. node joins another one; all keep
// their backups in one store.
func newShopOfNodes(t *testing.T) (in *installation, p *process, c *customer, node func(name string) *agent) {
	t.Helper()
	control, store := testkit.Address(t), filepath.Join(t.TempDir(), "backups")
	in = newInstallation(t, "STEAD_PANEL=nodes", "STEAD_NODES_LISTEN="+control, "STEAD_NODES_URL=https://"+control, "STEAD_ALLOW_LOOPBACK_TARGETS=true")
	in.env = append(in.env, "STEAD_NODE_LISTEN=off", "STEAD_MOVE_WAIT=1s")
	p = in.serve(t, "--demo")
	c = p.signIn(t)
	in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "500", "--reason", "a test")
	return in, p, c, func(name string) *agent {
		t.Helper()
		a := newAgent(t, in, control, name, "--location", "tashkent", "--disk-percent", "10000")
		a.env = append(a.env, "STEAD_BACKUP_STORE="+store)
		a.start(t)
		testkit.Eventually(t, time.Minute, func() bool { return in.state(t, name) == "active" }, name+" reports")
		return a
	}
}

// TestRecoverFromADeadNode: a node dies as in a power failure, its services are made on another one out of their backups while
// the control plane is killed again and again, and when the dead machine is back it serves nothing of them.
func TestRecoverFromADeadNode(t *testing.T) {
	t.Parallel()
	in, p, c, node := newShopOfNodes(t)
	one := node("node1")
	domains := []string{"first.example.com", "second.example.com", "unsaved.example.com"}
	plan := c.plan()
	for _, domain := range domains {
		order, _ := c.order(plan, domain)
		c.must(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", &struct{}{})
		testkit.Eventually(t, time.Minute, func() bool { return c.isActive(domain) }, domain+" is active")
	}
	put := func(a *agent, service int64, text string) {
		t.Helper()
		if err := os.WriteFile(a.page(service), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	services := in.on(t, "node1")
	for _, domain := range domains {
		put(one, services[domain].ID, "backed up: "+domain)
		if domain != "unsaved.example.com" {
			c.backUp(services[domain].ID)
		}
		put(one, services[domain].ID, "newer: "+domain)
	}
	two := node("node2")

	one.kill(t)
	if stdout, stderr, code := in.run(t, "admin", "nodes", "recover", "node1"); code == 0 || !strings.Contains(stdout+stderr, "node_alive") {
		t.Errorf("recover from a node that reported a moment ago: exit code %d\n%s%s", code, stdout, stderr)
	}
	testkit.Eventually(t, 3*time.Minute, func() bool { return in.state(t, "node1") == "offline" }, "the control plane sees that it is dead")

	var begun struct {
		Moves         []struct{}
		WithoutBackup []int64 `json:"without_backup"`
	}
	in.must(t, &begun, "admin", "nodes", "recover", "node1", "--reason", "a test")
	if len(begun.Moves) != 2 || len(begun.WithoutBackup) != 1 || begun.WithoutBackup[0] != services["unsaved.example.com"].ID {
		t.Errorf("begun: %+v", begun)
	}
	for i := range 4 { // the control plane dies in the middle of it
		<-time.After(time.Duration(100+200*i) * time.Millisecond) // sleeps: it is killed at any moment
		p.kill(t)
		p = in.serve(t, "--demo")
	}
	c = c.at(p)
	var moves struct {
		Data []struct {
			ID              int64
			Service         int64 `json:"service_id"`
			From, To, State string
			Step            string
			ErrorKey        *string `json:"error_key"`
		}
	}
	testkit.Eventually(t, 2*time.Minute, func() bool {
		moves.Data = nil
		in.must(t, &moves, "admin", "moves", "list", "--node", "node1")
		for _, m := range moves.Data {
			if m.State != "moved" {
				return false
			}
		}
		return len(moves.Data) == 2
	}, "the services have moved")
	for _, m := range moves.Data {
		if m.From != "node1" || m.To != "node2" || m.ErrorKey != nil {
			t.Errorf("move: %+v", m)
		}
	}
	after, left := in.on(t, "node2"), in.on(t, "node1")
	for _, domain := range domains[:2] {
		if status, page := two.get(t, domain); status != http.StatusOK || page != "backed up: "+domain {
			t.Errorf("%s is answered %d %q", domain, status, page)
		}
		if after[domain].Status != "active" {
			t.Errorf("%s on node2: %+v", domain, after[domain])
		}
		if text, err := os.ReadFile(one.page(services[domain].ID)); err != nil || string(text) != "newer: "+domain {
			t.Errorf("what is left on the dead machine: %q %v", text, err)
		}
	}
	if len(after) != 2 || len(left) != 1 {
		t.Errorf("on node2 %+v, on node1 %+v", after, left)
	}
	c.backUp(services["first.example.com"].ID) // life goes on
	var again struct {
		Moves []struct{} `json:"moves"`
	}
	in.must(t, &again, "admin", "nodes", "recover", "node1")
	if len(again.Moves) != 0 {
		t.Errorf("a second recovery begins %d moves", len(again.Moves))
	}

	// The dead machine is back. It serves the service that was left with it, and nothing of the others.
	one.restart(t)
	if status, page := one.get(t, "unsaved.example.com"); status != http.StatusOK || page != "newer: unsaved.example.com" {
		t.Errorf("the service that was left is answered %d %q", status, page)
	}
	for _, domain := range domains[:2] {
		if _, page := one.get(t, domain); strings.Contains(page, "newer") {
			t.Errorf("%s is served by the machine that was dead: %q", domain, page)
		}
		if text, err := os.ReadFile(one.page(services[domain].ID)); err != nil || string(text) != "newer: "+domain {
			t.Errorf("what is left on it: %q %v", text, err)
		}
		if status, page := two.get(t, domain); status != http.StatusOK || page != "backed up: "+domain {
			t.Errorf("%s is answered %d %q", domain, status, page)
		}
	}
	one.kill(t)
	one.restart(t) // it remembers
	if status, _ := one.get(t, "unsaved.example.com"); status != http.StatusOK {
		t.Errorf("after another start the service that was left is answered %d", status)
	}
	if _, page := one.get(t, domains[0]); strings.Contains(page, "newer") {
		t.Errorf("after another start it serves %q", page)
	}
	testkit.Eventually(t, 3*time.Minute, func() bool {
		var m struct{ Step string }
		in.must(t, &m, "admin", "moves", "show", fmt.Sprint(moves.Data[0].ID))
		return m.Step == "keep"
	}, "the move knows that the machine was told")
}
