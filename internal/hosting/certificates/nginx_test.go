package certificates

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/node"
	nodecertificates "stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/web/nginx"
	"stead.dev/stead/internal/platform/certificate"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// TestAVisitorSeesTheCertificateOfARealAuthority goes the whole way: an authority fetches its proof from nginx on a
// machine with Linux users, and visitors are answered with what it issued.
func TestAVisitorSeesTheCertificateOfARealAuthority(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(testkit.Start)
	w := newWorld(sitetest.NewWorld(t, testkit.SQLite(t, clk), clk))
	plain, secure := testkit.Port(t), testkit.Port(t)
	n := nodetest.Node(t, func(dir string, _ daemon.Supervisor, lookup facility.Lookup) ([]facility.Facility, error) {
		keeper, err := nodecertificates.Open(dir, lookup, w.Clock.Now)
		return []facility.Facility{keeper}, err
	}, func(c *node.Config) {
		dir := nodetest.Dir(t)
		written, err := logs.Open(logs.Config{Dir: filepath.Join(dir, "logs"), Now: time.Now, Log: nodetest.Log(t)})
		w.Must(err)
		c.Web, err = nginx.Open(t.Context(), nginx.Config{
			Dir: filepath.Join(dir, "nginx"), ACME: nodecertificates.Challenges(c.Dir), Logs: written, Supervisor: nodetest.Supervisor(t, dir),
			Now: time.Now, Log: nodetest.Log(t), HTTP: []string{fmt.Sprintf("127.0.0.1:%d", plain)}, HTTPS: []string{fmt.Sprintf("127.0.0.1:%d", secure)},
			Workers: 1, Interval: 10 * time.Millisecond,
		})
		w.Must(err)
		w.dir = c.Dir
	})
	w.panels["node"] = panelnode.New(n)
	p := w.startPebble(plain)
	w.by(p.directory, p.client)
	w.add("anna.uz", "anna.uz A 127.0.0.1", "www.anna.uz A 127.0.0.1")
	w.service(10, "node", "anna.uz")
	_, err := w.panels["node"].(panel.Files).Write(t.Context(), "10", "/public_html/index.html", []byte("hello"), panel.WriteOptions{})
	w.Must(err)

	// visit answers what a browser sees, and the certificate that it is shown.
	visit := func(scheme, host string) (status int, header http.Header, fingerprint string) {
		t.Helper()
		port := plain
		if scheme == "https" {
			port = secure
		}
		transport := &http.Transport{
			DialContext:       (&net.Dialer{}).DialContext,
			TLSClientConfig:   &tls.Config{ServerName: host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, // the certificate is what is looked at
			DisableKeepAlives: true,
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://127.0.0.1:"+strconv.Itoa(port)+"/", nil)
		w.Must(err)
		r.Host = host
		res, err := transport.RoundTrip(r)
		w.Must(err)
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		if res.TLS != nil {
			fingerprint = certificate.Fingerprint(res.TLS.PeerCertificates[0])
		}
		return res.StatusCode, res.Header, fingerprint
	}
	shown := func(fingerprint string) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() bool {
			status, _, seen := visit("https", "www.anna.uz")
			return status == http.StatusOK && seen == fingerprint
		}, "visitors are shown "+fingerprint)
	}
	if status, _, own := visit("https", "anna.uz"); status != http.StatusOK || own == "" {
		t.Fatalf("before there is a certificate: %d", status)
	}
	id := w.post(10, `{}`)
	w.run()
	if w.status(10, id) != "active" {
		t.Fatalf("%v", w.shown(10, id))
	}
	first := certificate.Fingerprint(w.leaf(id))
	shown(first)
	// HTTPS is forced, with HSTS.
	w.post(10, fmt.Sprintf(`{"certificate_id": %d, "hsts": true}`, id))
	w.run()
	_, err = w.panels["node"].(panel.Sites).SetDomain(t.Context(), "10", panel.Domain{Name: "anna.uz", Primary: true, ForceHTTPS: true})
	w.Must(err)
	testkit.Eventually(t, time.Minute, func() bool {
		status, header, _ := visit("http", "anna.uz")
		_, secured, _ := visit("https", "anna.uz")
		return status == http.StatusMovedPermanently && header.Get("Location") == "https://anna.uz/" && secured.Get("Strict-Transport-Security") != ""
	}, "visitors are sent to HTTPS and told to stay")
	// Renewed while all of that is so: the proof is fetched by plain HTTP all the same.
	w.post(10, fmt.Sprintf(`{"certificate_id": %d}`, id))
	w.run()
	second := certificate.Fingerprint(w.leaf(id))
	if second == first {
		t.Fatalf("not renewed: %v", w.shown(10, id))
	}
	shown(second)
	// A renewal that fails.
	w.add("anna.uz", "anna.uz A 192.0.2.1")
	w.Clock.Advance(4 * 365 * day)
	w.Must(w.Sweep(t.Context()))
	w.run()
	if w.shown(10, id)["last_error_key"] != "domain_not_pointed" {
		t.Errorf("%v", w.shown(10, id))
	}
	shown(second)
	if status, _, _ := visit("http", "anna.uz"); status != http.StatusMovedPermanently {
		t.Errorf("after a failed renewal HTTPS is no longer forced: %d", status)
	}
}
