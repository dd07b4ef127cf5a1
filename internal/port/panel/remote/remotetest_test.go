package remote_test

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

var now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

// installation is an authority with a control plane and node 7.
type installation struct {
	authority     *nodelink.Authority
	control, node *nodelink.Identity
}

func newInstallation(t *testing.T) installation {
	t.Helper()
	cert, key, err := nodelink.NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	in := installation{}
	if in.authority, err = nodelink.OpenAuthority(cert, key); err != nil {
		t.Fatal(err)
	}
	in.control, in.node = in.identity(t, nodelink.Control), in.identity(t, nodelink.NodeName(7))
	return in
}

func (in installation) identity(t *testing.T, name string) *nodelink.Identity {
	t.Helper()
	key, err := nodelink.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	issued, err := in.authority.Issue(key.Public(), name, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := nodelink.EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	i, err := nodelink.NewIdentity(issued.Certificate, encoded, in.authority.Certificate(), clock)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// serve answers for h as node 7 and tells where.
func (in installation) serve(t *testing.T, h http.Handler) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		TLSConfig: in.node.Server(func(name string) bool { return name == nodelink.Control }, false),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeTLS(ln, "", "") }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	return ln.Addr().String()
}

// connect serves p over mutual TLS and answers it as it is seen from afar.
func connect(t *testing.T, p panel.Panel) *remote.Panel {
	t.Helper()
	in := newInstallation(t)
	far := remote.New(remote.Config{
		Name: "node:7", Address: in.serve(t, remote.Handler(p, "v1.2.3")), TLS: in.control.Client(nodelink.NodeName(7)),
	})
	t.Cleanup(func() { _ = far.Close() })
	return far
}
