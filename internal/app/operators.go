package app

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/platform/config"
)

// withoutCustomers refuses requests of customers' programs. Where these run on this machine, they reach every address that
// is listened on, and profiles and metrics are for operators only. The kernel tells which user a connection belongs to.
func withoutCustomers(cfg config.Config, next http.Handler) http.Handler {
	if !hosts(cfg) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mayOperate(r) {
			next.ServeHTTP(w, r)
			return
		}
		http.Error(w, http.StatusText(http.StatusForbidden), http.StatusForbidden)
	})
}

// hosts reports whether programs of customers run on this machine.
func hosts(cfg config.Config) bool {
	return cfg.NodeMachine == config.MachineLinux && cfg.NodeListen != config.Off
}

// clientAddr returns the address of a request's client.
func (a *App) clientAddr() func(*http.Request) netip.Addr {
	return withoutClaims(a.cfg, clientAddr(a.cfg.TrustedProxies), clientAddr(nil))
}

// withoutClaims finds the address of a client by behind, which believes the headers of trusted proxies, and by direct,
// which does not, when a customer's program on this machine made the connection: it has the address of a trusted proxy.
func withoutClaims(cfg config.Config, behind, direct func(*http.Request) netip.Addr) func(*http.Request) netip.Addr {
	if !hosts(cfg) {
		return behind
	}
	return func(r *http.Request) netip.Addr {
		said, is := behind(r), direct(r)
		if said != is && !mayOperate(r) {
			return is
		}
		return said
	}
}

// mayOperate reports whether a request does not come from a customer's program on this machine.
func mayOperate(r *http.Request) bool {
	if known, ok := r.Context().Value(peerKey{}).(func() bool); ok {
		return known()
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && noCustomer(local.String(), r.RemoteAddr)
}

type peerKey struct{}

// rememberPeer stores in the context of a connection which user is at its other end; the kernel is asked once for each.
func rememberPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(func() bool { return noCustomer(c.LocalAddr().String(), c.RemoteAddr().String()) }))
}

func noCustomer(local, remote string) bool {
	here, hereErr := netip.ParseAddrPort(local)
	peer, peerErr := netip.ParseAddrPort(remote)
	if hereErr != nil || peerErr != nil {
		return false
	}
	uid, err := socketUser(peer, here)
	if errors.Is(err, fs.ErrNotExist) {
		// The socket is not of this machine, or its program has closed it, if only for sending.
		return !ofThisMachine(peer.Addr())
	}
	return err == nil && (uid < machine.FirstUID || uid > machine.LastUID)
}

// ofThisMachine reports whether an address belongs to this machine, by the addresses of its interfaces.
func ofThisMachine(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(own, func(o net.Addr) bool {
		p, err := netip.ParsePrefix(o.String())
		return err == nil && p.Addr().Unmap() == a
	})
}

// socketUser finds the user who opened the socket with these addresses (proc_pid_net(5), tcp). The error is fs.ErrNotExist
// when no such socket of this machine is connected.
func socketUser(own, other netip.AddrPort) (int, error) {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		uid, err := socketIn(table, own, other)
		if !errors.Is(err, fs.ErrNotExist) {
			return uid, err
		}
	}
	return 0, fs.ErrNotExist
}

func socketIn(table string, own, other netip.AddrPort) (int, error) {
	f, err := os.Open(table)
	if err != nil {
		return 0, err // IPv6 may be off
	}
	defer f.Close()
	const established = "01"
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid …
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || fields[3] != established || !isAddress(fields[1], own) || !isAddress(fields[2], other) {
			continue
		}
		return strconv.Atoi(fields[7])
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fs.ErrNotExist
}

// isAddress compares an address with one that the kernel printed: words of four bytes in the byte order of the machine,
// which is little-endian wherever Stead runs, and the port.
func isAddress(text string, want netip.AddrPort) bool {
	host, port, _ := strings.Cut(text, ":")
	if n, err := strconv.ParseUint(port, 16, 16); err != nil || uint16(n) != want.Port() {
		return false
	}
	b, err := hex.DecodeString(host)
	if err != nil || len(b)%4 != 0 {
		return false
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	a, ok := netip.AddrFromSlice(b)
	return ok && a.Unmap() == want.Addr().Unmap().WithZone("")
}
