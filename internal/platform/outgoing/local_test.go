package outgoing_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/outgoing"
)

func TestLocalSitesAreThoseBelowTest(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	local := &outgoing.Local{HTTP: ln.Addr().String()}
	for host, want := range map[string]bool{
		"shop.stead.test": true, "SHOP.Test.": true, "example.com": false, "test.example.com": false, "test": false, "contest": false, "": false,
	} {
		if got := local.Serves(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
	if (*outgoing.Local)(nil).Serves("shop.stead.test") {
		t.Error("an installation without local sites has one")
	}
	conn, err := local.Dial(t.Context(), "tcp", "80", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for _, port := range []string{"443", "22", ""} {
		if _, err := local.Dial(t.Context(), "tcp", port, time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("port %q: %v", port, err)
		}
	}
}
