package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"

	"stead.dev/stead/internal/platform/contentcoding"
)

// Answers to reads of lists and of the catalogue have an ETag, so that a client that polls gets 304 until something has
// changed, and are compressed for clients that accept it. They hold no secrets. All other answers are not to be stored.

// compressFrom is the size in bytes from which compressing an answer saves packets.
const compressFrom = 1400

// revalidated tells whether the answers of an operation have an ETag. A stream whose answer is a list writes it by WriteList.
func (d *declared) revalidated() bool {
	if d.Method != http.MethodGet {
		return false
	}
	_, list := d.out.FieldByName("Data")
	return list || d.Section == Catalog && d.stream == nil
}

// WriteList writes a list as the JSON answer of a stream that has other answers too.
func WriteList(w http.ResponseWriter, r *http.Request, list any) error {
	body, err := marshal(list)
	if err == nil {
		writeRevalidated(w, r, body)
	}
	return err
}

var compressors = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one
	}
	return z
}}

// writeRevalidated writes an answer that the client may keep, as long as it asks each time whether it still holds.
func writeRevalidated(w http.ResponseWriter, r *http.Request, body []byte) {
	sum := sha256.Sum256(body)
	etag := `W/"` + hex.EncodeToString(sum[:12]) + `"` // weak: it names the compressed form too
	h := w.Header()
	h.Set("ETag", etag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, Accept-Language, Authorization, X-Api-Key")
	if matches(r.Header.Values("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	if len(body) >= compressFrom && contentcoding.AcceptsGzip(r.Header.Values("Accept-Encoding")) {
		var packed bytes.Buffer
		z := compressors.Get().(*gzip.Writer)
		z.Reset(&packed)
		_, err := z.Write(body)
		if closed := z.Close(); err == nil && closed == nil { // a buffer takes everything
			h.Set("Content-Encoding", "gzip")
			body = packed.Bytes()
		}
		compressors.Put(z)
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // an error means only that the client has disconnected
}

// matches compares weakly (RFC 9110, section 13.1.2).
func matches(headers []string, etag string) bool {
	for _, h := range headers {
		for one := range strings.SplitSeq(h, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(etag, "W/") {
				return true
			}
		}
	}
	return false
}
