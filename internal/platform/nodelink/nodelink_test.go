package nodelink_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/nodelink"
)

var now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

func newAuthority(t *testing.T) *nodelink.Authority {
	t.Helper()
	cert, key, err := nodelink.NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := nodelink.OpenAuthority(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// party is an identity of the authority, valid for lifetime from at.
func party(t *testing.T, a *nodelink.Authority, name string, at time.Time, lifetime time.Duration) *nodelink.Identity {
	t.Helper()
	key, err := nodelink.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	request, err := nodelink.NewRequest(key)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := a.Sign(request, name, at, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := nodelink.EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	i, err := nodelink.NewIdentity(issued.Certificate, pem, a.Certificate(), clock)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// meet connects two sides and tells what each thinks of it.
func meet(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	served := make(chan error, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			served <- err
			return
		}
		defer func() { _ = conn.Close() }()
		s := tls.Server(conn, server)
		if err = s.Handshake(); err == nil {
			_, err = io.WriteString(s, "hello")
		}
		served <- err
	}()
	conn, err := tls.Dial("tcp", ln.Addr().String(), client)
	if err == nil {
		var b [5]byte
		_, err = io.ReadFull(conn, b[:])
		_ = conn.Close()
	}
	return <-served, err
}

func TestOnlyTheRightPartiesMeet(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	const life = time.Hour
	node, control := party(t, a, nodelink.NodeName(7), now, life), party(t, a, nodelink.Control, now, life)
	fromControl := func(name string) bool { return name == nodelink.Control }
	for name, c := range map[string]struct {
		server, client *tls.Config
		meet           bool
	}{
		"control plane and node":          {node.Server(fromControl, false), control.Client(nodelink.NodeName(7)), true},
		"another node at the address":     {node.Server(fromControl, false), control.Client(nodelink.NodeName(8)), false},
		"a node calls a node":             {node.Server(fromControl, false), party(t, a, nodelink.NodeName(8), now, life).Client(nodelink.NodeName(7)), false},
		"a stranger calls":                {node.Server(fromControl, false), party(t, other, nodelink.Control, now, life).Client(nodelink.NodeName(7)), false},
		"without a certificate":           {node.Server(fromControl, false), nodelink.Pinned(a.Pin(), clock), false},
		"a certificate that has ended":    {node.Server(fromControl, false), party(t, a, nodelink.Control, now.Add(-2*life), life).Client(nodelink.NodeName(7)), false},
		"one that begins later":           {node.Server(fromControl, false), party(t, a, nodelink.Control, now.Add(life), life).Client(nodelink.NodeName(7)), false},
		"the server's has ended":          {party(t, a, nodelink.NodeName(7), now.Add(-2*life), life).Server(fromControl, false), control.Client(nodelink.NodeName(7)), false},
		"a stranger answers":              {party(t, other, nodelink.NodeName(7), now, life).Server(fromControl, false), control.Client(nodelink.NodeName(7)), false},
		"a guest where guests come":       {control.Server(func(string) bool { return true }, true), nodelink.Pinned(a.Pin(), clock), true},
		"a guest with the pin of another": {control.Server(func(string) bool { return true }, true), nodelink.Pinned(other.Pin(), clock), false},
		"a guest whose host is a node":    {node.Server(fromControl, true), nodelink.Pinned(a.Pin(), clock), false},
		"a stranger where guests come":    {control.Server(func(string) bool { return true }, true), party(t, other, nodelink.NodeName(1), now, life).Client(nodelink.Control), false},
		"a node where guests come":        {control.Server(func(string) bool { return true }, true), node.Client(nodelink.Control), true},
		"an old TLS version":              {node.Server(fromControl, false), old(control.Client(nodelink.NodeName(7))), false},
	} {
		t.Run(name, func(t *testing.T) {
			serverErr, clientErr := meet(t, c.server, c.client)
			if met := serverErr == nil && clientErr == nil; met != c.meet {
				t.Errorf("met: %v (server: %v, client: %v)", met, serverErr, clientErr)
			}
		})
	}
}

func old(c *tls.Config) *tls.Config {
	c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	return c
}

func TestARequestIsSignedForItsKeyOnly(t *testing.T) {
	a := newAuthority(t)
	key, err := nodelink.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	request, err := nodelink.NewRequest(key)
	if err != nil {
		t.Fatal(err)
	}
	broken := []byte(strings.Replace(string(request), "M", "N", 1))
	for name, r := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "a certificate": a.Certificate(), "broken": broken} {
		if _, err := a.Sign(r, nodelink.NodeName(1), now, time.Hour); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
	issued, err := a.Sign(request, nodelink.NodeName(1), now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := nodelink.ParseCertificate(issued.Certificate)
	if err != nil || cert.IsCA || !cert.NotAfter.Equal(now.Add(time.Hour)) {
		t.Errorf("certificate: %v %+v", err, cert)
	}
}

func TestNamesAndTokens(t *testing.T) {
	if id, ok := nodelink.NodeID(nodelink.NodeName(42)); id != 42 || !ok {
		t.Errorf("NodeID = %d, %v", id, ok)
	}
	for _, name := range []string{"", nodelink.Control, "stead://node/", "stead://node/0", "stead://node/-1", "stead://node/07", "stead://node/7/x"} {
		if id, ok := nodelink.NodeID(name); ok {
			t.Errorf("%q is node %d", name, id)
		}
	}
	a := newAuthority(t)
	secret, pin, err := nodelink.SplitToken(" " + nodelink.JoinToken("st_node_x", a.Pin()) + "\n")
	if secret != "st_node_x" || pin != a.Pin() || err != nil {
		t.Errorf("token = %q %q %v", secret, pin, err)
	}
	for _, token := range []string{"", "x", "x.", ".y", "x.y", "." + a.Pin(), nodelink.JoinToken("x", a.Pin()[1:])} {
		if _, _, err := nodelink.SplitToken(token); err == nil {
			t.Errorf("%q is a token", token)
		}
	}
}

func TestAuthorityNeedsItsOwnKey(t *testing.T) {
	cert, _, err := nodelink.NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := nodelink.NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string][]byte{"another's": key, "none": nil} {
		if _, err := nodelink.OpenAuthority(cert, k); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s key: %v", name, err)
		}
	}
}
