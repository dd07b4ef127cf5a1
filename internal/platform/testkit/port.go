package testkit

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Port reserves a port of the loopback, until the test ends, for a daemon that the test starts later. The port is below
// those that Linux chooses from: a port that the kernel chose could be given to another connection as soon as it is free.
// Test processes that run at the same time agree by locks in one file, a byte for each port.
func Port(t testing.TB) int {
	t.Helper()
	const first, last = 10000, 32000
	locks, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("stead-test-ports-%d", os.Getuid())), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close() }) // gives the port back
	for range 100 {
		port := first + rand.IntN(last-first) //nolint:gosec // no secret
		lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: int64(port), Len: 1}
		if err := unix.FcntlFlock(locks.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
			continue // another test's
		}
		if free(t, port) {
			return port
		}
		lock.Type = unix.F_UNLCK
		if err := unix.FcntlFlock(locks.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no port is free")
	return 0
}

// Address is like Port and returns the address with the port.
func Address(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", Port(t))
}

// free reports whether nothing listens on a port, neither by TCP nor by UDP.
func free(t testing.TB, port int) bool {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	var listen net.ListenConfig
	stream, err := listen.Listen(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = stream.Close() }()
	packets, err := listen.ListenPacket(t.Context(), "udp", address)
	if err != nil {
		return false
	}
	return packets.Close() == nil
}
