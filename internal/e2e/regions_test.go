package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/testkit"
)

// namespace is a network of its own that has a loopback and nothing else.
type namespace struct {
	t  *testing.T
	fd int
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	n := &namespace{t: t}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = loopbackUp()
		}
		if err == nil {
			n.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(n.fd) })
	return n
}

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// do runs f in the namespace, as try does, and the test ends when that fails.
func (n *namespace) do(f func() error) {
	n.t.Helper()
	if err := n.try(f); err != nil {
		n.t.Fatal(err)
	}
}

// try runs f in the namespace: sockets that it opens and processes that it starts are there.
func (n *namespace) try(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := unix.Setns(n.fd, unix.CLONE_NEWNET)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// reach lets the namespace reach an address of this machine under the same one, until cut is called.
func (n *namespace) reach(address string) (cut func()) {
	n.t.Helper()
	var ln net.Listener
	n.do(func() (err error) {
		ln, err = net.Listen("tcp", address)
		return err
	})
	return forward(n.t, ln, func() (net.Conn, error) { return net.Dial("tcp", address) })
}

// forward hands connections on, until cut is called or the test ends.
func forward(t *testing.T, ln net.Listener, dial func() (net.Conn, error)) (cut func()) {
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := dial()
			if err != nil {
				_ = near.Close()
				continue
			}
			mu.Lock()
			open = append(open, near, far)
			mu.Unlock()
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
		}
	}()
	cut = sync.OnceFunc(func() {
		_ = ln.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
	})
	t.Cleanup(cut)
	return cut
}

// TestNodesAsRegions: two nodes, each in a network of its own, check beside the control plane. One loses its network: nobody
// is alarmed. Then the targets die: they are down.
func TestNodesAsRegions(t *testing.T) {
	t.Parallel()
	control := testkit.Address(t)
	in := newInstallation(t, "STEAD_NODES_LISTEN="+control, "STEAD_NODES_URL=https://"+control, "STEAD_ALLOW_LOOPBACK_TARGETS=true")
	p := in.serve(t, "--demo")
	c := in.watchingCustomer(t, p)
	var dead atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if dead.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(target.Close)
	places := []string{"tashkent", "samarkand"}
	cuts := map[string]func(){}
	for _, name := range places {
		n := newNamespace(t)
		n.reach(control)
		cuts[name] = n.reach(strings.TrimPrefix(target.URL, "http://"))
		a := newAgent(t, in, control, "node-"+name, "--region", name)
		a.env = append(a.env, "STEAD_ALLOW_LOOPBACK_TARGETS=true")
		n.do(func() error { a.start(t); return nil })
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("log of %s:\n%s", name, tail(a.logged(), 2000))
			}
		})
	}
	type result struct {
		Region, Status string
		Counts         bool
	}
	type monitor struct {
		ID            int64
		Status        string
		RegionResults []result `json:"region_results"`
		Outages       []struct {
			Regions     []string
			ConfirmedBy int `json:"confirmed_by"`
		}
	}
	const count = 4
	var ids []int64
	for i := range count {
		var m monitor
		c.must(http.MethodPost, "/api/v1/monitors", fmt.Sprintf(
			`{"type": "http", "url": "%s/%d", "interval_s": 60, "retries": 0, "retry_interval_s": 10}`, target.URL, i), &m)
		ids = append(ids, m.ID)
	}
	look := func(id int64) (m monitor) {
		c.must(http.MethodGet, fmt.Sprintf("/api/v1/monitors/%d", id), "", &m)
		return m
	}
	// found are the regions that find all monitors so.
	found := func(status string) (names []string) {
		seen := map[string]int{}
		for _, id := range ids {
			for _, r := range look(id).RegionResults {
				if r.Status == status {
					seen[r.Region]++
				}
			}
		}
		for name, n := range seen {
			if n == count {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	began := time.Now()
	until := func(status string, want ...string) {
		t.Helper()
		testkit.Eventually(t, 90*time.Second, func() bool { return slices.Equal(found(status), want) }, fmt.Sprintf("all is %s in %v", status, want))
		t.Logf("after %v all is %s in %v", time.Since(began), status, want)
	}
	checkAnew := func(retryInterval int) {
		for _, id := range ids {
			c.must(http.MethodPatch, fmt.Sprintf("/api/v1/monitors/%d", id), fmt.Sprintf(`{"retry_interval_s": %d}`, retryInterval), &monitor{})
		}
	}
	until("up", "control", "samarkand", "tashkent")

	cuts["tashkent"]()
	checkAnew(11)
	until("down", "tashkent")
	testkit.Eventually(t, 30*time.Second, func() bool {
		return !slices.ContainsFunc(look(ids[0]).RegionResults, func(r result) bool { return r.Region == "tashkent" && r.Counts })
	}, "the region that fails alone is suspended")
	for _, id := range ids {
		if m := look(id); m.Status == "down" || len(m.Outages) != 0 {
			t.Errorf("one region has no network: %+v", m)
		}
	}
	if _, told, err := c.call(http.MethodGet, "/api/v1/notifications", "", ""); err != nil || strings.Contains(string(told), "monitor_down") {
		t.Errorf("somebody was alarmed: %s, %v", told, err)
	}

	dead.Store(true)
	checkAnew(12)
	testkit.Eventually(t, 90*time.Second, func() bool {
		return !slices.ContainsFunc(ids, func(id int64) bool { return look(id).Status != "down" })
	}, "all are down")
	until("down", "control", "samarkand", "tashkent")
	for _, id := range ids {
		// Whose word came last is not told: the nodes may have confirmed each other before the control plane looked.
		if m := look(id); len(m.Outages) != 1 || m.Outages[0].ConfirmedBy < 2 || len(m.Outages[0].Regions) < 2 {
			t.Errorf("%+v", m.Outages)
		}
	}
	p.terminate(t)
	p.ends(t)
}
