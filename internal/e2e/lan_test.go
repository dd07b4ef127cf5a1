package e2e

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lan is machines of a test's own: network namespaces on one bridge. What ends on a machine that was cut off says no word to
// the others, as when its power fails; what ends on a machine of the loopback has its connections closed by the kernel.
type lan struct {
	t        *testing.T
	name     string // begins the names of what it consists of
	subnet   string // its first three numbers
	machines int
}

// newLAN makes a network, which goes with the test.
func newLAN(t *testing.T) *lan {
	t.Helper()
	n := &lan{t: t, name: fmt.Sprintf("st%06x", rand.IntN(1<<24)), subnet: fmt.Sprintf("198.18.%d", rand.IntN(256))} // RFC 2544
	n.ip("link", "add", n.name, "type", "bridge")
	t.Cleanup(func() { n.ip("link", "delete", n.name) })
	n.ip("address", "add", n.address(1)+"/24", "dev", n.name)
	n.ip("link", "set", n.name, "up")
	return n
}

// ip runs a command of iproute2.
func (n *lan) ip(args ...string) {
	n.t.Helper()
	if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Errorf("ip %s: %v\n%s\nThe test needs root, network namespaces and the Debian package iproute2", strings.Join(args, " "), err, output)
	}
}

// address of a machine by its number; the test's own is the first.
func (n *lan) address(machine int) string { return fmt.Sprintf("%s.%d", n.subnet, machine) }

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
	name := fmt.Sprintf("%s-%d", n.name, n.machines)
	m := &machine{lan: n, name: name, cable: name, address: n.address(n.machines + 1)}
	n.ip("netns", "add", m.name)
	n.t.Cleanup(func() { n.ip("netns", "delete", m.name) })
	n.ip("link", "add", m.cable, "master", n.name, "type", "veth", "peer", "name", "eth0", "netns", m.name)
	n.ip("link", "set", m.cable, "up")
	for _, args := range [][]string{{"address", "add", m.address + "/24", "dev", "eth0"}, {"link", "set", "eth0", "up"}, {"link", "set", "lo", "up"}} {
		n.ip(append([]string{"-n", m.name}, args...)...)
	}
	return m
}

// cut takes the machine off the network, until it is plugged in again.
func (m *machine) cut()  { m.lan.ip("link", "set", m.cable, "down") }
func (m *machine) plug() { m.lan.ip("link", "set", m.cable, "up") }

// program is a program that runs on the machine.
func (m *machine) program(path string) string {
	m.lan.t.Helper()
	script := filepath.Join(m.lan.t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec ip netns exec %s %s \"$@\"\n", m.name, path), 0o700); err != nil {
		m.lan.t.Fatal(err)
	}
	return script
}

// offer hands connections of the machines to a server on the loopback. A machine that is silent is given up after 15 seconds, as
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
	listener, err := config.Listen(n.t.Context(), "tcp", n.address(1)+":0")
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = client.Close() }()
				backend, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer func() { _ = backend.Close() }()
				go func() {
					_, _ = io.Copy(client, backend)
					_ = client.Close()
				}()
				_, _ = io.Copy(backend, client)
			}()
		}
	}()
	return listener.Addr().String()
}
