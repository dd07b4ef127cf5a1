package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/deploy"
)

// TestDeployingASiteAgainSendsWhatChanged deploys the manual of Git, hundreds of files, and a picture: 14 MB in all.
func TestDeployingASiteAgainSendsWhatChanged(t *testing.T) {
	t.Parallel()
	p := newInstallation(t).serve(t, "--demo")
	customer := p.signIn(t)
	c := customer.sdk()
	ctx := t.Context()
	order, _ := customer.order(customer.plan(), "manual.example.com")
	if _, err := c.Orders.Pay(ctx, order); err != nil {
		t.Fatal(err)
	}
	var service int64
	testkit.Eventually(t, heard, func() bool {
		for s, err := range c.Services.All(ctx, stead.ServicesQuery{Q: "manual.example.com", Status: stead.ServiceStatusActive}) {
			if err != nil {
				t.Fatal(err)
			}
			service = s.ID
		}
		return service != 0
	}, "the service is active")

	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("/usr/share/doc/git/html")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "picture.png"), bytes.Repeat([]byte("a picture "), 1<<20/10), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := deploy.Folder(ctx, c, service, folder, deploy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Files < 200 || first.Bytes < 14_000_000 || first.Release.Added+first.Release.Changed != int64(first.Files) {
		t.Errorf("first: %d files, %d bytes, release %+v", first.Files, first.Bytes, first.Release)
	}

	page := filepath.Join(folder, "git.html")
	if err := os.WriteFile(page, []byte("<h1>Git</h1>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "picture.png")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	second, err := deploy.Folder(ctx, c, service, folder, deploy.Options{Delete: true})
	took := time.Since(began)
	if err != nil || second.Sent != 12 || second.Release.Changed != 1 || second.Release.Removed != 1 {
		t.Fatalf("second: %+v, %v", second, err)
	}
	t.Logf("%d files, %d bytes; the second deployment sent %d bytes in %s", first.Files, first.Bytes, second.Sent, took)
	if took > 2*time.Second {
		t.Errorf("the second deployment took %s", took)
	}

	get := func(path string) (int, string) {
		t.Helper()
		status, body, err := customer.call(http.MethodGet, fmt.Sprintf("/api/v1/services/%d/files/content?path=/public_html/%s", service, path), "", "")
		if err != nil {
			t.Fatal(err)
		}
		return status, string(body)
	}
	if _, body := get("git.html"); !strings.Contains(body, "<h1>Git</h1>") {
		t.Errorf("git.html is %.200s", body)
	}
	if status, _ := get("picture.png"); status != http.StatusNotFound {
		t.Errorf("picture.png: %d", status)
	}
	back, err := c.Deploys.Rollback(ctx, service, stead.FilesRollbackBody{})
	if err != nil || back.Restores == nil || *back.Restores != first.Release.ID || back.Changed != 1 || back.Added != 1 {
		t.Fatalf("back: %+v, %v", back, err)
	}
	if _, body := get("git.html"); strings.Contains(body, "<h1>Git</h1>") {
		t.Error("git.html was not brought back")
	}
}
