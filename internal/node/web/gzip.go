package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// acceptsGzip parses Accept-Encoding: gzip, x-gzip or * with a weight above zero; an entry for gzip itself takes
// precedence over the star.
func acceptsGzip(headers []string) bool {
	accepted := false
	for _, header := range headers {
		for item := range strings.SplitSeq(header, ",") {
			coding, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return weight(params) > 0
			case "*":
				accepted = weight(params) > 0
			}
		}
	}
	return accepted
}

func weight(params string) float64 {
	key, value, ok := strings.Cut(params, "=")
	if !ok || strings.ToLower(strings.TrimSpace(key)) != "q" {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return 0
	}
	return q
}

var gzips = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(io.Discard, 5) // the level is one that exists
	return w
}}

// gzipWriter compresses a full answer; other answers (304, 412, 416) pass unchanged.
type gzipWriter struct {
	http.ResponseWriter
	head bool
	gz   *gzip.Writer
}

func (w *gzipWriter) WriteHeader(status int) {
	if status == http.StatusOK {
		h := w.Header()
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		h.Del("Accept-Ranges")
		if !w.head {
			w.gz = gzips.Get().(*gzip.Writer)
			w.gz.Reset(w.ResponseWriter)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *gzipWriter) Write(p []byte) (int, error) {
	if w.gz == nil {
		return w.ResponseWriter.Write(p)
	}
	return w.gz.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *gzipWriter) close() {
	if w.gz != nil {
		_ = w.gz.Close() // the client left
		gzips.Put(w.gz)
		w.gz = nil
	}
}
