package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/testkit"
)

func TestAForwardedAddressIsBelievedFromOurProxiesOnly(t *testing.T) {
	find := clientAddr([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")})
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":                       {"192.0.2.1:5", nil, "192.0.2.1"},
		"a stranger who claims":          {"192.0.2.1:5", []string{"198.51.100.9"}, "192.0.2.1"},
		"our proxy":                      {"10.0.0.1:5", []string{"198.51.100.9"}, "198.51.100.9"},
		"a claim before our proxy":       {"10.0.0.1:5", []string{"203.0.113.1, 198.51.100.9"}, "198.51.100.9"},
		"two of our proxies":             {"10.0.0.1:5", []string{"203.0.113.1, 198.51.100.9, 10.0.0.2"}, "198.51.100.9"},
		"two headers":                    {"10.0.0.1:5", []string{"203.0.113.1", "198.51.100.9"}, "198.51.100.9"},
		"nonsense from the client":       {"10.0.0.1:5", []string{"nonsense, 198.51.100.9"}, "198.51.100.9"},
		"nonsense only":                  {"10.0.0.1:5", []string{"nonsense"}, "10.0.0.1"},
		"our proxy on its own behalf":    {"10.0.0.1:5", nil, "10.0.0.1"},
		"an IPv4 address in IPv6's form": {"[::ffff:10.0.0.1]:5", []string{"::ffff:198.51.100.9"}, "198.51.100.9"},
		"IPv6":                           {"[fd00::1]:5", []string{"2001:db8::1"}, "2001:db8::1"},
		"with its port":                  {"10.0.0.1:5", []string{"203.0.113.1, 198.51.100.9:40312"}, "198.51.100.9"},
		"IPv6 with its port":             {"10.0.0.1:5", []string{"[2001:db8::1]:40312"}, "2001:db8::1"},
		"IPv6 in brackets":               {"10.0.0.1:5", []string{"[2001:db8::1]"}, "2001:db8::1"},
		"our proxy with its port":        {"10.0.0.1:5", []string{"198.51.100.9:1, 10.0.0.2:2"}, "198.51.100.9"},
		"IPv4 in brackets":               {"10.0.0.1:5", []string{"203.0.113.1, [198.51.100.9]"}, "10.0.0.1"},
		"half a bracket":                 {"10.0.0.1:5", []string{"203.0.113.1, [2001:db8::1"}, "10.0.0.1"},
		"a port that is none":            {"10.0.0.1:5", []string{"203.0.113.1, 198.51.100.9:99999"}, "10.0.0.1"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := find(r); got.String() != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestADataDirectoryHasOneServer(t *testing.T) {
	dir := t.TempDir()
	release, err := lockDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDataDir(dir); !errors.Is(err, ErrDataDirInUse) {
		t.Errorf("a second server: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := lockDataDir(dir)
	if err != nil {
		t.Fatalf("after the first has gone: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}

// pair writes a certificate for 127.0.0.1 with the serial number.
func pair(t *testing.T, dir string, serial int64) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "stead"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: testkit.Start.Add(-time.Hour), NotAfter: testkit.Start.AddDate(100, 0, 0),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestARenewedCertificateIsTakenWithoutARestart(t *testing.T) {
	dir, clk := t.TempDir(), clock.NewFake(testkit.Start)
	certFile, keyFile := pair(t, dir, 1)
	cert, err := loadCertificate(certFile, keyFile, clk, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		c, err := cert.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	pair(t, dir, 2)
	later := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(certFile, later, later); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 1 {
		t.Errorf("looked at the file again within %v: %d", recheck, got)
	}
	clk.Advance(recheck)
	if got := serial(); got != 2 {
		t.Errorf("the renewed certificate is not served: %d", got)
	}
	if err := os.WriteFile(certFile, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	clk.Advance(recheck)
	if got := serial(); got != 2 {
		t.Errorf("a broken file replaced the certificate: %d", got)
	}
}

func TestTLSSpeaksHTTP2AndDemandsItself(t *testing.T) {
	certFile, keyFile := pair(t, t.TempDir(), 1)
	a, err := New(t.Context(), testConfig(t, map[string]string{"tls_cert_file": certFile, "tls_key_file": keyFile}), quietly())
	if err != nil {
		t.Fatal(err)
	}
	run(t, a)
	if !strings.HasPrefix(a.URL(), "https://") {
		t.Errorf("URL is %s", a.URL())
	}
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	defer client.CloseIdleConnections()
	r, err := client.Get(a.URL() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.ProtoMajor != 2 || r.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s with %q", r.Proto, r.Header.Get("Strict-Transport-Security"))
	}
	old := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11},
	}}
	if r, err := old.Get(a.URL() + "/healthz"); err == nil {
		_ = r.Body.Close()
		t.Error("TLS 1.1 was accepted")
	}
}

func TestReadyTellsWhatFails(t *testing.T) {
	a, err := New(t.Context(), testConfig(t, nil), quietly())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func() (int, map[string]string) {
		w := httptest.NewRecorder()
		a.ready()(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		var answer struct{ Checks map[string]string }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		return w.Code, answer.Checks
	}
	if code, checks := ask(); code != http.StatusServiceUnavailable || checks["jobs"] != "failing" || checks["database"] != "ok" {
		t.Errorf("before it runs: %d %v", code, checks)
	}
	var hearing sync.WaitGroup
	listen, deaf := context.WithCancel(t.Context())
	hearing.Go(func() { a.hub.Run(listen) })
	defer hearing.Wait()
	defer deaf()
	a.queueRuns.Store(true)
	testkit.Eventually(t, heard, func() bool {
		code, _ := ask()
		return code == http.StatusOK
	}, "all is ready")
	a.draining.Store(true)
	if code, checks := ask(); code != http.StatusServiceUnavailable || checks["serving"] != "failing" {
		t.Errorf("stopping: %d %v", code, checks)
	}
}

func TestALogThatIsFollowedDoesNotHoldUpTheEnd(t *testing.T) {
	var log io.ReadCloser
	t.Cleanup(func() {
		if _, err := io.ReadAll(log); err != nil { // the server has stopped, which start has an eye on
			t.Errorf("the stream is cut off: %v", err)
		}
		_ = log.Close()
	})
	a := start(t, simulated)
	w := &world{App: a, t: t, owner: a.customer(t, a.application(t, false), 100_000)}
	w.plan = w.aPlan()
	w.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", w.newOrder(w.owner, "followed.example.com")), "{}")
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet,
		fmt.Sprintf("%s/api/v1/services/%d/logs?follow=1", a.local(), w.serviceOf(w.owner)), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.owner.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if log = res.Body; res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
}

func TestOperatorsSeeMetricsAndOthersDoNot(t *testing.T) {
	a := start(t, demo)
	if r := a.get(t, "", "/api/v1/me"); r.status != http.StatusUnauthorized {
		t.Fatal(r)
	}
	a.do(t, request{method: "PROPFIND", path: "/api/v1/me"})
	var text string
	testkit.Eventually(t, time.Minute, func() bool {
		r, err := http.Get(a.OpsURL() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
		return strings.Contains(text, `stead_job_duration_seconds_count{kind="platform.clean",outcome="done"}`)
	}, "a job is counted")
	for _, want := range []string{
		`stead_http_request_duration_seconds_count{method="GET",operation="account.get",status="401"}`,
		`stead_http_request_duration_seconds_count{method="other",operation="",status="405"}`,
		`stead_jobs{state="available"}`, "go_goroutines", `stead_build_info{version="test"} 1`, "stead_http_requests_in_flight",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s among the metrics", want)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap"} {
		if r := a.get(t, "", path); r.status != http.StatusNotFound {
			t.Errorf("%s is served in public: %s", path, r)
		}
	}
	if r, err := http.Get(a.OpsURL() + "/debug/pprof/cmdline"); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("no profiles for operators: %v", err)
	} else {
		_ = r.Body.Close()
	}
}

func TestATransferMayBeSlowButNotStandStill(t *testing.T) {
	read := make(chan error, 1)
	server := httptest.NewServer(pace{read: time.Second, write: time.Second, leftover: time.Second}.around(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			read <- err
			if err == nil {
				_, _ = w.Write(b)
			}
		})))
	defer server.Close()
	slowly := time.NewTicker(300 * time.Millisecond) // five of them are longer than the pause that is allowed
	defer slowly.Stop()
	send := func(pieces ...string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\n")
		for _, p := range pieces {
			<-slowly.C // sleeps: as a slow client does
			_, _ = io.WriteString(conn, p)
		}
		return conn
	}
	slow := send("01", "23", "45", "67", "89")
	defer func() { _ = slow.Close() }()
	if answer, err := io.ReadAll(slow); err != nil || !strings.HasSuffix(string(answer), "0123456789") {
		t.Errorf("a slow body: %v %q", err, answer)
	}
	if err := <-read; err != nil {
		t.Errorf("a slow body: %v", err)
	}
	still := send("01")
	defer func() { _ = still.Close() }()
	select {
	case err := <-read:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a body that stands still: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("a body that stands still is waited for")
	}
}

func TestAStreamOfSmallEventsThatNobodyTakesEnds(t *testing.T) {
	ended := make(chan error, 1)
	server := httptest.NewServer(pace{read: time.Second, write: 200 * time.Millisecond, leftover: time.Second}.around(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			event, c := []byte(strings.Repeat("x", 1000)), http.NewResponseController(w)
			for {
				if _, err := w.Write(event); err != nil {
					ended <- err
					return
				}
				if err := c.Flush(); err != nil {
					ended <- err
					return
				}
			}
		})))
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer func() { _ = conn.Close() }() // first: the server waits for its requests
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a stream that nobody takes is held open")
	}
}

func TestWorkMayTakeLongerThanTransfersMayPause(t *testing.T) {
	const pause = 500 * time.Millisecond
	server := httptest.NewServer(pace{read: pause, write: pause, leftover: pause}.around(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			select {
			case <-r.Context().Done():
				t.Error("the work is ended")
			case <-time.After(2 * pause):
			}
			_, _ = io.WriteString(w, "done")
		})))
	defer server.Close()
	for _, body := range []string{`{"operation": "extract"}`, "", "again"} { // on one connection
		res, err := server.Client().Post(server.URL, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(b) != "done" {
			t.Errorf("%q, %v", b, err)
		}
	}
}

func TestAnAddressThatLeadsNowhereHasAPage(t *testing.T) {
	a := start(t, nil)
	for _, path := range []string{"/nothing", "/account/nothing", "/docs/nothing.js", "/static/nothing", "/pay/nothing/at/all", "/oauth/nothing"} {
		r := a.get(t, "", path)
		if r.status != http.StatusNotFound || r.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %s", path, r)
		}
	}
	if r := a.get(t, "", "/nothing"); !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		t.Errorf("the page is %s", r.header.Get("Content-Type"))
	}
}

func TestWhereMachinesCallARefusalIsTheErrorObject(t *testing.T) {
	a := start(t, nil)
	for _, path := range []string{"/oauth/nothing", "/.well-known/nothing"} {
		r := a.get(t, "", path)
		if r.status != http.StatusNotFound || !strings.HasPrefix(r.header.Get("Content-Type"), "application/json") || r.key() != "not_found" {
			t.Errorf("%s: %s", path, r)
		}
	}
	if r := a.get(t, "", "/oauth/authorize"); !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		t.Errorf("the page of an application's mistake is %s", r.header.Get("Content-Type"))
	}
}

func TestAWrongStartLeavesNothingBehind(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	settings := map[string]string{"ops_listen": taken.Addr().String(), "data_dir": t.TempDir()}
	_, err = New(t.Context(), testConfig(t, settings), quietly())
	if err == nil || !strings.Contains(err.Error(), "STEAD_OPS_LISTEN=127.0.0.1:") || strings.Contains(err.Error(), "="+taken.Addr().String()) {
		t.Fatalf("on an address that is taken: %v", err)
	}
	settings["ops_listen"] = config.Off
	a, err := New(t.Context(), testConfig(t, settings), quietly())
	if err != nil {
		t.Fatalf("after a start that failed: %v", err)
	}
	if a.OpsURL() != "" {
		t.Errorf("operators' address is %s", a.OpsURL())
	}
	run(t, a)
}

func TestEverythingStandsStillAfterClose(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second start finds all locks and addresses free
		a, err := New(t.Context(), testConfig(t, map[string]string{"data_dir": dir, "demo": "true"}), quietly())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
