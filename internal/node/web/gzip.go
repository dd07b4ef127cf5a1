package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"sync"
)

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
