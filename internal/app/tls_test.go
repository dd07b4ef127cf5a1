package app

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// TestAFreshMachineAnswersHTTPS installs a certificate by the API and visits the site of a machine without nginx.
func TestAFreshMachineAnswersHTTPS(t *testing.T) {
	engines(t, map[string]string{"demo": "true"}, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		address := strings.TrimPrefix(a.nodeSecure.url, "https://")
		shown := func(name string) (issuer string, ok bool) {
			conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", address, &tls.Config{
				ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, // who signed it is what is looked at
			})
			if err != nil {
				return "", false
			}
			defer conn.Close()
			leaf := conn.ConnectionState().PeerCertificates[0]
			return fmt.Sprint(leaf.SerialNumber), slices.Contains(leaf.DNSNames, w.domain)
		}
		if serial, ok := shown(w.domain); !ok || serial == "1" {
			t.Fatalf("at first there is %q %v", serial, ok)
		}
		if _, ok := shown("nobody.example.com"); ok {
			t.Error("a name that nobody has is answered")
		}
		if r := a.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ssl", w.service), w.ownCertificate); r.status != http.StatusCreated {
			t.Fatal(r)
		}
		testkit.Eventually(t, time.Minute, func() bool { serial, _ := shown("www." + w.domain); return serial == "1" }, "the certificate is in use")
		// Now HTTPS can be forced.
		domains := fmt.Sprintf("/api/v1/services/%d/domains", w.service)
		var list struct {
			Data []struct {
				ID   int64
				Name string
			}
		}
		w.get(t, w.owner.token, domains).decode(t, &list)
		testkit.Eventually(t, time.Minute, func() bool {
			r := a.do(t, request{
				method: http.MethodPatch, path: fmt.Sprintf("%s/%d", domains, list.Data[0].ID), token: w.owner.token, body: `{"force_https": true}`,
			})
			return r.status == http.StatusOK
		}, "the domain takes force_https")
		testkit.Eventually(t, time.Minute, func() bool {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.NodeURL(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = w.domain
			res, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				return false
			}
			defer res.Body.Close()
			return res.StatusCode == http.StatusMovedPermanently && res.Header.Get("Location") == "https://"+w.domain+"/"
		}, "visitors are sent to HTTPS")
	})
}
