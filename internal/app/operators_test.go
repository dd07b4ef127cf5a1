package app

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/platform/config"
)

func TestCustomersOfTheMachineReadNoMetrics(t *testing.T) {
	secret := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "metrics") })
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil && strings.Contains(address, ":") && !strings.HasPrefix(address, "127") {
			t.Logf("no IPv6: %v", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for kind, handler := range map[string]http.Handler{
			config.MachineLinux:       withoutCustomers(config.Config{NodeMachine: config.MachineLinux}, secret),
			config.MachineDirectories: withoutCustomers(config.Config{NodeMachine: config.MachineDirectories}, secret),
		} {
			server := httptest.NewUnstartedServer(handler)
			if kind == config.MachineLinux {
				_ = server.Listener.Close()
				server.Listener = ln
			}
			server.Start()
			t.Cleanup(server.Close)
			url := strings.Replace(server.URL, "[::]", "127.0.0.1", 1)
			for uid, want := range map[uint32]string{0: "200", 33: "200", machine.FirstUID: "403", machine.FirstUID + 7: "403", machine.LastUID: "403", machine.LastUID + 1: "200"} {
				if kind == config.MachineDirectories {
					want = "200"
				}
				cmd := exec.CommandContext(t.Context(), "curl", "-s", "-g", "-o", "/dev/null", "-w", "%{http_code}", url)
				cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin"}
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
				if out, err := cmd.Output(); err != nil || string(out) != want {
					t.Errorf("%s, user %d of %s: %s, %v, want %s", url, uid, kind, out, err, want)
				}
			}
		}
	}
}

// A program that has sent all and waits for the answer has no established connection any more, whichever address of the
// machine it went by.
func TestWhoClosedASocketOfTheMachineMayBeACustomer(t *testing.T) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		address := netip.MustParsePrefix(a.String()).Addr()
		if remote := netip.AddrPortFrom(address, 9).String(); noCustomer("192.0.2.1:8080", remote) {
			t.Errorf("%s is no customer", remote)
		}
	}
	if !noCustomer("192.0.2.1:8080", "192.0.2.99:9") {
		t.Error("a stranger is a customer of the machine")
	}
}

func TestCustomersOfTheMachineAreNoProxy(t *testing.T) {
	cfg := config.Config{NodeMachine: config.MachineLinux, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	client := withoutClaims(cfg, clientAddr(cfg.TrustedProxies), clientAddr(nil))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, client(r)) }))
	server.Config.ConnContext = rememberPeer
	server.Start()
	t.Cleanup(server.Close)
	for uid, want := range map[uint32]string{0: "192.0.2.7", 33: "192.0.2.7", machine.FirstUID: "127.0.0.1"} {
		cmd := exec.CommandContext(t.Context(), "curl", "-s", "-H", "X-Forwarded-For: 192.0.2.7", server.URL)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("user %d: %s, %v, want %s", uid, out, err, want)
		}
	}
}
