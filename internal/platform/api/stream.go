package api

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"stead.dev/stead/internal/platform/auth"
)

// defaultRecheck bounds how long a stream outlives the right to read it.
const defaultRecheck = 5 * time.Second

// serveStream calls a function that writes its own answer. An error before the first byte is written like any other. A
// later error can only end the connection, so that the client does not take a part for the whole. A body that In does not
// declare is the function's to read.
//
// A stream may last for hours. It ends when its caller loses the right to call it, as if the client had disconnected:
// when the token or the key is revoked, the account suspended, a scope withdrawn, or the section switched off.
func (e *Edge) serveStream(d *declared, p auth.Principal, w http.ResponseWriter, r *http.Request) {
	in, _, err := e.read(d, r)
	if err == nil {
		err = e.recordExternal(r.Context(), d, p)
	}
	if err != nil {
		e.WriteError(w, r, err)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	lost := &refusal{}
	if d.Auth != Open && d.Auth != Own {
		go e.watch(ctx, d, r, func(err error) {
			lost.set(err)
			cancel(err)
		})
	}
	sw := &streamWriter{ResponseWriter: w, lost: lost}
	sw.Header().Set("Cache-Control", "no-store")
	guarded := r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		guarded.Body = &streamBody{ReadCloser: r.Body, lost: lost}
	}
	err = d.stream(ctx, p, in, sw, guarded)
	if refused := lost.get(); refused != nil {
		err = refused
	}
	if err == nil {
		return
	}
	if !sw.began {
		e.WriteError(w, r, err)
		return
	}
	requestLogOf(r.Context()).fail(Fault(err))
	panic(http.ErrAbortHandler)
}

// watch asks again and again whether the caller of a stream may still call it, until ctx ends. It calls end once, with the
// refusal. While nobody can be asked, as without a database, the stream goes on.
func (e *Edge) watch(ctx context.Context, d *declared, r *http.Request, end func(refusal error)) {
	tick := time.NewTicker(e.Recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		once, done := context.WithTimeout(ctx, e.Recheck)
		err := e.permitsStill(r.WithContext(once), d)
		done()
		if err != nil && !broken(err) && ctx.Err() == nil {
			end(err)
			return
		}
	}
}

// refusal is why a stream must end; empty while it may go on.
type refusal struct{ err atomic.Pointer[error] }

func (f *refusal) set(err error) { f.err.Store(&err) }

func (f *refusal) get() error {
	if p := f.err.Load(); p != nil {
		return *p
	}
	return nil
}

// streamBody is the body of a request that ends with its caller's right to send it.
type streamBody struct {
	io.ReadCloser
	lost *refusal
}

func (b *streamBody) Read(p []byte) (int, error) {
	if err := b.lost.get(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

// streamWriter knows whether the answer has begun, and writes nothing to a caller who has lost the right to read it.
type streamWriter struct {
	http.ResponseWriter
	began bool
	lost  *refusal
}

func (w *streamWriter) WriteHeader(status int) {
	w.began = w.began || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

func (w *streamWriter) Write(b []byte) (int, error) {
	if err := w.lost.get(); err != nil {
		return 0, err
	}
	w.began = true
	return w.ResponseWriter.Write(b)
}

// FlushError serves http.ResponseController: what is flushed has begun.
func (w *streamWriter) FlushError() error {
	w.began = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController the writer beneath.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
