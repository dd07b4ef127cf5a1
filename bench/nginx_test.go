package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/node/web/nginx"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// plainConf is nginx as one would set it up for one site by hand, with the settings that cost
// something the same as on a hosting machine: workers, sendfile, compression, a log line per request.
const plainConf = `%s
worker_processes 2;
worker_rlimit_nofile 131072;
pid %[2]s/nginx.pid;
error_log %[2]s/error.log warn;
events { worker_connections 8192; multi_accept on; }
http {
	server_tokens off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 75s; keepalive_requests 1000;
	types { text/html html; }
	charset utf-8;
	gzip on; gzip_comp_level 5; gzip_min_length 1024; gzip_vary on;
	client_body_temp_path %[2]s/tmp; fastcgi_temp_path %[2]s/tmp; proxy_temp_path %[2]s/tmp; uwsgi_temp_path %[2]s/tmp; scgi_temp_path %[2]s/tmp;
	server {
		listen %[3]s;
		server_name bench.example;
		root %[4]s;
		disable_symlinks if_not_owner from=%[2]s;
		index index.html;
		access_log %[2]s/access.log combined;
		add_header X-Content-Type-Options nosniff always;
	}
}
`

var perSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// BenchmarkNginx serves a file of 10 KB by the nginx of a hosting machine and by a plain one, in turns,
// under the load of wrk, and reports requests per second of each and the median of the rounds' ratios.
// It needs root, nginx and wrk.
func BenchmarkNginx(b *testing.B) {
	m := nodetest.New(b)
	account := m.Account("bench", panel.Limits{})
	page := filepath.Join(account.Home, "public_html", "page.html")
	text := strings.Repeat("0123456789", 1024)
	must(b, os.WriteFile(page, []byte(text), 0o644))
	must(b, os.Chown(page, account.User.UID, account.User.GID))

	written, err := logs.Open(logs.Config{Dir: filepath.Join(m.Dir, "logs"), Now: time.Now, Log: nodetest.Log(b)})
	must(b, err)
	ours := testkit.Address(b)
	server, err := nginx.Open(b.Context(), nginx.Config{
		Dir: filepath.Join(m.Dir, "nginx"), ACME: filepath.Join(m.Dir, "acme"), Logs: written, Supervisor: m.Supervisor,
		Now: time.Now, Log: nodetest.Log(b), HTTP: []string{ours}, Workers: 2,
	})
	must(b, err)
	must(b, server.Apply(b.Context(), "bench", []web.Site{{
		Domain: "bench.example", Home: account.Home, DocumentRoot: "public_html", GID: account.User.GID,
	}}))

	dir := filepath.Join(m.Dir, "plain")
	root := filepath.Join(dir, "root")
	must(b, os.MkdirAll(root, 0o755))
	must(b, os.WriteFile(filepath.Join(root, "page.html"), []byte(text), 0o644))
	plain := testkit.Address(b)
	conf := filepath.Join(dir, "nginx.conf")
	must(b, os.WriteFile(conf, fmt.Appendf(nil, plainConf, "user www-data;", dir, plain, root), 0o600))
	must(b, m.Supervisor.Ensure(b.Context(), daemon.Spec{
		Name: "plain", Command: []string{nginx.Program, "-c", conf, "-e", filepath.Join(dir, "error.log"), "-g", "daemon off;"}, Stop: syscall.SIGQUIT,
		Ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", plain)
			if err == nil {
				err = conn.Close()
			}
			return err
		},
	}))

	measure := func(address string) float64 {
		out, err := exec.CommandContext(b.Context(), "wrk", "-t1", "-c32", "-d2s", "-H", "Host: bench.example", "http://"+address+"/page.html").CombinedOutput()
		must(b, err)
		match := perSecond.FindSubmatch(out)
		if match == nil || strings.Contains(string(out), "Non-2xx") {
			b.Fatalf("wrk: %s", out)
		}
		n, err := strconv.ParseFloat(string(match[1]), 64)
		must(b, err)
		return n
	}
	measure(plain) // both are warm then
	measure(ours)
	var a, p, ratios []float64
	for b.Loop() {
		x, y := measure(plain), measure(ours)
		p, a, ratios = append(p, x), append(a, y), append(ratios, y/x)
	}
	median := func(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }
	b.ReportMetric(median(a), "req/s")
	b.ReportMetric(median(p), "plain-req/s")
	b.ReportMetric(median(ratios), "ratio")
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
