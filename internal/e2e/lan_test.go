package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lan is machines of a test's own: network namespaces, and one more in which the bridge is that connects them. What ends on a machine
// that was cut off says no word to the others, as when its power fails; what ends on the loopback has its connections closed by
// the kernel. No interface comes or goes where other tests are: browsers would break off what they load.
type lan struct {
	*namespace        // with the bridge
	name       string // of it, and begins those of the machines
	machines   int
}

// newLAN makes a network, which goes with the test.
func newLAN(t *testing.T) *lan {
	t.Helper()
	n := &lan{namespace: &namespace{t: t}, name: fmt.Sprintf("st%06x", rand.IntN(1<<24))}
	n.ip("netns", "add", n.name)
	t.Cleanup(func() { n.ip("netns", "delete", n.name) })
	fd, err := unix.Open(filepath.Join("/run/netns", n.name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	n.fd = fd
	t.Cleanup(func() { _ = unix.Close(fd) })
	for _, args := range [][]string{
		{"link", "set", "lo", "up"}, {"link", "add", "bridge", "type", "bridge"}, {"address", "add", n.address(1) + "/24", "dev", "bridge"}, {"link", "set", "bridge", "up"},
	} {
		n.ip(append([]string{"-n", n.name}, args...)...)
	}
	return n
}

// ip runs a command of iproute2.
func (n *lan) ip(args ...string) {
	n.t.Helper()
	if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Errorf("ip %s: %v\n%s\nThe test needs root, network namespaces and the Debian package iproute2", strings.Join(args, " "), err, output)
	}
}

// address of a machine by its number (RFC 2544); the first is the namespace with the bridge.
func (n *lan) address(machine int) string { return fmt.Sprintf("198.18.0.%d", machine) }

// machine is a network namespace.
type machine struct {
	lan     *lan
	name    string
	cable   string // the bridge's end
	address string
}

func (n *lan) machine() *machine {
	n.t.Helper()
	n.machines++
	m := &machine{lan: n, name: fmt.Sprintf("%s-%d", n.name, n.machines), cable: fmt.Sprintf("cable%d", n.machines), address: n.address(n.machines + 1)}
	n.ip("netns", "add", m.name)
	n.t.Cleanup(func() { n.ip("netns", "delete", m.name) })
	n.ip("-n", n.name, "link", "add", m.cable, "master", "bridge", "type", "veth", "peer", "name", "eth0", "netns", m.name)
	n.ip("-n", n.name, "link", "set", m.cable, "up")
	for _, args := range [][]string{{"address", "add", m.address + "/24", "dev", "eth0"}, {"link", "set", "eth0", "up"}, {"link", "set", "lo", "up"}} {
		n.ip(append([]string{"-n", m.name}, args...)...)
	}
	return m
}

// cut takes the machine off the network, until it is plugged in again.
func (m *machine) cut()  { m.lan.ip("-n", m.lan.name, "link", "set", m.cable, "down") }
func (m *machine) plug() { m.lan.ip("-n", m.lan.name, "link", "set", m.cable, "up") }

// program is a program that runs on the machine.
func (m *machine) program(path string) string {
	m.lan.t.Helper()
	script := filepath.Join(m.lan.t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec ip netns exec %s %s \"$@\"\n", m.name, path), 0o700); err != nil {
		m.lan.t.Fatal(err)
	}
	return script
}

// dial connects to an address of the network.
func (n *lan) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = n.try(func() error {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// client is an HTTP client that is connected to the network.
func (n *lan) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: n.dial, DisableKeepAlives: true}, Timeout: 10 * time.Second}
}

// lead hands connections to an address of the loopback on to one of the network.
func (n *lan) lead(from, to string) {
	n.t.Helper()
	listener, err := net.Listen("tcp", from)
	if err != nil {
		n.t.Fatal(err)
	}
	forward(n.t, listener, func() (net.Conn, error) { return n.dial(context.WithoutCancel(n.t.Context()), "tcp", to) })
}

// offer hands connections of the machines on to a server of the loopback. A machine that is silent is given up after 15 seconds, as
// Stead asks of a PostgreSQL.
func (n *lan) offer(server string) (address string) {
	n.t.Helper()
	config := net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 2},
		Control: func(_, _ string, c syscall.RawConn) error {
			var failed error
			err := c.Control(func(fd uintptr) {
				failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 15_000)
			})
			return errors.Join(err, failed)
		},
	}
	var listener net.Listener
	n.do(func() (err error) {
		listener, err = config.Listen(n.t.Context(), "tcp", n.address(1)+":0")
		return err
	})
	forward(n.t, listener, func() (net.Conn, error) { return net.Dial("tcp", server) })
	return listener.Addr().String()
}
