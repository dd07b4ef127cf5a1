package controlbackup

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// fakeS3 is as much of S3 as is used, in memory.
type fakeS3 struct {
	mu      sync.Mutex
	objects map[string][]byte
	full    atomic.Bool
}

type listedObject struct {
	Key  string
	Size int
}

type listing struct {
	XMLName     xml.Name `xml:"ListBucketResult"`
	IsTruncated bool
	Contents    []listedObject
}

// ServeHTTP implements http.Handler.
func (b *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !strings.Contains(r.Header.Get("Authorization"), "Credential=test/") {
		refuse(w, http.StatusForbidden, "AccessDenied", "Access Denied.")
		return
	}
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/")
	content, has := b.objects[key]
	switch {
	case r.URL.Query().Has("list-type"):
		var l listing
		for k, v := range b.objects {
			if strings.HasPrefix(k, r.URL.Query().Get("prefix")) {
				l.Contents = append(l.Contents, listedObject{k, len(v)})
			}
		}
		_ = xml.NewEncoder(w).Encode(l)
	case r.Method == http.MethodPut && b.full.Load():
		refuse(w, http.StatusInsufficientStorage, "XMinioStorageFull", "The store has no room.")
	case r.Method == http.MethodPut:
		body, err := unchunk(r)
		if err != nil {
			refuse(w, http.StatusBadRequest, "IncompleteBody", err.Error())
			return
		}
		b.objects[key] = body
		sum := md5.Sum(body)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
	case r.Method == http.MethodDelete:
		delete(b.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case !has:
		refuse(w, http.StatusNotFound, "NoSuchKey", "The key does not exist.")
	default:
		sum := md5.Sum(content)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
		w.Header().Set("Last-Modified", "Thu, 26 Nov 2026 10:00:00 GMT")
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
		}
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<Error><Code>%s</Code><Message>%s</Message></Error>`, code, message)
}

// unchunk reads a body, which is signed in chunks where the connection is not encrypted.
func unchunk(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	in, out := bufio.NewReader(r.Body), bytes.Buffer{}
	for {
		head, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, err := strconv.ParseInt(strings.SplitN(strings.TrimSpace(head), ";", 2)[0], 16, 64)
		if err != nil || size == 0 {
			return out.Bytes(), err
		}
		if _, err := io.CopyN(&out, in, size); err != nil {
			return nil, err
		}
		if _, err := in.Discard(2); err != nil {
			return nil, err
		}
	}
}
