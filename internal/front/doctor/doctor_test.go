package doctor_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/front/doctor"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

// installation is a sound one, not running, in a folder of its own.
func installation(t *testing.T, settings map[string]string) doctor.Installation {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"data_dir": dir, "listen": "127.0.0.1:1", "node_listen": "127.0.0.1:1", "ops_listen": "off"}
	for k, v := range settings {
		all[k] = v
	}
	cfg, err := config.Load(config.Input{CommandLine: all})
	if err != nil {
		t.Fatal(err)
	}
	in := doctor.Installation{
		Config: *cfg, Clock: clock.NewFake(testkit.Start), DatabaseFile: filepath.Join(dir, "stead.db"),
		KeyFile: filepath.Join(dir, "secret.key"), NodeDir: filepath.Join(dir, "node"),
		Ledger: func(context.Context, *db.DB) error { return nil }, Invoices: func(context.Context, *db.DB) error { return nil },
		Nodes: func(context.Context, *db.DB) ([]doctor.Node, error) { return nil, nil }, Version: "v1",
	}
	if _, err := secret.OpenKeyFile(in.KeyFile); err != nil {
		t.Fatal(err)
	}
	content, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in.DatabaseFile, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return in
}

// migrated is a SQLite database with all migrations, made once.
var migrated = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "stead-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "stead.db")
	d, err := db.Open(context.Background(), db.Config{Path: file, Clock: clock.System(0)})
	if err != nil {
		return nil, err
	}
	_, err = schema.Migrate(context.Background(), d)
	if err := errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// finding is the check of that name.
func finding(t *testing.T, r doctor.Report, name string) doctor.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("nothing was checked under the name %q: %+v", name, r)
	return doctor.Check{}
}

// asRoot is the finding of a check that only root can make.
func asRoot(s doctor.Status) doctor.Status {
	if os.Geteuid() != 0 {
		return doctor.Skip
	}
	return s
}

func TestEachThingThatBreaksIsFoundByItsCheck(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]string
		spoil    func(t *testing.T, in *doctor.Installation)
		check    string
		status   doctor.Status
	}{
		"nothing": {nil, nil, "database", doctor.OK},
		"a registry": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.Registry = func(context.Context) error { return nil }
		}, "registry", doctor.OK},
		"a registry that refuses": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.Registry = func(context.Context) error { return errors.New("the login is refused") }
		}, "registry", doctor.Fail},
		"sites that reach mail servers": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.MailGuard = func(context.Context) error { return errors.New("user 20000 reaches port 25") }
		}, "mail guard", asRoot(doctor.Fail)},
		"sites that reach none": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.MailGuard = func(context.Context) error { return nil }
		}, "mail guard", asRoot(doctor.OK)},
		"databases that no browser opens": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.Adminer = func() bool { return false }
		}, "adminer", doctor.Warn},
		"a machine without an address": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.Adminer, in.Config.NodeURL = func() bool { return true }, ""
		}, "adminer", doctor.Warn},
		"databases that browsers open": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.Adminer, in.Config.NodeURL = func() bool { return true }, "http://192.0.2.1"
		}, "adminer", doctor.OK},
		"an open data directory": {nil, func(t *testing.T, in *doctor.Installation) {
			must(t, os.Chmod(in.Config.DataDir, 0o755))
		}, "data directory", doctor.Warn},
		"a hosting machine's data directory": {nil, func(t *testing.T, in *doctor.Installation) {
			in.Config.NodeMachine = config.MachineLinux
			must(t, os.Chmod(in.Config.DataDir, 0o711))
		}, "data directory", doctor.OK},
		"a hosting machine's data directory, open": {nil, func(t *testing.T, in *doctor.Installation) {
			in.Config.NodeMachine = config.MachineLinux
			must(t, os.Chmod(in.Config.DataDir, 0o755))
		}, "data directory", doctor.Warn},
		"no data directory": {nil, func(t *testing.T, in *doctor.Installation) {
			in.Config.DataDir = filepath.Join(t.TempDir(), "none")
		}, "data directory", doctor.Skip},
		"a lost key": {nil, func(t *testing.T, in *doctor.Installation) { must(t, os.Remove(in.KeyFile)) }, "key file", doctor.Fail},
		"a readable key": {nil, func(t *testing.T, in *doctor.Installation) {
			must(t, os.Chmod(in.KeyFile, 0o644))
		}, "key file", doctor.Fail},
		"no database": {nil, func(t *testing.T, in *doctor.Installation) { must(t, os.Remove(in.DatabaseFile)) }, "database", doctor.Skip},
		"a damaged database": {nil, func(t *testing.T, in *doctor.Installation) {
			must(t, os.WriteFile(in.DatabaseFile, bytes.Repeat([]byte("not a database "), 1000), 0o600))
		}, "database", doctor.Fail},
		"an empty database": {nil, func(t *testing.T, in *doctor.Installation) {
			must(t, os.Remove(in.DatabaseFile))
			must(t, os.WriteFile(in.DatabaseFile, nil, 0o600))
		}, "migrations", doctor.Fail},
		"a database of an unreleased version": {nil, func(t *testing.T, in *doctor.Installation) {
			d, err := db.Open(t.Context(), db.Config{Path: in.DatabaseFile, Clock: clock.System(0)})
			must(t, err)
			must(t, d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, TRUE)`)
				return err
			}))
			must(t, d.Close())
		}, "migrations", doctor.Fail},
		"no PostgreSQL": {map[string]string{"database_url": "postgres://user:hunter2@127.0.0.1:1/stead"}, nil, "database", doctor.Fail},
		"a ledger that does not add up": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.Ledger = func(context.Context, *db.DB) error { return errors.New("transaction 7: recorded 0, computed 5") }
		}, "ledger", doctor.Fail},
		"invoices with a gap": {nil, func(_ *testing.T, in *doctor.Installation) {
			in.Invoices = func(context.Context, *db.DB) error { return errors.New("number 7 is not there") }
		}, "invoices", doctor.Fail},
		"backups that are damaged": {nil, func(t *testing.T, in *doctor.Installation) {
			d, err := db.Open(t.Context(), db.Config{Path: in.DatabaseFile, Clock: clock.System(0)})
			must(t, err)
			must(t, d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO backups (account_id, service_id, kind, status, parts, error_key, created_at, finished_at, expires_at)
					VALUES (1, 1, 'auto', 'failed', '[]', 'backup_not_restorable', 1, 2, 3)`)
				return err
			}))
			must(t, d.Close())
		}, "backups", doctor.Warn},
		"backups that are whole": {nil, nil, "backups", doctor.OK},
		"the demo in public":     {map[string]string{"demo": "true", "base_url": "https://example.com"}, nil, "configuration", doctor.Fail},
		"the demo here":          {map[string]string{"demo": "true"}, nil, "configuration", doctor.Warn},
		"no throttle in public":  {map[string]string{"throttle": "false", "base_url": "https://example.com"}, nil, "configuration", doctor.Warn},
		"plain HTTP in public":   {map[string]string{"base_url": "http://example.com"}, nil, "base URL", doctor.Fail},
		"no trusted proxy":       {map[string]string{"base_url": "https://example.com"}, nil, "base URL", doctor.Warn},
		"behind a proxy":         {map[string]string{"base_url": "https://example.com", "trusted_proxies": "10.0.0.0/8"}, nil, "base URL", doctor.OK},
		"everywhere as here":     {map[string]string{"listen": "0.0.0.0:1"}, nil, "base URL", doctor.Warn},
		"nobody serves":          {nil, nil, "server", doctor.Warn},
		"no node":                {map[string]string{"node_listen": "off"}, nil, "node", doctor.Skip},
		"no mail server":         {map[string]string{"smtp_url": "smtp://a:hunter2@127.0.0.1:1", "mail_from": "a@example.com"}, nil, "mail", doctor.Fail},
		"mails to files":         {nil, nil, "mail", doctor.Warn},
		"a clock set off":        {map[string]string{"clock_offset": "1h"}, nil, "clock", doctor.Warn},
	} {
		t.Run(name, func(t *testing.T) {
			in := installation(t, c.settings)
			if c.spoil != nil {
				c.spoil(t, &in)
			}
			r := doctor.Examine(t.Context(), in)
			got := finding(t, r, c.check)
			if got.Status != c.status {
				t.Errorf("%+v, want %s", got, c.status)
			}
			if (got.Status == doctor.Warn || got.Status == doctor.Fail) && got.Do == "" {
				t.Errorf("%+v says nothing to do", got)
			}
			var text strings.Builder
			if err := r.Write(&text); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), "hunter2") || !strings.Contains(text.String(), got.Found) {
				t.Errorf("the report reads\n%s", text.String())
			}
		})
	}
}

// TestBooksThatAreNotAddedUpInTime are no books that do not agree.
func TestBooksThatAreNotAddedUpInTime(t *testing.T) {
	t.Parallel()
	in := installation(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := clock.System(0).Now()
	in.Ledger = func(ctx context.Context, _ *db.DB) error {
		if until, ok := ctx.Deadline(); !ok || until.Sub(began) < time.Minute {
			t.Errorf("the ledger is to be added up until %s", until)
		}
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	in.Invoices = func(ctx context.Context, _ *db.DB) error { return ctx.Err() }
	r := doctor.Examine(ctx, in)
	for _, name := range []string{"ledger", "invoices"} {
		if c := finding(t, r, name); c.Status != doctor.Warn || c.Found != "not added up in time" {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAMailServerIsGreeted(t *testing.T) {
	for greeting, want := range map[string]doctor.Status{"220 mail.example ESMTP\r\n": doctor.OK, "SSH-2.0-x\r\n": doctor.Fail} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		go func() {
			conn, err := ln.Accept()
			if err == nil {
				_, _ = io.WriteString(conn, greeting)
				_ = conn.Close()
			}
		}()
		in := installation(t, map[string]string{"smtp_url": "smtp://" + ln.Addr().String(), "mail_from": "a@example.com"})
		if got := finding(t, doctor.Examine(t.Context(), in), "mail"); got.Status != want {
			t.Errorf("%q: %+v", greeting, got)
		}
		must(t, ln.Close())
	}
}

func TestNodesAreLookedAt(t *testing.T) {
	const day = 24 * time.Hour
	well := doctor.Node{Name: "n1", Address: "n1.test:8443", Version: "v1", LastSeen: testkit.Start, CertificateEnds: testkit.Start.Add(20 * day)}
	// with is a node with something else.
	with := func(change func(n *doctor.Node)) doctor.Node {
		n := well
		n.Name = "n2"
		change(&n)
		return n
	}
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		panel string
		nodes []doctor.Node
		err   error
		want  []string // how each finding begins
	}{
		"none":                {"node", nil, nil, []string{"skip none has joined"}},
		"none, and all are":   {"nodes", nil, nil, []string{"fail none has joined"}},
		"not to be looked at": {"nodes", nil, errors.New("no such table"), []string{"skip they cannot be looked at: no such table"}},
		"well":                {"nodes", []doctor.Node{well, well}, nil, []string{"ok 2 report and answer; 2 of them"}},
		"one without room":    {"nodes", []doctor.Node{well, with(func(n *doctor.Node) { n.Closed = "is draining" })}, nil, []string{"ok 2 report and answer; 1 of them"}},
		"a stopped agent":     {"node", []doctor.Node{with(func(n *doctor.Node) { n.Silent, n.Unreachable = true, refused })}, nil, []string{"fail n2 has not reported since 2026-"}},
		"one that is worked at": {"nodes", []doctor.Node{well, with(func(n *doctor.Node) {
			n.Silent, n.Unreachable, n.Maintenance, n.Closed = true, refused, true, "is under maintenance"
		})}, nil, []string{"ok 2 report and answer; 1 of them"}},
		"one that cannot tell": {"node", []doctor.Node{with(func(n *doctor.Node) { n.Silent = true })}, nil, []string{"fail n2 answers, but has not reported since"}},
		"behind a wall":        {"node", []doctor.Node{well, with(func(n *doctor.Node) { n.Unreachable = refused })}, nil, []string{"fail n2 reports, but n1.test:8443 cannot be called: connection refused"}},
		"a month without contact": {"node", []doctor.Node{with(func(n *doctor.Node) {
			n.CertificateEnds, n.Silent, n.Unreachable = testkit.Start, true, refused
		})}, nil, []string{"fail the certificate of n2 ended on"}},
		"soon without one": {"node", []doctor.Node{with(func(n *doctor.Node) { n.CertificateEnds = testkit.Start.Add(7 * day) })}, nil, []string{"warn the certificate of n2 ends on"}},
		"a full disk, the last one": {"nodes", []doctor.Node{with(func(n *doctor.Node) {
			n.DiskLow, n.DiskFreeMB, n.Closed = true, 12, "has 12 MB of its disk free"
		})}, nil, []string{"warn n2 has 12 MB of its disk free", "fail no service can be sold: n2 has 12 MB"}},
		"sold out, but not what is sold":  {"node", []doctor.Node{with(func(n *doctor.Node) { n.Closed = "has its 3 services" })}, nil, []string{"ok 1 report and answer; 0 of them"}},
		"databases that no browser opens": {"nodes", []doctor.Node{well, with(func(n *doctor.Node) { n.NoAdminer = true })}, nil, []string{"warn n2 has databases, and no Adminer"}},
		"another version":                 {"node", []doctor.Node{with(func(n *doctor.Node) { n.Version = "v0" })}, nil, []string{"warn n2 runs version v0, this is v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := installation(t, map[string]string{"panel": c.panel})
			in.Nodes = func(context.Context, *db.DB) ([]doctor.Node, error) { return c.nodes, c.err }
			var got []string
			for _, f := range doctor.Examine(t.Context(), in).Checks {
				if f.Name == "nodes" {
					got = append(got, string(f.Status)+" "+f.Found)
					if (f.Status == doctor.Warn || f.Status == doctor.Fail) && f.Do == "" {
						t.Errorf("%+v says nothing to do", f)
					}
				}
			}
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestACertificateIsMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		host string
		left time.Duration
		want doctor.Status
	}{
		"good":              {"panel.example.com", 90 * 24 * time.Hour, doctor.OK},
		"soon over":         {"panel.example.com", 5 * 24 * time.Hour, doctor.Warn},
		"over":              {"panel.example.com", -time.Hour, doctor.Fail},
		"of another's name": {"other.example.com", 90 * 24 * time.Hour, doctor.Fail},
	} {
		dir := t.TempDir()
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(t, err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), DNSNames: []string{c.host},
			NotBefore: testkit.Start.Add(-24 * time.Hour), NotAfter: testkit.Start.Add(c.left),
		}
		cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		must(t, err)
		der, err := x509.MarshalPKCS8PrivateKey(key)
		must(t, err)
		certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
		must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
		in := installation(t, map[string]string{
			"tls_cert_file": certFile, "tls_key_file": keyFile, "base_url": "https://panel.example.com",
		})
		if got := finding(t, doctor.Examine(t.Context(), in), "certificate"); got.Status != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestACertificateThatSteadGotItselfIsMeasured(t *testing.T) {
	in := installation(t, map[string]string{"tls_acme": "true", "acme_email": "a@example.com", "base_url": "https://panel.example.com"})
	for name, c := range map[string]struct {
		ends time.Time
		err  error
		want doctor.Status
	}{
		"good":          {testkit.Start.Add(60 * 24 * time.Hour), nil, doctor.OK},
		"not renewed":   {testkit.Start.Add(5 * 24 * time.Hour), nil, doctor.Warn},
		"over":          {testkit.Start.Add(-time.Hour), nil, doctor.Fail},
		"not there yet": {time.Time{}, errors.New("no such file"), doctor.Warn},
	} {
		in.OwnCertificate = func(_ context.Context, host string) (time.Time, error) {
			if host != "panel.example.com" {
				t.Errorf("asked for %s", host)
			}
			return c.ends, c.err
		}
		if got := finding(t, doctor.Examine(t.Context(), in), "certificate"); got.Status != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// TestTheSitesOfALinuxMachineAreLookedForAtItsWebServer: nothing there listens on STEAD_NODE_LISTEN.
func TestTheSitesOfALinuxMachineAreLookedForAtItsWebServer(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	host, port, err := net.SplitHostPort(web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{"node_machine": "linux", "node_host": host, "node_ports": "http=" + port, "node_listen": "127.0.0.1:1"}
	if got := finding(t, doctor.Examine(t.Context(), installation(t, settings)), "node"); got.Status != doctor.OK {
		t.Errorf("%+v", got)
	}
	web.Close()
	if got := finding(t, doctor.Examine(t.Context(), installation(t, settings)), "node"); got.Status != doctor.Warn {
		t.Errorf("%+v", got)
	}
}

func TestThePoolsOfAllReplicasMustFitIntoPostgreSQL(t *testing.T) {
	url := testkit.PostgresURL(t)
	for settings, want := range map[[2]string]doctor.Status{{"4", "2"}: doctor.OK, {"1000", "1000"}: doctor.Warn} {
		in := installation(t, map[string]string{
			"database_url": url, "database_connections": settings[0], "database_readers": settings[1],
		})
		if got := finding(t, doctor.Examine(t.Context(), in), "connections"); got.Status != want {
			t.Errorf("%v: %+v", settings, got)
		}
	}
}

func TestTheRoomOfEachPlanIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		rooms []doctor.Room
		want  doctor.Status
	}{
		"room":    {[]doctor.Room{{Plan: "one", Services: 100}, {Plan: "two", Unbounded: true}}, doctor.OK},
		"little":  {[]doctor.Room{{Plan: "one", Services: 100}, {Plan: "two", Services: 3}}, doctor.Warn},
		"none":    {[]doctor.Room{{Plan: "one", Services: 3}, {Plan: "two", Obstacles: []string{"n1 is full"}}}, doctor.Fail},
		"no plan": {nil, doctor.Skip},
	} {
		in := installation(t, nil)
		in.Rooms = func(context.Context, *db.DB) ([]doctor.Room, error) { return c.rooms, nil }
		got := finding(t, doctor.Examine(t.Context(), in), "room")
		if got.Status != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "none" && !strings.Contains(got.Found, "two (n1 is full)") {
			t.Errorf("%+v", got)
		}
	}
}
