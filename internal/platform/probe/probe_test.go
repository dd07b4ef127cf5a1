package probe_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/probe"
)

func prober(c probe.Config) *probe.Prober {
	c.Clock = clock.System(0)
	return probe.New(c)
}

// near checks targets on this machine.
func near() *probe.Prober { return prober(probe.Config{AllowLoopback: true}) }

func hostPort(t *testing.T, address string) (host string, port int) {
	t.Helper()
	host, p, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

func TestWhatIsExpectedOfAnAnswer(t *testing.T) {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("all is well")) })
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status": "green", "parts": [{"n": 1}, {"n": 12345678901234567890}], "ok": true}`))
	})
	mux.HandleFunc("/503", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 3000 {
			_, _ = w.Write([]byte(strings.Repeat("x", 1000)))
		}
		_, _ = w.Write([]byte("the end"))
	})
	mux.HandleFunc("/method", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("X-Key") != "secret" || r.UserAgent() == "" {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		target probe.Target
		key    string
		status int
	}{
		"as expected":          {probe.Target{Type: probe.HTTP, URL: "/ok"}, "", 200},
		"another status":       {probe.Target{Type: probe.HTTP, URL: "/503"}, probe.KeyStatus, 503},
		"a status of a range":  {probe.Target{Type: probe.HTTP, URL: "/503", Statuses: []string{"200", "500-503"}}, "", 503},
		"a redirect":           {probe.Target{Type: probe.HTTP, URL: "/to"}, probe.KeyStatus, 302},
		"a redirect followed":  {probe.Target{Type: probe.HTTP, URL: "/to", Follow: true}, "", 200},
		"a loop":               {probe.Target{Type: probe.HTTP, URL: "/loop", Follow: true}, probe.KeyRedirects, 0},
		"a keyword":            {probe.Target{Type: probe.Keyword, URL: "/ok", Keyword: "is well"}, "", 200},
		"a keyword missing":    {probe.Target{Type: probe.Keyword, URL: "/ok", Keyword: "is bad"}, probe.KeyMissing, 200},
		"a keyword present":    {probe.Target{Type: probe.Keyword, URL: "/ok", Keyword: "is well", KeywordAbsent: true}, probe.KeyPresent, 200},
		"a keyword absent":     {probe.Target{Type: probe.Keyword, URL: "/ok", Keyword: "is bad", KeywordAbsent: true}, "", 200},
		"what is far below":    {probe.Target{Type: probe.Keyword, URL: "/large", Keyword: "the end"}, probe.KeyMissing, 200},
		"a value":              {probe.Target{Type: probe.JSON, URL: "/json", JSONPath: "$.status", JSONExpected: text("green")}, "", 200},
		"a value without $":    {probe.Target{Type: probe.JSON, URL: "/json", JSONPath: "ok", JSONExpected: text("true")}, "", 200},
		"one of many":          {probe.Target{Type: probe.JSON, URL: "/json", JSONPath: "$.parts[*].n", JSONExpected: text("12345678901234567890")}, "", 200},
		"any value":            {probe.Target{Type: probe.JSON, URL: "/json", JSONPath: "$.parts[1]"}, "", 200},
		"another value":        {probe.Target{Type: probe.JSON, URL: "/json", JSONPath: "$.status", JSONExpected: text("red")}, probe.KeyJSON, 200},
		"no value":             {probe.Target{Type: probe.JSON, URL: "/json", JSONPath: "$.colour"}, probe.KeyJSON, 200},
		"no JSON":              {probe.Target{Type: probe.JSON, URL: "/ok", JSONPath: "$.colour"}, probe.KeyJSON, 200},
		"a method and headers": {probe.Target{Type: probe.HTTP, URL: "/method", Method: "POST", Header: http.Header{"X-Key": {"secret"}}}, "", 200},
	} {
		c.target.URL = s.URL + c.target.URL
		r := near().Check(t.Context(), c.target)
		if r.OK != (c.key == "") || r.ErrorKey != c.key || r.HTTPStatus != c.status || r.Unknown {
			t.Errorf("%s: %+v", name, r)
		}
		if r.OK && (r.Response <= 0 || r.Connect <= 0 || r.FirstByte <= 0) {
			t.Errorf("%s: no times: %+v", name, r)
		}
	}
}

func TestWhyThereIsNoAnswer(t *testing.T) {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	secured := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(secured.Close)
	reset := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(reset.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	_, port := hostPort(t, closed.Addr().String())
	for name, c := range map[string]struct {
		target probe.Target
		key    string
	}{
		"slow":            {probe.Target{Type: probe.HTTP, URL: slow.URL, TimeoutMS: 100}, probe.KeyTimeout},
		"an unknown CA":   {probe.Target{Type: probe.HTTP, URL: secured.URL, Verify: true}, probe.KeyTLS},
		"reset":           {probe.Target{Type: probe.HTTP, URL: reset.URL}, probe.KeyConnection},
		"refused":         {probe.Target{Type: probe.HTTP, URL: "http://" + closed.Addr().String()}, probe.KeyRefused},
		"refused by TCP":  {probe.Target{Type: probe.TCP, Host: "127.0.0.1", Port: port}, probe.KeyRefused},
		"private":         {probe.Target{Type: probe.HTTP, URL: "http://10.0.0.1/"}, probe.KeyBlocked},
		"metadata by TCP": {probe.Target{Type: probe.TCP, Host: "169.254.169.254", Port: 80}, probe.KeyBlocked},
		"private by ping": {probe.Target{Type: probe.Ping, Host: "192.168.0.1"}, probe.KeyBlocked},
		"private by SSL":  {probe.Target{Type: probe.SSL, Host: "fd00::1", Port: 443}, probe.KeyBlocked},
		"no TLS":          {probe.Target{Type: probe.HTTP, URL: strings.Replace(slow.URL, "http:", "https:", 1), TimeoutMS: 2000}, probe.KeyTLS},
	} {
		if r := near().Check(t.Context(), c.target); r.OK || r.Unknown || r.ErrorKey != c.key {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := near().Check(t.Context(), probe.Target{Type: probe.HTTP, URL: secured.URL}); !r.OK || r.Certificate == nil || r.Certificate.Valid {
		t.Errorf("not verified: %+v", r)
	}
	if r := prober(probe.Config{}).Check(t.Context(), probe.Target{Type: probe.HTTP, URL: slow.URL}); r.ErrorKey != probe.KeyBlocked {
		t.Errorf("loopback where it is not allowed: %+v", r)
	}
}

// TestRedirectsAreJudgedAndGetNoSecrets: neither a private address, nor the headers at another origin.
func TestRedirectsAreJudgedAndGetNoSecrets(t *testing.T) {
	var leaked, seen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Key") != "" || r.ContentLength > 0 {
			leaked.Add(1)
		}
	}))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/own", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/in", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	})
	check := func(path string) probe.Result {
		return near().Check(t.Context(), probe.Target{
			Type: probe.HTTP, URL: s.URL + path, Method: http.MethodPost, Body: "secret", Follow: true,
			Header: http.Header{"Authorization": {"Bearer secret"}, "X-Key": {"secret"}},
		})
	}
	if r := check("/own"); !r.OK {
		t.Errorf("the same origin: %+v", r)
	}
	if r := check("/away"); !r.OK || seen.Load() != 1 || leaked.Load() != 0 {
		t.Errorf("another origin: %+v, seen %d, leaked %d", r, seen.Load(), leaked.Load())
	}
	if r := check("/in"); r.ErrorKey != probe.KeyBlocked {
		t.Errorf("a redirect inside: %+v", r)
	}
	if r := check("/file"); r.ErrorKey != probe.KeyRedirects {
		t.Errorf("a redirect to a file: %+v", r)
	}
}

// TestOwnOriginsAreDialledWhateverTheName: for the checks of our own services.
func TestOwnOriginsAreDialledWhateverTheName(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "shop.example" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	}))
	t.Cleanup(s.Close)
	r := near().Check(t.Context(), probe.Target{
		Type: probe.HTTP, URL: "http://shop.example/", Follow: true, Statuses: []string{"100-499"}, Origin: s.Listener.Addr().String(),
	})
	if !r.OK || r.HTTPStatus != http.StatusFound {
		t.Errorf("%+v", r)
	}

	// A machine names its addresses itself, so they lead neither to who checks nor to the metadata service of a cloud.
	for _, origin := range []string{s.Listener.Addr().String(), "169.254.169.254:80"} {
		r = prober(probe.Config{}).Check(t.Context(), probe.Target{
			Type: probe.HTTP, URL: "http://shop.example/", Statuses: []string{"100-499"}, Origin: origin,
		})
		if r.OK || r.ErrorKey != probe.KeyBlocked {
			t.Errorf("%s: %+v", origin, r)
		}
	}
}

func TestCertificates(t *testing.T) {
	now := time.Now()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(name string, until time.Time) (port int, pool *x509.CertPool) {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA", Organization: []string{"Test\nOrg"}}, NotBefore: until.AddDate(0, -3, 0), NotAfter: until,
			DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() { _ = c.(*tls.Conn).HandshakeContext(t.Context()); _ = c.Close() }()
			}
		}()
		_, port = hostPort(t, ln.Addr().String())
		pool = x509.NewCertPool()
		pool.AddCert(leaf)
		return port, pool
	}
	for name, c := range map[string]struct {
		of    string
		until time.Time
		key   string
		trust bool
	}{
		"good":        {"localhost", now.AddDate(0, 1, 0), "", true},
		"expired":     {"localhost", now.Add(-time.Hour), probe.KeyExpired, true},
		"of another":  {"other.example", now.AddDate(0, 1, 0), probe.KeyTLS, true},
		"not trusted": {"localhost", now.AddDate(0, 1, 0), probe.KeyTLS, false},
	} {
		port, pool := serve(c.of, c.until)
		if !c.trust {
			pool = x509.NewCertPool()
		}
		p := prober(probe.Config{AllowLoopback: true, RootCAs: pool})
		r := p.Check(t.Context(), probe.Target{Type: probe.SSL, Host: "localhost", Port: port})
		if r.ErrorKey != c.key || r.Certificate == nil || r.Certificate.Valid != (c.key == "") || r.Certificate.ExpiresAt.Unix() != c.until.Unix() ||
			strings.Contains(r.Certificate.Issuer, "\n") {
			t.Errorf("%s: %+v %+v", name, r, r.Certificate)
		}
		web := p.Check(t.Context(), probe.Target{Type: probe.HTTP, URL: fmt.Sprintf("https://localhost:%d/", port), Verify: true, TimeoutMS: 2000})
		if c.key != "" && web.ErrorKey != c.key {
			t.Errorf("%s by HTTPS: %+v", name, web)
		}
	}
}

func TestRecordsOfTheDNS(t *testing.T) {
	mux := dns.NewServeMux()
	mux.HandleFunc(".", func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		for _, rr := range map[string][]string{
			"shop.example. A":    {"shop.example. 60 IN A 93.184.216.34"},
			"inside.example. A":  {"inside.example. 60 IN A 10.0.0.5"},
			"shop.example. MX":   {"shop.example. 60 IN MX 10 mail.shop.example."},
			"shop.example. TXT":  {`shop.example. 60 IN TXT "v=spf1 " "-all"`},
			"alias.example. A":   {"alias.example. 60 IN CNAME shop.example.", "shop.example. 60 IN A 93.184.216.34"},
			"rebind.example. A":  {"rebind.example. 60 IN A 169.254.169.254"},
			"broken.example. NS": nil,
		}[q.Question[0].Name+" "+dns.TypeToString[q.Question[0].Qtype]] {
			r, err := dns.NewRR(rr)
			if err != nil {
				panic(err)
			}
			m.Answer = append(m.Answer, r)
		}
		_ = w.WriteMsg(m)
	})
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: pc, Handler: mux}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	p := prober(probe.Config{Nameservers: []netip.AddrPort{netip.MustParseAddrPort(pc.LocalAddr().String())}})
	for _, c := range []struct{ host, typ, expected, key string }{
		{"shop.example", "A", "", ""},
		{"shop.example", "A", "93.184.216.34", ""},
		{"alias.example", "A", "93.184.216.34", ""},
		{"shop.example", "A", "1.1.1.1", probe.KeyAnswer},
		{"shop.example", "MX", "10 MAIL.shop.example.", ""},
		{"shop.example", "TXT", "v=spf1 -all", ""},
		{"shop.example", "AAAA", "", probe.KeyDNS},
		{"inside.example", "A", "", probe.KeyBlocked},
	} {
		if r := p.Check(t.Context(), probe.Target{Type: probe.DNS, Host: c.host, DNSType: c.typ, DNSExpected: c.expected}); r.ErrorKey != c.key {
			t.Errorf("%v: %+v", c, r)
		}
	}
	// A name that leads inside is refused, whatever is checked.
	for _, target := range []probe.Target{
		{Type: probe.HTTP, URL: "http://rebind.example/"}, {Type: probe.TCP, Host: "inside.example", Port: 80}, {Type: probe.Ping, Host: "inside.example"},
	} {
		if r := p.Check(t.Context(), target); r.ErrorKey != probe.KeyBlocked {
			t.Errorf("%+v: %+v", target, r)
		}
	}
}

func TestPing(t *testing.T) {
	r := near().Check(t.Context(), probe.Target{Type: probe.Ping, Host: "127.0.0.1", TimeoutMS: 2000})
	if r.Unknown {
		t.Skip("this machine may not send echo requests: " + r.Detail)
	}
	if !r.OK || r.Response <= 0 {
		t.Errorf("%+v", r)
	}
}

type panicking struct{}

func (panicking) Expires(context.Context, string) (time.Time, bool, error) { panic("no such registry") }

// TestPanicsEndInAnUnknownResult: the process goes on, and the log tells why.
func TestPanicsEndInAnUnknownResult(t *testing.T) {
	var log bytes.Buffer
	for _, c := range []probe.Config{{Expiry: panicking{}, Log: slog.New(slog.NewTextHandler(&log, nil))}, {Expiry: panicking{}}} {
		r := prober(c).Check(t.Context(), probe.Target{Type: probe.Domain, Host: "example.com"})
		if r.OK || !r.Unknown || r.ErrorKey != probe.KeyInternal {
			t.Errorf("%+v", r)
		}
	}
	if !strings.Contains(log.String(), "no such registry") || !strings.Contains(log.String(), "probe_test.go") {
		t.Errorf("the log: %s", log.String())
	}
}
