package backups

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// bucket is as much of S3 as restic asks for, in memory.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	down    bool
	signed  bool // every request came with the access key of the test
}

type listing struct {
	XMLName     xml.Name `xml:"ListBucketResult"`
	Name        string
	Prefix      string
	KeyCount    int
	IsTruncated bool
	Contents    []listed
	Common      []string `xml:"CommonPrefixes>Prefix"`
}

type listed struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>`)
		return
	}
	b.signed = b.signed && strings.Contains(r.Header.Get("Authorization"), "Credential=test-access-key/")
	name := strings.TrimPrefix(r.URL.Path, "/bucket")
	name = strings.TrimPrefix(name, "/")
	switch {
	case r.URL.Query().Has("location"):
		_, _ = io.WriteString(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case name == "" && r.Method == http.MethodGet:
		b.list(w, r)
	case name == "": // the bucket is there
	case r.Method == http.MethodPut:
		content, err := body(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.objects[name] = content
		w.Header().Set("ETag", `"1"`)
	case r.Method == http.MethodDelete:
		delete(b.objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		content, ok := b.objects[name]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>`)
			}
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(content))
	}
}

func (b *bucket) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	found := listing{Name: "bucket", Prefix: q.Get("prefix")}
	for name, content := range b.objects {
		rest, ok := strings.CutPrefix(name, found.Prefix)
		if !ok {
			continue
		}
		if dir, _, below := strings.Cut(rest, "/"); below && q.Get("delimiter") == "/" {
			if p := found.Prefix + dir + "/"; !slices.Contains(found.Common, p) {
				found.Common = append(found.Common, p)
			}
			continue
		}
		found.Contents = append(found.Contents, listed{name, "2026-01-01T00:00:00.000Z", `"1"`, len(content)})
	}
	found.KeyCount = len(found.Contents)
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(found)
}

// body reads what is sent, also in the signed chunks of AWS.
func body(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	var content []byte
	for in := bufio.NewReader(r.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if err != nil || n == 0 {
			return content, err
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		content = append(content, chunk[:n]...)
	}
}

// newBucket serves a bucket. settings are those of a machine that keeps its backups there, and its own things beside own.
func newBucket(t *testing.T) (_ *bucket, settings func(own string) (ResticConfig, error)) {
	t.Helper()
	b := &bucket{objects: map[string][]byte{}, signed: true}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, func(own string) (ResticConfig, error) {
		c := ResticConfig{Repository: "s3:" + server.URL + "/bucket/node1", CredentialsFile: own + ".s3", KeyFile: own + ".key", Dir: own + ".own"}
		const keys = "[default]\naws_access_key_id = test-access-key\naws_secret_access_key = test-secret-key\n"
		return c, os.WriteFile(c.CredentialsFile, []byte(keys), 0o600)
	}
}

func TestBackupsAreKeptInS3(t *testing.T) {
	s3, settings := newBucket(t)
	w := newWorld(t, func(dir string) (Store, error) {
		c, err := settings(dir)
		if err == nil {
			err = os.Chmod(c.CredentialsFile, 0o644)
		}
		if err != nil {
			return nil, err
		}
		if _, err := NewRestic(c); err == nil {
			return nil, fmt.Errorf("keys that everybody can read were taken")
		}
		if err := os.Chmod(c.CredentialsFile, 0o600); err != nil {
			return nil, err
		}
		return NewRestic(c)
	})
	w.fill("1")
	before := w.tree("1")
	w.backUp("1", "b1", panel.PartFiles, panel.PartDNS)
	if len(s3.objects) == 0 || !s3.signed {
		t.Errorf("%d objects, signed %t", len(s3.objects), s3.signed)
	}
	for name, content := range s3.objects {
		if !strings.HasPrefix(name, "node1/1/") || bytes.Contains(content, []byte("php echo")) {
			t.Errorf("object %s is elsewhere, or readable", name)
		}
	}
	list, err := w.ListBackups(t.Context(), "1")
	w.must(err)
	w.same("storage", "s3", list[0].Storage)
	w.must(os.RemoveAll(filepath.Join(w.homes["1"].Home, "public_html")))
	r := w.bringBack("1", panel.RestoreRequest{ID: "r1", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("status", panel.TaskCompleted, r.Status)
	w.same("files", before, w.tree("1"))

	// Out of reach is not damaged.
	s3.mu.Lock()
	s3.down = true
	s3.mu.Unlock()
	r = w.bringBack("1", panel.RestoreRequest{ID: "r2", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("out of reach", panel.ErrUnreachable, r.Failure)
	s3.mu.Lock()
	s3.down = false
	for name := range s3.objects {
		if strings.Contains(name, "/data/") {
			s3.objects[name][len(s3.objects[name])/2] ^= 1
		}
	}
	s3.mu.Unlock()
	w.must(os.RemoveAll(filepath.Join(w.dir, "store.own", "cache")))
	r = w.bringBack("1", panel.RestoreRequest{ID: "r3", Backup: "b1", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("damaged", panel.ErrInvalid, r.Failure)
	w.same("files", before, w.tree("1"))

	// The next backup is whole, in a repository of its own.
	w.backUp("1", "b2", panel.PartFiles)
	r = w.bringBack("1", panel.RestoreRequest{ID: "r4", Backup: "b2", Parts: []panel.BackupPart{panel.PartFiles}})
	w.same("status", panel.TaskCompleted, r.Status)
	w.same("conditions", map[string]panel.Condition{"b1": panel.Damaged, "b2": ""}, w.conditions())
	w.must(w.DeleteBackup(t.Context(), "1", "b2"))
	w.must(w.DeleteBackup(t.Context(), "1", "b1"))
	for name := range s3.objects {
		if strings.Contains(name, "/snapshots/") && !strings.HasPrefix(name, "node1/1/") {
			t.Errorf("%s is left", name)
		}
	}
}
