package e2e

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// wordpressSource is Debian's folder of WordPress.
const wordpressSource = "/usr/share/wordpress"

// Installs the most common application on an account with real daemons, by the API and SFTP alone: a shop that follows
// the documentation has no other way.
func TestWordPressIsInstalledAndServedByHTTPS(t *testing.T) {
	t.Parallel()
	const domain = "annas-blog.example.com"
	h := newHost(t)
	p := h.serve(t, "--demo")
	c := p.signIn(t)
	service := h.buy(t, c, domain)
	at := func(rest string) string { return fmt.Sprintf("/api/v1/services/%d%s", service, rest) }

	// A database, and its password from the page that shows it once.
	var database struct {
		ID   int64
		Name string
	}
	c.must("POST", at("/databases"), `{"name": "blog", "engine": "mariadb"}`, &database)
	var databases struct {
		Data []struct {
			Status string
			Host   *string
			Port   *int
			Users  []struct{ Name string }
		}
	}
	testkit.Eventually(t, time.Minute, func() bool {
		c.must("GET", at("/databases"), "", &databases)
		return len(databases.Data) == 1 && databases.Data[0].Status == "active" && len(databases.Data[0].Users) == 1
	}, "the database is there")
	db := databases.Data[0]
	password := p.reveal(t, service)

	// The application by SFTP, unpacked and configured through the interface.
	c.writeBySFTP(service, "/wordpress.tar.gz", wordpressArchive)
	var unpacked struct{ Extracted struct{ Files int } }
	c.must("POST", at("/files/archive"), `{"operation": "extract", "paths": ["/wordpress.tar.gz"], "target": "/public_html", "overwrite": true}`, &unpacked)
	if unpacked.Extracted.Files < 1000 {
		t.Fatalf("unpacked %d files", unpacked.Extracted.Files)
	}
	config := fmt.Sprintf(`<?php
define('DB_NAME', '%s');
define('DB_USER', '%s');
define('DB_PASSWORD', '%s');
define('DB_HOST', '%s:%d');
define('DB_CHARSET', 'utf8mb4');
define('DISABLE_WP_CRON', true);
define('FORCE_SSL_ADMIN', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) { define('ABSPATH', __DIR__ . '/'); }
require_once ABSPATH . 'wp-settings.php';
`, database.Name, db.Users[0].Name, password, *db.Host, *db.Port)
	put, err := json.Marshal(map[string]string{"path": "/public_html/wp-config.php", "content": config})
	if err != nil {
		t.Fatal(err)
	}
	c.must("PUT", at("/files/content"), string(put), &struct{}{})

	// A certificate from a real authority, and HTTPS only.
	c.certify(service, domain)
	var domains struct {
		Data []struct {
			ID   int64
			Name string
		}
	}
	c.must("GET", at("/domains"), "", &domains)
	c.must("PATCH", at(fmt.Sprintf("/domains/%d", domains.Data[0].ID)), `{"force_https": true}`, &struct{}{})

	site := h.visitor(t, domain)
	site.eventually("http://"+domain+"/", func(r page) bool {
		return r.status == http.StatusMovedPermanently && strings.HasPrefix(r.location, "https://"+domain)
	}, "visitors are sent to HTTPS")

	// Installing, and writing: a page with a picture.
	site.post("/wp-admin/install.php?step=2", url.Values{
		"weblog_title": {"A blog of Stead"}, "user_name": {"anna"}, "admin_password": {"correct horse battery"}, "pass1-text": {"correct horse battery"},
		"admin_password2": {"correct horse battery"}, "pw_weak": {"on"}, "admin_email": {"anna@annas-blog.example.com"}, "blog_public": {"0"}, "language": {""},
	}, "Success!")
	site.shows("https://"+domain+"/", "A blog of Stead", "Hello world!")

	picture := base64.StdEncoding.EncodeToString(pixel)
	uploaded := site.rpc("wp.uploadFile", `<struct><member><name>name</name><value>dot.png</value></member>`+
		`<member><name>type</name><value>image/png</value></member><member><name>bits</name><value><base64>`+picture+`</base64></value></member></struct>`)
	address := regexp.MustCompile(`<name>url</name><value><string>([^<]+)<`).FindStringSubmatch(uploaded)
	if address == nil {
		t.Fatalf("the upload answers %s", uploaded)
	}
	if got := site.get(html.UnescapeString(address[1])); got.status != http.StatusOK || got.body != string(pixel) {
		t.Errorf("the picture: status %d, %d bytes", got.status, len(got.body))
	}
	site.rpc("wp.newPost", post("Written today", "publish", time.Now().Add(-time.Hour)))
	site.shows("https://"+domain+"/", "Written today")
	// WordPress publishes at once what is due within a minute.
	site.rpc("wp.newPost", post("Written for tomorrow", "future", time.Now().Add(62*time.Second)))
	if strings.Contains(site.get("https://"+domain+"/").body, "Written for tomorrow") {
		t.Error("what is for later shows now")
	}

	// A cron job of the account does what is due.
	var job struct{ ID int64 }
	c.must("POST", at("/cron"), `{"expression": "* * * * *", "command": "cd public_html && php wp-cron.php", "timezone": "UTC"}`, &job)
	site.eventually("https://"+domain+"/", func(r page) bool { return strings.Contains(r.body, "Written for tomorrow") }, "cron published what was due")
	var jobs struct {
		Data []struct {
			LastExitCode *int `json:"last_exit_code"`
		}
	}
	testkit.Eventually(t, 2*time.Minute, func() bool {
		c.must("GET", at("/cron"), "", &jobs)
		return len(jobs.Data) == 1 && jobs.Data[0].LastExitCode != nil && *jobs.Data[0].LastExitCode == 0
	}, "the cron job's run is shown")

	// The logs have it, with the account's user.
	var lines struct{ Data []struct{ Path string } }
	c.must("GET", at("/logs?type=access&q=install.php"), "", &lines)
	if len(lines.Data) == 0 {
		t.Error("the log has no visit of install.php")
	}
	if owner := h.ownerOf(t, "wp-content/uploads"); owner == 0 {
		t.Error("uploads are root's")
	}
}

// wordpressArchive packs Debian's WordPress like its makers: links become their targets, and Debian's own configuration
// is omitted.
func wordpressArchive(w io.Writer) error {
	zipped := gzip.NewWriter(w)
	packed := tar.NewWriter(zipped)
	var add func(dir, name string) error
	add = func(dir, name string) error {
		entries, err := os.ReadDir(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(name, e.Name())
			info, err := os.Stat(filepath.Join(dir, path))
			if err != nil || path == "wp-config.php" {
				continue // a link into a package that is not installed
			}
			if info.IsDir() {
				if err := add(dir, path); err != nil {
					return err
				}
				continue
			}
			if !info.Mode().IsRegular() {
				continue
			}
			if err := addFile(packed, filepath.Join(dir, path), path, info); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(wordpressSource, "."); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return zipped.Close()
}

func addFile(packed *tar.Writer, from, name string, info fs.FileInfo) error {
	if err := packed.WriteHeader(&tar.Header{Name: name, Size: info.Size(), Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(packed, f)
	return err
}

// rpc calls WordPress like its own applications.
func (v *guest) rpc(method, argument string) string {
	v.t.Helper()
	got := v.request(http.MethodPost, "https://"+v.domain+"/xmlrpc.php", "text/xml", `<?xml version="1.0"?><methodCall><methodName>`+method+
		`</methodName><params><param><value><int>1</int></value></param><param><value>anna</value></param>`+
		`<param><value>correct horse battery</value></param><param><value>`+argument+`</value></param></params></methodCall>`)
	if got.status != http.StatusOK || strings.Contains(got.body, "<fault>") {
		v.t.Fatalf("%s: status %d: %.2000s", method, got.status, got.body)
	}
	return got.body
}

func post(title, status string, at time.Time) string {
	return `<struct><member><name>post_title</name><value>` + title + `</value></member><member><name>post_status</name><value>` + status +
		`</value></member><member><name>post_content</name><value>Text</value></member><member><name>post_date_gmt</name><value><dateTime.iso8601>` +
		at.UTC().Format("20060102T15:04:05") + `</dateTime.iso8601></value></member></struct>`
}

// pixel is an image of one white point.
var pixel = must(base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg=="))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
