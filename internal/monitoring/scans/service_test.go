package scans

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outbox/outboxtest"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

const owner, serviceID = 1, 7

// hosted are the sites of a test: service 7 of account 1 answers to shop.example.
type hosted struct {
	addresses []string
	place     Place
	handed    []Finding
}

func (h *hosted) Owner(_ context.Context, _ db.Querier, accountID int64, host string) (Owned, bool, error) {
	return Owned{ServiceID: serviceID, Addresses: h.addresses}, accountID == owner && host == "shop.example", nil
}

func (h *hosted) Primary(_ context.Context, _ db.Querier, accountID, id int64) (string, bool, error) {
	if accountID != owner || id != serviceID {
		return "", false, fault.NotFound.New()
	}
	return "shop.example", true, nil
}

func (h *hosted) Place(context.Context, int64, int64, string) (Place, error) { return h.place, nil }

func (h *hosted) Conditions(context.Context, db.Querier, int64, int64) (Conditions, error) {
	return Conditions{Certificate: "active", PHPVersion: "8.4", BackupsOK: true}, nil
}

func (h *hosted) Scanned(_ context.Context, _ *db.Tx, _, _ int64, findings []Finding) error {
	h.handed = scan{findings: findings}.opened()
	return nil
}

// account are the files of a hosting account.
type account map[string]panel.Listing

func (a account) List(_ context.Context, _, path string, _, _ int) (panel.Listing, error) {
	l, ok := a[path]
	if !ok {
		return l, errors.New("no such directory")
	}
	return l, nil
}

func (a account) Read(context.Context, string, string, panel.ReadOptions) (panel.Content, error) {
	return panel.Content{Data: []byte("<?php\n$wp_version = '6.4.1';\n")}, nil
}

// zoneRecords are those of a zone, by "name type". A test may add some while the zone is served.
type zoneRecords struct {
	mu  sync.RWMutex
	all map[string]string
}

func newRecords(all map[string]string) *zoneRecords { return &zoneRecords{all: all} }

func (r *zoneRecords) set(name, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[name] = text
}

func (r *zoneRecords) get(name string) (string, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	text, ok := r.all[name]
	return text, ok
}

// zone answers questions from records.
func zone(t *testing.T, records *zoneRecords) netip.AddrPort {
	t.Helper()
	var listen net.ListenConfig
	conn, err := listen.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	s := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) {
		r := new(dns.Msg).SetReply(m)
		q := m.Question[0]
		if text, ok := records.get(strings.TrimSuffix(strings.ToLower(q.Name), ".") + " " + dns.TypeToString[q.Qtype]); ok {
			rr, err := dns.NewRR(q.Name + " 60 IN " + dns.TypeToString[q.Qtype] + " " + text)
			if err != nil {
				t.Error(err)
			}
			r.Answer = append(r.Answer, rr)
		}
		_ = w.WriteMsg(r)
	})}
	go func() { _ = s.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { _ = s.Shutdown() })
	return netip.MustParseAddrPort(conn.LocalAddr().String())
}

// certificate is one for shop.example that the pool trusts.
func certificate(t *testing.T, now time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"shop.example", "www.shop.example"}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 3, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// world is the section with a site on this machine.
type world struct {
	*Service
	t     *testing.T
	clk   *clock.Fake
	told  *outboxtest.Recorder
	sites *hosted
	edge  http.Handler
}

// site are the handlers of a site and the records of its domain.
type site struct {
	secure, plain http.Handler
	least         uint16
	records       *zoneRecords
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake, s site) *world {
	t.Helper()
	own, pool := certificate(t, clk.Now())
	secure := httptest.NewUnstartedServer(s.secure)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: s.least}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(s.plain)
	t.Cleanup(plain.Close)
	w := &world{t: t, clk: clk, told: &outboxtest.Recorder{}, sites: &hosted{addresses: []string{"127.0.0.1"}}}
	_, https, _ := net.SplitHostPort(secure.Listener.Addr().String())
	_, http, _ := net.SplitHostPort(plain.Listener.Addr().String())
	w.Service = New(Config{
		DB: d, Clock: clk, Queue: jobs.Discard{}, Events: w.told, BaseURL: apitest.BaseURL,
		Fetcher: &Fetcher{
			Resolver: &dnsquery.Client{Servers: []netip.AddrPort{zone(t, s.records)}}, Clock: clk, RootCAs: pool, HTTPPort: http, HTTPSPort: https, AllowLoopback: true,
		},
	})
	w.Connect(Needs{Sites: w.sites, Insights: w.sites})
	w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
		"own":   {AccountID: owner, ApplicationID: 1, Scopes: []string{"services:read", "services:write"}},
		"other": {AccountID: 2, ApplicationID: 1, Scopes: []string{"services:read", "services:write"}},
	}, w.Operations())
	return w
}

func (w *world) call(token, method, path, body string, status int, into any) string {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, path, body, "Accept-Language", "en")
	apitest.Answered(w.t, rec, status, into)
	return rec.Body.String()
}

var goodRecords = map[string]string{
	"shop.example A": "127.0.0.1", "shop.example MX": "10 mail.shop.example.", "shop.example TXT": `"v=spf1 mx -all"`,
	"_dmarc.shop.example TXT": `"v=DMARC1; p=reject"`, "stead._domainkey.shop.example TXT": `"v=DKIM1; p=MIIB"`,
	"shop.example DS": "1 13 2 1F987CC6583E92DF0890718C42A5DC53F0E5F7A4C4E7E6B0E6A7C2E1A0A9F1B2", "shop.example CAA": `0 issue "ca.example"`,
}

func good(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, value := range map[string]string{
		"Strict-Transport-Security": "max-age=31536000", "Content-Security-Policy": "default-src 'self'", "X-Frame-Options": "DENY",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Content-Type": "text/html", "Set-Cookie": "PHPSESSID=1; Secure; HttpOnly",
	} {
		h.Set(name, value)
	}
	if r.URL.Path != "/" {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = fmt.Fprint(w, "<html><title>Shop</title></html>")
}

func cleanSite() site {
	return site{
		secure: http.HandlerFunc(good), least: tls.VersionTLS12, records: newRecords(maps.Clone(goodRecords)),
		plain: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://shop.example/", http.StatusMovedPermanently)
		}),
	}
}

// faulty is a site with every fault that can be planted from outside.
func faulty() site {
	page := func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		switch r.URL.Path {
		case "/":
			h.Set("Content-Type", "text/html")
			h.Set("Server", "nginx/1.2.3")
			h.Set("Referrer-Policy", "unsafe-url")
			h.Set("Set-Cookie", "PHPSESSID=secret")
			_, _ = fmt.Fprint(w, `<html><meta name="generator" content="WordPress 5.0"><script src="http://x.example/a.js"></script></html>`)
		case "/.git/config":
			_, _ = fmt.Fprint(w, "[core]\n")
		case "/.env":
			h.Set("Content-Type", "text/plain")
			_, _ = fmt.Fprint(w, "DB_PASSWORD=secret\n")
		case "/old.sql":
			_, _ = fmt.Fprint(w, "-- MySQL dump\n")
		case "/uploads/":
			h.Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<html><title>Index of /uploads/</title></html>")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
	return site{
		secure: http.HandlerFunc(page), plain: http.HandlerFunc(page), least: tls.VersionTLS10,
		records: newRecords(map[string]string{"shop.example A": "127.0.0.1", "shop.example MX": "10 mail.shop.example."}),
	}
}

type answered struct {
	ID       int64
	Status   string
	Score    *int
	Grade    *string
	Findings []struct {
		Key, Status, Title, Detail string
		Remediation, Operation     *string
	}
	Error  string
	Record struct{ Name, Type, Value string }
}

func (a answered) open() (keys []string) {
	for _, f := range a.Findings {
		if f.Status == "fail" || f.Status == "warn" {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

const request = `{"url": "https://shop.example/"}`

func TestACleanSiteHasNoFinding(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, cleanSite())
		var a answered
		w.call("own", "POST", scansPath, request, 201, &a)
		if a.Status != "completed" || *a.Score != 100 || *a.Grade != "A+" || len(a.open()) != 0 {
			t.Errorf("%+v", a)
		}
		if got := w.told.Types(); !slices.Equal(got, []string{"scan.completed"}) {
			t.Errorf("events %v", got)
		}
		var p postureWire
		w.call("own", "GET", "/api/v1/services/7/security", "", 200, &p)
		if *p.Score != 95 || *p.LastScanID != a.ID || len(p.Trend) != 1 || p.OpenFindings != 0 || !p.BackupsOK || p.SSL != "active" {
			t.Errorf("%+v", p)
		}
		w.call("other", "GET", "/api/v1/services/7/security", "", 404, nil)
		var l struct{ Meta struct{ Total int } }
		w.call("own", "GET", scansPath+"?service_id=7", "", 200, &l)
		if w.call("other", "GET", scansPath, "", 200, nil); l.Meta.Total != 1 {
			t.Errorf("%d scans", l.Meta.Total)
		}
	})
}

func TestEveryPlantedFaultIsFound(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, faulty())
		w.sites.place = Place{ServiceID: serviceID, PHPVersion: "7.4", Root: "/public_html", Ref: "alice", Files: account{
			"/public_html": {Entries: []panel.Entry{
				{Name: "uploads", Path: "/public_html/uploads", Type: panel.TypeDirectory, Mode: "0777"},
				{Name: "old.sql", Type: panel.TypeFile, Mode: "0644"},
				{Name: "wp-includes", Type: panel.TypeDirectory, Mode: "0755"},
			}},
		}}
		var a answered
		body := w.call("own", "POST", scansPath, request, 201, &a)
		want := []string{
			"tls_version", "hsts", "csp", "x_frame_options", "x_content_type_options", "referrer_policy", "cookies", "mixed_content", "server_version_leak",
			"exposed_git", "exposed_env", "exposed_dump", "directory_listing", "cms_version", "php_version", "file_permissions", "spf", "dkim", "dmarc",
			"dnssec", "caa", "open_redirect_http",
		}
		if got := a.open(); !slices.Equal(got, want) {
			t.Errorf("found %v", got)
		}
		if *a.Score != 0 || *a.Grade != "F" || strings.Contains(body, "=secret") {
			t.Errorf("score %d: %s", *a.Score, body)
		}
		for _, f := range a.Findings {
			if f.Status == "fail" && (f.Remediation == nil || f.Operation == nil || !strings.Contains(*f.Operation, "/api/v1/services/7")) {
				t.Errorf("no remedy: %+v", f)
			}
		}
		if len(w.sites.handed) != len(want) {
			t.Errorf("%d handed over", len(w.sites.handed))
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		records := newRecords(map[string]string{"shop.example A": "127.0.0.1", "inside.example A": "10.0.0.1", "gone.example A": "127.0.0.9"})
		s := cleanSite()
		s.records = records
		w := newWorld(t, d, clk, s)
		var a answered
		w.call("other", "POST", scansPath, request, 422, &a)
		if a.Error != "url_not_owned" || a.Record.Name != "_stead-verify.shop.example" || a.Record.Type != "TXT" || a.Record.Value != w.token(2) {
			t.Fatalf("%+v", a)
		}
		// The token of another account proves nothing.
		records.set("_stead-verify.shop.example TXT", `"`+w.token(3)+`"`)
		w.call("other", "POST", scansPath, request, 422, &a)
		records.set("_stead-verify.shop.example TXT", `"`+w.token(2)+`"`)
		w.call("other", "POST", scansPath, request, 201, nil)
		// A domain of the service that leads elsewhere is not proved.
		w.sites.addresses = []string{"127.0.0.2"}
		w.call("own", "POST", scansPath, request, 422, &a)
		if a.Error != "url_not_owned" {
			t.Error(a.Error)
		}
		for _, name := range []string{"inside.example", "gone.example"} {
			records.set("_stead-verify."+name+" TXT", `"`+w.token(owner)+`"`)
		}
		for address, key := range map[string]string{
			"https://inside.example/": "target_not_allowed", "https://gone.example/": "scan_target_unreachable", "https://127.0.0.1/": "target_not_allowed",
			"https://shop.example:22/": "target_not_allowed", "ftp://shop.example/": "validation_failed", "x": "validation_failed",
		} {
			w.call("own", "POST", scansPath, fmt.Sprintf(`{"url": %q}`, address), 422, &a)
			if a.Error != key {
				t.Errorf("%s: %s", address, a.Error)
			}
		}
		if got := w.told.Types(); !slices.Equal(got, []string{"scan.completed", "scan.failed", "scan.failed"}) {
			t.Errorf("events %v", got)
		}
	})
}

func TestOneScanAtATimeAndAKilledOneEnds(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, cleanSite())
		begin := func() {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := insert(ctx, tx, scan{accountID: owner, url: "https://shop.example/"}, tx.Now.Add(lease))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		begin()
		var a answered
		w.call("own", "POST", scansPath, request, 422, &a)
		if a.Error != "scan_in_progress" {
			t.Fatal(a.Error)
		}
		clk.Advance(lease + time.Second)
		w.call("own", "POST", scansPath, request, 201, nil)
		if got := w.told.Types(); !slices.Equal(got, []string{"scan.failed", "scan.completed"}) {
			t.Errorf("events %v", got)
		}
		begin()
		clk.Advance(lease + time.Second)
		for range 2 {
			if err := w.Expire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.told.Types(); len(got) != 3 || got[2] != "scan.failed" {
			t.Errorf("events %v", got)
		}
	})
}

func TestWeeklyScansTellOfWhatIsNewOnly(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		bad := false
		s := cleanSite()
		s.secure = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if bad && r.URL.Path == "/.git/config" {
				_, _ = fmt.Fprint(rw, "[core]")
				return
			}
			good(rw, r)
		})
		w := newWorld(t, d, clk, s)
		weekly := func() {
			if err := w.scanWeekly(t.Context(), owner, serviceID); err != nil {
				t.Fatal(err)
			}
		}
		weekly()
		bad = true
		weekly()
		weekly()
		if got := w.told.Types(); !slices.Equal(got, []string{"scan.completed", "scan.completed", FoundEvent, "scan.completed"}) {
			t.Errorf("events %v", got)
		}
		// A service whose domain leads elsewhere is passed over, and so is one that is not there.
		w.sites.addresses = []string{"127.0.0.2"}
		weekly()
		if err := w.scanWeekly(t.Context(), 2, serviceID); err != nil || len(w.told.Events) != 4 {
			t.Errorf("%v, %d events", err, len(w.told.Events))
		}
	})
}

func TestServicesAreDueOnceAWeek(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk, cleanSite())
		tell := func(typ string) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return w.Follow(ctx, tx, outbox.Stored{Type: typ, AccountID: owner, Subject: "service", SubjectID: serviceID})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		due := func() (n int) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				all, err := weekly.Take(ctx, tx, 10)
				n = len(all)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		tell("service.provisioned")
		tell("service.provisioned")
		clk.Advance(weekly.Period)
		if first, second := due(), due(); first != 1 || second != 0 {
			t.Errorf("due %d, then %d", first, second)
		}
		tell("service.terminated")
		clk.Advance(weekly.Period)
		if n := due(); n != 0 {
			t.Errorf("%d due after the end", n)
		}
		testkit.Indexed(t, d, func(q db.Querier) error {
			_, err := listOf(t.Context(), q, owner, serviceID, page.Params{})
			return err
		})
	})
}
