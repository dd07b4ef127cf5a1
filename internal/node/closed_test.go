package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// answers waits for an address to answer with a status.
func answers(t *testing.T, get func(host, path string) (int, string), path string, want int) {
	t.Helper()
	testkit.Eventually(t, 5*time.Second, func() bool {
		got, _ := get("closed.example", path)
		return got == want
	}, fmt.Sprintf("%s is %d", path, want))
}

func TestDirectoriesAreClosedAsHtaccessSays(t *testing.T) {
	dir := t.TempDir()
	n := open(t, dir)
	create(t, n, "1", "closed.example")
	get := serve(t, n)
	for _, path := range []string{"private/secret.txt", "private/deep/secret.txt", "private/open/page.html", "old/secret.txt", "privateer.html", "index.html"} {
		write(t, n, "1", "/public_html/"+path, "CONTENT")
	}
	answers(t, get, "/private/secret.txt", 200)

	write(t, n, "1", "/public_html/private/.htaccess", "Require all denied\n")
	write(t, n, "1", "/public_html/private/open/.htaccess", "Require all granted\n")
	write(t, n, "1", "/public_html/old/.htaccess", "order deny,allow\ndeny from all\n")
	for path, want := range map[string]int{
		"/private/secret.txt": 403, "/private/deep/secret.txt": 403, "/private/none.txt": 403, "/private/": 403, "/private": 403,
		"/%70rivate/secret.txt": 403, "//private/secret.txt": 403,
		"/old/secret.txt": 403, "/private/open/page.html": 200, "/privateer.html": 200, "/": 200,
	} {
		answers(t, get, path, want)
	}

	// It is closed at once when the machine starts again, and whoever moves, unpacks or deploys it. What was opened
	// meanwhile is open.
	rec, err := n.accounts.Get("1")
	must(t, err)
	home := n.accounts.Home(rec)
	must(t, n.Close())
	must(t, os.Remove(filepath.Join(home, "public_html", "old", ".htaccess")))
	n = open(t, dir)
	defer n.Close()
	get = serve(t, n)
	if status, _ := get("closed.example", "/private/secret.txt"); status != 403 {
		t.Errorf("after a restart %d", status)
	}
	_, err = n.Files.Occupied(t.Context(), "1")
	must(t, err)
	answers(t, get, "/old/secret.txt", 200)
	_, err = n.Files.Move(t.Context(), "1", "/public_html/private", "/public_html/moved", false)
	must(t, err)
	answers(t, get, "/moved/secret.txt", 403)
	_, err = n.Files.CreateArchive(t.Context(), "1", []string{"/public_html/moved"}, "/moved.zip")
	must(t, err)
	_, err = n.Files.Extract(t.Context(), "1", "/moved.zip", "/public_html/unpacked", false)
	must(t, err)
	answers(t, get, "/unpacked/moved/secret.txt", 403)
	answers(t, get, "/unpacked/moved/open/page.html", 200)
	must(t, n.Files.Remove(t.Context(), "1", "/public_html/moved/.htaccess", false))
	answers(t, get, "/moved/secret.txt", 200)

	// What others than this process write is found by the walk that measures the account.
	must(t, os.WriteFile(filepath.Join(home, "public_html", ".htaccess"), []byte("Deny from all"), 0o644))
	must(t, n.Files.Measure(t.Context(), "1"))
	answers(t, get, "/index.html", 403)
	must(t, os.Remove(filepath.Join(home, "public_html", ".htaccess")))
	must(t, n.Files.Measure(t.Context(), "1"))
	answers(t, get, "/index.html", 200)
}

// Apache reads the files of all directories on the way to a document root.
func TestADocumentRootInAClosedDirectoryIsClosed(t *testing.T) {
	n := open(t, t.TempDir())
	defer n.Close()
	create(t, n, "1", "closed.example")
	get := serve(t, n)
	_, err := n.SetDomain(t.Context(), "1", panel.Domain{Name: "shop.example", DocumentRoot: "/public_html/shop"})
	must(t, err)
	write(t, n, "1", "/public_html/shop/index.html", "SHOP")
	write(t, n, "1", "/public_html/.htaccess", "Require all denied")
	answers(t, get, "/shop/index.html", 403)
	if status, _ := get("shop.example", "/index.html"); status != 403 {
		t.Errorf("below a closed one %d", status)
	}
	write(t, n, "1", "/public_html/shop/.htaccess", "Require all granted")
	answers(t, get, "/shop/index.html", 200)
	if status, _ := get("shop.example", "/index.html"); status != 200 {
		t.Errorf("opened again %d", status)
	}
}

// Links that lead elsewhere are not read, in place of the file or of a directory.
func TestLinksCloseNothingOfOthers(t *testing.T) {
	n := open(t, t.TempDir())
	defer n.Close()
	create(t, n, "1", "closed.example")
	get := serve(t, n)
	write(t, n, "1", "/public_html/a/page.html", "A")
	rec, err := n.accounts.Get("1")
	must(t, err)
	home := n.accounts.Home(rec)
	outside := filepath.Join(t.TempDir(), "x")
	must(t, os.WriteFile(outside, []byte("Require all denied"), 0o644))
	must(t, os.Symlink(outside, filepath.Join(home, "public_html", "a", ".htaccess")))
	must(t, os.Symlink(home, filepath.Join(home, "public_html", "a", "loop")))
	looked, err := n.Files.Closed(t.Context(), "1", []string{"/public_html"})
	if err != nil || !looked.Complete || len(looked.Closed) > 0 || len(looked.Ignored.Files) > 0 {
		t.Errorf("found %+v: %v", looked, err)
	}
	answers(t, get, "/a/page.html", 200)
}

// faultyWeb is a web server that refuses sites at will.
type faultyWeb struct {
	*web.GoServer
	fails atomic.Bool
}

func (f *faultyWeb) Apply(ctx context.Context, account string, sites []web.Site) error {
	if f.fails.Load() {
		return errors.New("the web server refuses its configuration")
	}
	return f.GoServer.Apply(ctx, account, sites)
}

// A directory that was closed while the web server could not be changed is closed soon, not by the next reconciliation.
func TestWhatCouldNotBeClosedIsClosedSoon(t *testing.T) {
	dir := t.TempDir()
	server := &faultyWeb{GoServer: web.NewGoServer(time.Now, slog.New(slog.DiscardHandler))}
	n, err := New(t.Context(), Config{Dir: dir, Web: server, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	must(t, err)
	defer n.Close()
	create(t, n, "1", "closed.example")
	get := serve(t, n)
	testkit.Eventually(t, 5*time.Second, func() bool { return n.closures.ignoredOf("1") != nil }, "the account was looked at")
	rec, err := n.accounts.Get("1")
	must(t, err)
	private := filepath.Join(n.accounts.Home(rec), "public_html", "private")
	must(t, os.Mkdir(private, 0o755))
	must(t, os.WriteFile(filepath.Join(private, "secret.txt"), []byte("SECRET"), 0o644))
	must(t, os.WriteFile(filepath.Join(private, ".htaccess"), []byte("Require all denied"), 0o644))
	server.fails.Store(true)
	if err := n.lookAt(t.Context(), "1"); err == nil {
		t.Fatal("nothing was refused")
	}
	if status, _ := get("closed.example", "/private/secret.txt"); status != 200 {
		t.Fatalf("it is %d already", status)
	}
	server.fails.Store(false)
	answers(t, get, "/private/secret.txt", 403)
}

// An account that changes all the time puts off nobody else's look.
func TestAnAccountThatAlwaysChangesHoldsUpNoOther(t *testing.T) {
	n := open(t, t.TempDir())
	defer n.Close()
	create(t, n, "1", "closed.example")
	create(t, n, "2", "busy.example")
	get := serve(t, n)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		for ctx.Err() == nil {
			n.closures.ask("2")
			runtime.Gosched()
		}
	}()
	write(t, n, "1", "/public_html/private/secret.txt", "SECRET")
	write(t, n, "1", "/public_html/private/.htaccess", "Require all denied")
	answers(t, get, "/private/secret.txt", 403)
	stop()
	<-busy
}

// Looks that are cut short again and again do not lengthen the web server's configuration without end.
func TestDirectoriesOfIncompleteLooksAreBounded(t *testing.T) {
	var former []files.Closed
	for round := range 10 {
		var found []files.Closed
		for i := range files.MostClosed {
			found = append(found, files.Closed{Dir: files.Dir(fmt.Sprintf("public_html/%d/%d", round, i)), Denied: true})
		}
		former = withFormer(found, former)
	}
	if len(former) != mostClosed {
		t.Errorf("%d directories are kept, not %d", len(former), mostClosed)
	}
	first := []files.Closed{{Dir: "public_html/a", Denied: true}, {Dir: "public_html/b"}}
	if got := withFormer(nil, first); len(got) != 1 || got[0].Dir != "public_html/a" {
		t.Errorf("of a closed and an opened one are kept %v", got)
	}
}
