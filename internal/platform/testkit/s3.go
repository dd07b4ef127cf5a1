package testkit

import (
	"bufio"
	"bytes"
	"crypto/md5" //nolint:gosec // S3 names what was sent by it
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
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
)

// S3Credentials is the AWS credentials file with the keys of every S3 bucket of a test.
const S3Credentials = "[default]\naws_access_key_id = test-access-key\naws_secret_access_key = test-secret-key\n" //nolint:gosec // of a bucket that lives as long as a test

// S3 is a bucket in memory, served over HTTP: the part of S3 that restic and minio-go use. It refuses every request that
// does not name the access key of S3Credentials; the signature itself is not checked.
type S3 struct {
	URL string // of the bucket

	mu         sync.Mutex
	objects    map[string][]byte
	down, full bool
}

// NewS3 serves an empty bucket on the loopback until the test ends.
func NewS3(t testing.TB) *S3 {
	t.Helper()
	b := &S3{objects: map[string][]byte{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.URL = server.URL + "/bucket"
	return b
}

// S3CredentialsFile writes S3Credentials to a file that only its owner can read.
func S3CredentialsFile(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s3-credentials")
	if err := os.WriteFile(path, []byte(S3Credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Objects returns a copy of what the bucket holds, by name.
func (b *S3) Objects() map[string][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := maps.Clone(b.objects)
	for name, content := range all {
		all[name] = bytes.Clone(content)
	}
	return all
}

// Put stores an object, as somebody who writes to the bucket beside the program.
func (b *S3) Put(name string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[name] = content
}

// SetDown makes the bucket refuse every request, or answer again.
func (b *S3) SetDown(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

// SetFull makes the bucket refuse new objects for lack of room, or take them again.
func (b *S3) SetFull(full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full = full
}

// ServeHTTP implements http.Handler.
func (b *S3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down || !strings.Contains(r.Header.Get("Authorization"), "Credential=test-access-key/") {
		refuseS3(w, http.StatusForbidden, "AccessDenied", "Access Denied.")
		return
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/")
	switch {
	case r.URL.Query().Has("location"):
		_, _ = io.WriteString(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case name == "" && r.Method == http.MethodGet:
		b.list(w, r)
	case name == "": // the bucket is there
	case r.Method == http.MethodPut && b.full:
		refuseS3(w, http.StatusInsufficientStorage, "XMinioStorageFull", "The store has no room.")
	case r.Method == http.MethodPut:
		content, err := s3Body(r)
		if err != nil {
			refuseS3(w, http.StatusBadRequest, "IncompleteBody", err.Error())
			return
		}
		b.objects[name] = content
		w.Header().Set("ETag", etag(content))
	case r.Method == http.MethodDelete:
		delete(b.objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		content, ok := b.objects[name]
		if !ok {
			refuseS3(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
			return
		}
		w.Header().Set("ETag", etag(content))
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(content))
	}
}

type s3Listing struct {
	XMLName     xml.Name `xml:"ListBucketResult"`
	Name        string
	Prefix      string
	KeyCount    int
	IsTruncated bool
	Contents    []s3Object
	Common      []string `xml:"CommonPrefixes>Prefix"`
}

type s3Object struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
}

func (b *S3) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	found := s3Listing{Name: "bucket", Prefix: q.Get("prefix")}
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
		found.Contents = append(found.Contents, s3Object{name, "2026-01-01T00:00:00.000Z", etag(content), len(content)})
	}
	found.KeyCount = len(found.Contents)
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(found)
}

// s3Body reads what is sent, also in the signed chunks of connections without encryption.
func s3Body(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	in, content := bufio.NewReader(r.Body), bytes.Buffer{}
	for {
		head, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(head), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if err != nil || n == 0 {
			return content.Bytes(), err
		}
		if _, err := io.CopyN(&content, in, n); err != nil {
			return nil, err
		}
		if _, err := in.Discard(len("\r\n")); err != nil {
			return nil, err
		}
	}
}

func refuseS3(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<Error><Code>%s</Code><Message>%s</Message></Error>`, code, message)
}

func etag(content []byte) string {
	sum := md5.Sum(content) //nolint:gosec // as above
	return `"` + hex.EncodeToString(sum[:]) + `"`
}
