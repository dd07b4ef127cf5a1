package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// TestMoveALivingService: a service moves to another node while its owner writes and visitors read, and while the control plane and
// both nodes are killed. No write that was acknowledged is lost, and the former node has visitors answered by the new one.
func TestMoveALivingService(t *testing.T) {
	t.Parallel()
	in, p, c, node := newShopOfNodes(t)
	one := node("node1")
	const domain = "living.example.com"
	order, _ := c.order(c.plan(), domain)
	c.must(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", &struct{}{})
	testkit.Eventually(t, time.Minute, func() bool { return c.isActive(domain) }, domain+" is active")
	service := in.on(t, "node1")[domain].ID
	two := node("node2")

	// The owner writes a number that grows, and knows what was acknowledged.
	var client atomic.Pointer[customer]
	client.Store(c)
	var written atomic.Int64
	write := func() bool {
		n := written.Load() + 1
		body := fmt.Sprintf(`{"path": "/public_html/index.html", "content": "%d"}`, n)
		status, _, err := client.Load().call(http.MethodPut, fmt.Sprintf("/api/v1/services/%d/files/content", service), body, "")
		if err != nil || status >= 300 {
			return false
		}
		written.Store(n)
		return true
	}
	if !write() {
		t.Fatal("the first write was refused")
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				write()
			}
		}
	}()
	// Visitors whose DNS leads to the former node are answered all the time, except while a machine is dead.
	answered := func(a *agent) (int, string) { return a.get(t, domain) }

	var move struct {
		ID         int64
		State      string
		Step       string
		WaitsUntil *time.Time `json:"waits_until"`
	}
	in.must(t, &move, "admin", "services", "move", strconv.FormatInt(service, 10), "--to", "node2", "--reason", "a test")
	if stdout, stderr, code := in.run(t, "admin", "services", "move", strconv.FormatInt(service, 10)); code == 0 {
		t.Errorf("a second move began: %s%s", stdout, stderr)
	}
	for i := range 5 {
		if status, _ := answered(one); status != http.StatusOK {
			t.Errorf("while it moves, visitors are answered %d", status)
		}
		<-time.After(time.Duration(50+150*i) * time.Millisecond) // sleeps: a process is killed at any moment
		switch i {
		case 1:
			one.kill(t)
			one.restart(t)
		case 3:
			two.kill(t)
			two.restart(t)
		default:
			p.kill(t)
			p = in.serve(t, "--demo")
			client.Store(c.at(p))
		}
	}
	id := strconv.FormatInt(move.ID, 10)
	testkit.Eventually(t, 3*time.Minute, func() bool {
		in.must(t, &move, "admin", "moves", "show", id)
		return move.State == "moved" && move.Step == "keep"
	}, "the service has moved")
	if move.WaitsUntil == nil {
		t.Error("it did not wait for the DNS")
	}
	close(stop)
	<-stopped
	testkit.Eventually(t, time.Minute, write, "the owner can write again")
	last := strconv.FormatInt(written.Load(), 10)
	for name, a := range map[string]*agent{"the new node": two, "the former node": one} {
		if status, page := answered(a); status != http.StatusOK || page != last {
			t.Errorf("%s answers %d %q, want %s", name, status, page, last)
		}
	}
	if on := in.on(t, "node2"); on[domain].ID != service || on[domain].Status != "active" {
		t.Errorf("on node2: %+v", on)
	}

	// A whole node: back where it came from there is no room while its former files lie there, and the move waits and says so.
	var begun struct{ Moves []struct{ ID int64 } }
	in.must(t, &begun, "admin", "nodes", "evacuate", "node2", "--now")
	if len(begun.Moves) != 1 || in.state(t, "node2") != "draining" {
		t.Fatalf("begun: %+v, and node2 is %s", begun, in.state(t, "node2"))
	}
	var shown struct {
		ErrorKey *string `json:"error_key"`
	}
	testkit.Eventually(t, time.Minute, func() bool {
		in.must(t, &shown, "admin", "moves", "show", strconv.FormatInt(begun.Moves[0].ID, 10))
		return shown.ErrorKey != nil && *shown.ErrorKey == "out_of_stock"
	}, "it says what it waits for")
	in.must(t, &struct{}{}, "admin", "moves", "cancel", strconv.FormatInt(begun.Moves[0].ID, 10))
	if written.Load() < 2 {
		t.Error("nothing was written meanwhile")
	}
	t.Logf("%d writes were acknowledged", written.Load())
}
