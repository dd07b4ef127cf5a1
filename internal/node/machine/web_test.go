package machine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/web/nginx"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// open is a Linux machine for the time of the test and its panel.
func open(t *testing.T, change func(*Config)) (*Machine, panelnode.Panel, Config) {
	t.Helper()
	dir := nodetest.Dir(t)
	prefix, least, most := nodetest.Users(t)
	cfg := Config{
		Kind: Linux, Dir: dir, Now: time.Now, Log: nodetest.Log(t), Host: "127.0.0.1", Supervisor: nodetest.Supervisor(t, dir),
		Ports:      Ports{HTTP: testkit.Port(t), HTTPS: testkit.Port(t), FTP: testkit.Port(t), SSH: testkit.Port(t), MariaDB: testkit.Port(t), PostgreSQL: testkit.Port(t)},
		UserPrefix: prefix, UIDMin: least, UIDMax: most, OriginURL: "http://127.0.0.1:1", PreviewDomain: "preview.example",
	}
	if change != nil {
		change(&cfg)
	}
	m, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, ref := range m.Refs() {
			if err := m.DeleteAccount(context.Background(), ref); err != nil {
				t.Error(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, panelnode.New(m.Node), cfg
}

func get(t *testing.T, cfg Config, host, path string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", cfg.Ports.HTTP, path), nil)
	must(t, err)
	req.Host = host
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(body), res.Header
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, p panel.Files, ref, path, content string) {
	t.Helper()
	_, err := p.Write(t.Context(), ref, path, []byte(content), panel.WriteOptions{})
	must(t, err)
}

func TestASiteWithProgramsFromBeginToEnd(t *testing.T) {
	_, p, cfg := open(t, nil)
	account, err := p.CreateAccount(t.Context(), panel.AccountSpec{Ref: "1", Username: "alice", PrimaryDomain: "alice.example"})
	must(t, err)
	if account.OriginURL != "http://alice.preview.example" {
		t.Errorf("origin: %s", account.OriginURL)
	}
	put(t, p, "1", "/public_html/page.html", "PAGE")
	put(t, p, "1", "/public_html/index.php", `<?php echo "FRONT ", ini_get("memory_limit");`)
	for host, path := range map[string]string{"alice.example": "/page.html", "www.alice.example": "/page.html", "alice.preview.example": "/page.html"} {
		if status, body, _ := get(t, cfg, host, path); status != 200 || body != "PAGE" {
			t.Errorf("%s%s: %d %q", host, path, status, body)
		}
	}
	if _, body, _ := get(t, cfg, "alice.example", "/any/where"); body != "FRONT 256M" {
		t.Errorf("the front: %q", body)
	}
	_, err = p.SetPHPSettings(t.Context(), "1", panel.PHPSettings{Options: map[string]string{"memory_limit": "128M"}})
	must(t, err)
	if _, body, _ := get(t, cfg, "alice.example", "/"); body != "FRONT 128M" {
		t.Errorf("after the change: %q", body)
	}
	testkit.Eventually(t, time.Minute, func() bool { // a request is logged when its answer was sent
		page, err := p.ReadLog(t.Context(), "1", panel.LogQuery{Type: panel.LogAccess, Limit: 10})
		must(t, err)
		return len(page.Lines) == 5 && page.Lines[0].Path == "/" && page.Lines[0].Status == 200
	}, "the requests are in the log")
	usage, err := p.Usage(t.Context(), "1")
	must(t, err)
	if usage.TrafficBytes == nil || *usage.TrafficBytes < 5*100 {
		t.Errorf("traffic: %+v", usage)
	}
	must(t, p.SuspendAccount(t.Context(), "1"))
	if status, _, h := get(t, cfg, "alice.example", "/"); status != 503 || h.Get("Retry-After") == "" {
		t.Errorf("suspended: %d", status)
	}
	must(t, p.UnsuspendAccount(t.Context(), "1"))
	if _, body, _ := get(t, cfg, "alice.example", "/"); body != "FRONT 128M" {
		t.Errorf("again: %q", body)
	}
	must(t, p.DeleteAccount(t.Context(), "1"))
	if status, _, _ := get(t, cfg, "alice.example", "/"); status != 404 {
		t.Errorf("deleted: %d", status)
	}
}

func TestAHundredDomainsOfOneAccountTakeFiveReloads(t *testing.T) {
	m, p, cfg := open(t, nil)
	_, err := p.CreateAccount(t.Context(), panel.AccountSpec{Ref: "1", Username: "alice", PrimaryDomain: "alice.example"})
	must(t, err)
	put(t, p, "1", "/public_html/index.html", "PAGE")
	server, ok := m.Web().(*nginx.Server)
	if !ok {
		t.Fatal("no nginx")
	}
	before := server.Reloads()
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			name := fmt.Sprintf("n%d.example", i)
			if _, err := p.SetDomain(t.Context(), "1", panel.Domain{Name: name}); err != nil {
				t.Error(err)
			}
			if status, body, _ := get(t, cfg, name, "/"); status != 200 || body != "PAGE" {
				t.Errorf("%s is not served when it was set: %d", name, status)
			}
		})
	}
	all.Wait()
	if n := server.Reloads() - before; n > 5 {
		t.Errorf("%d reloads", n)
	}
}
