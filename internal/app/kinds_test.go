package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// TestEachKindOfMonitorsScansAndTheAgentIsTold brings about what nothing else in this package does, so that each event of
// these sections is judged by its schema: every test of the package ends with eventsArePublished.
func TestEachKindOfMonitorsScansAndTheAgentIsTold(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "monitors": "true"}, func(t *testing.T, a *App) {
		w := &world{App: a, t: t}
		w.owner = a.customer(t, a.application(t, false), 100_000)
		w.plan = w.aPlan()
		domain := unique("told") + ".stead.test" // which leads to this machine
		w.service = w.orderOf(w.bought(domain)).ServiceID
		must := func(r answer, status int) answer {
			t.Helper()
			if r.status != status {
				t.Fatal(r)
			}
			return r
		}

		// Slow three times, and a certificate that ends in 12 days.
		slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			<-time.After(30 * time.Millisecond) // sleeps: being slow is what is watched
		}))
		defer slow.Close()
		id := w.id(w.post(t, w.owner.token, "/api/v1/monitors", fmt.Sprintf(`{"type": "http", "url": %q, "max_response_ms": 5, "interval_s": 300}`, slow.URL)))
		every := func(ctx context.Context, tx *db.Tx) error { // more often than a plan allows: nobody waits here for that
			if _, err := tx.Exec(ctx, `UPDATE monitors SET settings = REPLACE(settings, '"interval_s":300', '"interval_s":1') WHERE id = $1`, id); err != nil {
				return err
			}
			return a.hub.Send(ctx, tx, "monitors", strconv.FormatInt(id, 10))
		}
		if err := a.db.InTx(t.Context(), every); err != nil {
			t.Fatal(err)
		}
		host, port := endingSoon(t)
		w.id(w.post(t, w.owner.token, "/api/v1/monitors", fmt.Sprintf(`{"type": "ssl", "host": %q, "port": %d, "verify_tls": false}`, host, port)))

		// A scan, and one whose process was killed.
		must(a.post(t, w.owner.token, "/api/v1/security/scans", fmt.Sprintf(`{"url": "http://%s/"}`, domain)), http.StatusCreated)
		err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE scans SET status = 'running', lease_until = 1, finished_at = NULL, score = NULL, grade = NULL`)
			return err
		})
		if err == nil {
			err = a.scans.Expire(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}

		// Something to improve, which then is.
		audit := fmt.Sprintf("/api/v1/services/%d/ai/audit", w.service)
		must(a.post(t, w.owner.token, audit, "{}"), http.StatusOK)
		must(a.do(t, request{
			method: http.MethodPut, path: fmt.Sprintf("/api/v1/services/%d/files/content", w.service), token: w.owner.token,
			body: `{"path": "/public_html/index.html", "content": ` + strconv.Quote(wholePage) + `}`,
		}), http.StatusOK)
		must(a.post(t, w.owner.token, audit, "{}"), http.StatusOK)

		// A run whose model says nothing of use.
		must(a.do(t, request{method: http.MethodPut, path: "/api/v1/ai/settings", token: w.owner.token, body: `{"enabled": true, "mode": "autopilot", "model": "tools"}`}), http.StatusOK)
		must(a.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ai/run", w.service), `{"message": "What the transcript does not expect"}`), http.StatusOK)

		for _, kind := range []string{
			"monitor.degraded", "monitor.ssl_expiring", "scan.completed", "scan.failed", "insight.created", "insight.resolved", "ai.run_failed",
		} {
			testkit.Eventually(t, 30*time.Second, func() bool {
				return w.number(t, `SELECT COUNT(*) FROM outbox_events WHERE type = $1`, kind) > 0
			}, kind+" is told")
		}
	})
}

// wholePage is a page that lacks nothing that search engines want.
var wholePage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
	`<title>A shop for everybody in town</title><meta name="description" content="` + strings.Repeat("What we sell. ", 8) + `"></head>` +
	`<body><main><h1>Welcome</h1><p>` + strings.Repeat("Come in. ", 40) + `</p></main></body></html>`

// endingSoon is where a server presents a certificate that ends in 12 days.
func endingSoon(t *testing.T) (host string, port int) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(12 * 24 * time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	address := s.Listener.Addr().(*net.TCPAddr)
	return address.IP.String(), address.Port
}
