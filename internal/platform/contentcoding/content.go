package contentcoding

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"
)

// Content is a body that does not change, as it is and as gzip.
type Content struct {
	plain, packed []byte
	tag           string // of plain: a hash of it
}

// NewContent packs a body.
func NewContent(plain []byte) Content {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	_, _ = z.Write(plain)                                      // a buffer takes all
	_ = z.Close()
	sum := sha256.Sum256(plain)
	return Content{plain, packed.Bytes(), hex.EncodeToString(sum[:12])}
}

// Serve answers with the body in a coding that the client takes, with its ETag: each coding has one of its own (RFC 9110,
// section 8.8.3). The caller has set Content-Type and Cache-Control.
func (c Content) Serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	body, tag := c.plain, c.tag
	if AcceptsGzip(r.Header.Values("Accept-Encoding")) {
		body, tag = c.packed, c.tag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+tag+`"`)
	ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// ServeContent is http.ServeContent, which refuses a range of a unit that it does not know: that is ignored here (RFC 9110, section
// 14.2).
func ServeContent(w http.ResponseWriter, r *http.Request, name string, modified time.Time, content io.ReadSeeker) {
	if unit, _, ok := strings.Cut(r.Header.Get("Range"), "="); ok && unit != "bytes" {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, name, modified, content)
}
