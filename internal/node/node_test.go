package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

func open(t testing.TB, dir string) *Node {
	t.Helper()
	n, err := New(context.Background(), Config{
		Dir: dir, Log: slog.New(slog.DiscardHandler), OriginURL: "http://127.0.0.1:1",
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve answers for n on a port of its own and returns how to ask it, until the test ends.
func serve(t testing.TB, n *Node) func(host, path string) (int, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Serve(ctx, ln, time.Second) }()
	client := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(host, path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+ln.Addr().String()+path, nil)
		must(t, err)
		req.Host = host
		res, err := client.Do(req)
		must(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		must(t, err)
		return res.StatusCode, string(body)
	}
}

func create(t testing.TB, n *Node, ref, domain string) {
	t.Helper()
	_, err := n.CreateAccount(context.Background(), panel.AccountSpec{Ref: ref, PrimaryDomain: domain, Limits: panel.Limits{DiskMB: 100}})
	must(t, err)
}

func write(t testing.TB, n *Node, ref, path, content string) {
	t.Helper()
	_, err := n.Files.Write(context.Background(), ref, path, []byte(content), panel.WriteOptions{Parents: true})
	must(t, err)
}

// The site that people really have: the documentation of git as Debian ships it, packed by tar.
func TestRealSiteIsUploadedUnpackedAndServedByteForByte(t *testing.T) {
	const docs = "/usr/share/doc/git/html/"
	n := open(t, t.TempDir())
	defer n.Close()
	create(t, n, "1", "git.example")
	get := serve(t, n)

	tar := exec.CommandContext(t.Context(), "tar", "-C", docs, "-czf", "-", ".")
	archive, err := tar.StdoutPipe()
	must(t, err)
	must(t, tar.Start())
	_, err = n.Files.Upload(t.Context(), "1", "/site.tar.gz", archive, panel.WriteOptions{})
	must(t, err)
	must(t, tar.Wait())
	got, err := n.Files.Extract(t.Context(), "1", "/site.tar.gz", "/public_html", false)
	must(t, err)

	served := 0
	must(t, filepath.WalkDir(docs, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		want, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		status, body := get("git.example", "/"+strings.TrimPrefix(file, docs))
		if status != 200 || body != string(want) {
			t.Errorf("%s: status %d, %d bytes of %d", file, status, len(body), len(want))
		}
		served++
		return nil
	}))
	if served < 200 || served != got.Files {
		t.Errorf("served %d files, extracted %+v", served, got)
	}
	if status, body := get("www.git.example", "/"); status != 200 || !strings.Contains(body, "git") {
		t.Errorf("start page: status %d", status)
	}
}

func TestLifeOfAnAccountAsVisitorsSeeIt(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	ctx := t.Context()
	get := serve(t, n)
	expect := func(get func(string, string) (int, string), host string, status int, body string) {
		t.Helper()
		if s, b := get(host, "/"); s != status || body != "" && b != body {
			t.Errorf("%s: status %d, body %.40q; want %d, %q", host, s, b, status, body)
		}
	}
	expect(get, "a.example", 404, "")
	create(t, n, "1", "a.example")
	write(t, n, "1", "/public_html/index.html", "A")
	write(t, n, "1", "/shop/index.html", "SHOP")
	expect(get, "a.example", 200, "A")
	_, err := n.SetDomain(ctx, "1", panel.Domain{Name: "alias.example"})
	must(t, err)
	_, err = n.SetDomain(ctx, "1", panel.Domain{Name: "shop.example", DocumentRoot: "/shop"})
	must(t, err)
	expect(get, "alias.example", 200, "A")
	expect(get, "shop.example", 200, "SHOP")
	for _, root := range []string{"/", "/logs", "/tmp/x"} {
		if _, err := n.SetDomain(ctx, "1", panel.Domain{Name: "x.example", DocumentRoot: root}); !errors.Is(err, panel.ErrPathNotAllowed) {
			t.Errorf("root %s: %v", root, err)
		}
	}
	must(t, n.SuspendAccount(ctx, "1"))
	expect(get, "a.example", 503, "")
	expect(get, "shop.example", 503, "")
	must(t, n.Close())

	n = open(t, dir) // the machine starts again
	defer n.Close()
	get = serve(t, n)
	expect(get, "a.example", 503, "")
	must(t, n.UnsuspendAccount(ctx, "1"))
	expect(get, "a.example", 200, "A")
	must(t, n.RemoveDomain(ctx, "1", "alias.example"))
	expect(get, "alias.example", 404, "")
	must(t, n.DeleteAccount(ctx, "1"))
	expect(get, "a.example", 404, "")
	expect(get, "shop.example", 404, "")
	create(t, n, "2", "a.example")
	write(t, n, "2", "/public_html/index.html", "the next customer's")
	expect(get, "a.example", 200, "the next customer's")
}

func TestDomainsAreAnsweredAsTheyAreSet(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	get := serve(t, n)
	ctx := t.Context()
	create(t, n, "1", "a.example")
	write(t, n, "1", "/public_html/index.html", "A")
	write(t, n, "1", "/b/index.html", "B")
	set := func(d panel.Domain) {
		t.Helper()
		_, err := n.SetDomain(ctx, "1", d)
		must(t, err)
	}
	expect := func(host string, status int, body string) {
		t.Helper()
		if s, b := get(host, "/"); s != status || b != body {
			t.Errorf("%s: status %d, body %.40q; want %d, %q", host, s, b, status, body)
		}
	}
	set(panel.Domain{Name: "alias.example"})
	expect("alias.example", 200, "A")
	set(panel.Domain{Name: "alias.example", RedirectTo: "https://elsewhere.example"})
	expect("alias.example", 301, "")
	expect("a.example", 200, "A")
	set(panel.Domain{Name: "b.example", DocumentRoot: "/b", Primary: true})
	expect("b.example", 200, "B")
	expect("a.example", 200, "A")
	must(t, n.Close())

	n = open(t, dir)
	defer n.Close()
	get = serve(t, n)
	expect("alias.example", 301, "")
	set(panel.Domain{Name: "alias.example", DocumentRoot: "/b"})
	expect("alias.example", 200, "B")
	must(t, n.RemoveDomain(ctx, "1", "a.example"))
	if status, _ := get("a.example", "/"); status != 404 {
		t.Errorf("removed domain: status %d", status)
	}
	expect("b.example", 200, "B")
}

func TestNobodyTakesThePreviewOfAnotherOrANameOfTheMachine(t *testing.T) {
	n := open(t, t.TempDir())
	create(t, n, "1", "one.example")
	create(t, n, "2", "two.preview.example")
	n.cfg.PreviewDomain, n.cfg.Names = "Preview.example", []string{"MX1.example"}
	for _, name := range []string{"one.preview.example", "preview.example", "www.one.preview.example", "mx1.example", "www.mx1.example"} {
		if _, err := n.SetDomain(t.Context(), "1", panel.Domain{Name: name}); !errors.Is(err, panel.ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := n.CreateAccount(t.Context(), panel.AccountSpec{Ref: "3", PrimaryDomain: name}); !errors.Is(err, panel.ErrExists) {
			t.Errorf("account of %s: %v", name, err)
		}
	}
	// Who has such a name keeps it, and a name that only ends alike is another.
	for ref, name := range map[string]string{"1": "apreview.example", "2": "two.preview.example"} {
		if _, err := n.SetDomain(t.Context(), ref, panel.Domain{Name: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := n.CreateAccount(t.Context(), panel.AccountSpec{Ref: "2", PrimaryDomain: "two.preview.example"}); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestADomainWithoutMailStaysSo: from the account's first moment, when the machine starts again, and until it is set otherwise.
func TestADomainWithoutMailStaysSo(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	_, err := n.CreateAccount(t.Context(), panel.AccountSpec{Ref: "1", PrimaryDomain: "a.example", NoMail: true})
	must(t, err)
	must(t, n.Close())
	n = open(t, dir)
	defer n.Close()
	for _, noMail := range []bool{true, false} {
		all, err := n.Domains(t.Context(), "1")
		must(t, err)
		if len(all) != 1 || all[0].NoMail != noMail {
			t.Errorf("%+v, want %v", all, noMail)
		}
		_, err = n.SetDomain(t.Context(), "1", panel.Domain{Name: "a.example", DocumentRoot: "/public_html"})
		must(t, err)
	}
}

func TestHTTPSIsForcedWhereItIsServed(t *testing.T) {
	n, err := New(t.Context(), Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Now: time.Now, HTTPS: true})
	must(t, err)
	defer n.Close()
	create(t, n, "1", "a.example")
	d, err := n.SetDomain(t.Context(), "1", panel.Domain{Name: "a.example", ForceHTTPS: true})
	must(t, err)
	if !d.ForceHTTPS || d.TLS != panel.TLSActive {
		t.Errorf("set to %+v", d)
	}
	if status, _ := serve(t, n)("a.example", "/"); status != 301 {
		t.Errorf("by plain HTTP: status %d", status)
	}
}

func TestManyCallersAtOnce(t *testing.T) {
	n := open(t, t.TempDir())
	defer n.Close()
	get := serve(t, n)
	ctx := t.Context()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ref, domain := fmt.Sprint(i), fmt.Sprintf("s%d.example", i)
			for round := range 4 {
				create(t, n, ref, domain)
				want := fmt.Sprint(i, round)
				write(t, n, ref, "/public_html/index.html", want)
				if status, body := get(domain, "/"); status != 200 || body != want {
					t.Errorf("%s: %d %q, want %q", domain, status, body, want)
				}
				_, err := n.SetDomain(ctx, ref, panel.Domain{Name: "x" + domain})
				must(t, err)
				must(t, n.DeleteAccount(ctx, ref))
				if status, _ := get("x"+domain, "/"); status != 404 {
					t.Errorf("x%s is still served: %d", domain, status)
				}
			}
		})
	}
	wg.Wait()
}

// From the call that makes an account to the first byte of its site.
func BenchmarkCreateAndServe(b *testing.B) {
	n := open(b, b.TempDir())
	defer n.Close()
	get := serve(b, n)
	i := 0
	for b.Loop() {
		i++
		ref, domain := fmt.Sprint(i), fmt.Sprintf("s%d.example", i)
		create(b, n, ref, domain)
		write(b, n, ref, "/public_html/index.html", "x")
		if status, _ := get(domain, "/"); status != 200 {
			b.Fatal(status)
		}
	}
}
