package e2e

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stead.dev/stead/internal/platform/testkit"
)

// panelHost is a name that leads to this machine by the authority's name server.
const panelHost = "panel.example.com"

// TestSteadGetsItsOwnCertificates from a real authority that looks at the address that serves the pages, and serves the pages with
// it, also after a start without the authority. Visitors who come by HTTP are led there.
func TestSteadGetsItsOwnCertificates(t *testing.T) {
	t.Parallel()
	for name, byHTTP := range map[string]bool{"by TLS-ALPN-01": false, "by HTTP-01": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secure, plain := testkit.Address(t), testkit.Address(t)
			tlsPort, httpPort := port(t, secure), port(t, plain)
			if byHTTP {
				tlsPort = 1 // where nobody answers the authority
			}
			ca := startPebble(t, httpPort, tlsPort, nameLeadsHere(t))
			in := newInstallation(t, "STEAD_LISTEN="+secure, "STEAD_BASE_URL=https://"+panelHost+":"+strconv.Itoa(port(t, secure)),
				"STEAD_TLS_ACME=true", "STEAD_ACME_EMAIL=hostmaster@example.com", "STEAD_ACME_DIRECTORY="+ca.directory,
				"STEAD_ACME_CA_FILE="+ca.rootFile, "STEAD_REDIRECT_LISTEN="+plain)
			p := in.start(t)
			var dialer net.Dialer
			client := &http.Client{
				Timeout:       time.Minute,
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
				Transport: &http.Transport{
					DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: ca.issued(t), MinVersion: tls.VersionTLS12},
					DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
						return dialer.DialContext(ctx, network, strings.Replace(address, panelHost, "127.0.0.1", 1))
					},
				},
			}
			get := func(url string, header ...string) *http.Response {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(header) > 0 {
					r.Header.Set(header[0], header[1])
				}
				res, err := client.Do(r)
				if err != nil {
					return &http.Response{Status: err.Error(), Header: http.Header{}}
				}
				_ = res.Body.Close()
				return res
			}
			base := in.setting("STEAD_BASE_URL")
			served := func() bool { return get(base+"/readyz").StatusCode == http.StatusOK }
			testkit.Eventually(t, 4*time.Minute, served, "the pages are served with the authority's certificate")
			if r := get("http://" + plain + "/panel/x?y=1"); r.StatusCode != http.StatusPermanentRedirect || r.Header.Get("Location") != base+"/panel/x?y=1" {
				t.Errorf("by HTTP: %s %v", r.Status, r.Header)
			}
			if r := get("http://"+plain+"/api/v1/me", "Authorization", "Bearer x"); r.StatusCode != http.StatusForbidden {
				t.Errorf("a token by HTTP: %s", r.Status)
			}
			found, _ := in.doctor(t)
			for _, c := range found.Checks {
				if c.Name == "certificate" && c.Status != "ok" {
					t.Errorf("doctor: %+v", c)
				}
			}
			p.terminate(t)
			p.ends(t)
			ca.stop()
			in.start(t)
			testkit.Eventually(t, 4*time.Minute, served, "the stored certificate is used while the authority is away")
		})
	}
}

func port(t *testing.T, address string) int {
	t.Helper()
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return int(parsed.Port())
}

// nameLeadsHere starts a name server by which every name leads to this machine, and returns its port.
func nameLeadsHere(t *testing.T) int {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		answer := new(dns.Msg).SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			answer.Answer = []dns.RR{&dns.A{
				Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1),
			}}
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return port(t, conn.LocalAddr().String())
}
