package api

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/platform/secret"
)

// requestLog collects the content of the request's one log line.
type requestLog struct {
	operation string
	principal auth.Principal
	fault     *fault.Error
}

func (n *requestLog) fail(f *fault.Error) { n.fault = f }

type requestLogKey struct{}

// requestLogOf is the collector of the request. Outside Outer it returns one that nobody reads.
func requestLogOf(ctx context.Context) *requestLog {
	if n, ok := ctx.Value(requestLogKey{}).(*requestLog); ok {
		return n
	}
	return &requestLog{}
}

// RequestID is the id of the request, which its answer has as X-Request-Id.
func RequestID(ctx context.Context) string { return observe.RequestID(ctx) }

// Observer is called with every finished request, for metrics.
type Observer func(ctx context.Context, method, operation string, status int, took time.Duration)

// Outer surrounds every handler of the server: it gives the request its id, catches panics, writes one log line, and
// sets the headers that every answer has.
func Outer(log *slog.Logger, c clock.Clock, observed Observer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := c.Now()
		n, id := &requestLog{}, secret.Token("req_", 12)
		ctx := observe.WithRequestID(context.WithValue(r.Context(), requestLogKey{}, n), id)
		r = r.WithContext(ctx)
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		h := rec.Header()
		h.Set("X-Request-Id", id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		defer func() {
			v := recover()
			abort := v != nil
			if v != nil && v != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
				log.ErrorContext(ctx, "panic", "request_id", id, "panic", v, "stack", string(debug.Stack()))
				if !rec.began {
					abort = false
					writeJSON(rec, http.StatusInternalServerError,
						[]byte(`{"error":"internal_error","message":"Internal error","request_id":"`+id+`"}`+"\n"))
				}
			}
			took := c.Now().Sub(began)
			logRequest(ctx, log, r, n, rec, took)
			if observed != nil {
				observed(ctx, r.Method, n.operation, rec.status, took)
			}
			if abort {
				panic(http.ErrAbortHandler) // ends the connection: the answer is incomplete
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

func logRequest(ctx context.Context, log *slog.Logger, r *http.Request, n *requestLog, rec *recorder, took time.Duration) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", RequestID(ctx)), slog.String("method", r.Method), slog.String("path", loggedPath(r)),
		slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes), slog.Duration("took", took),
	}
	if n.operation != "" {
		attrs = append(attrs, slog.String("operation", n.operation))
	}
	if !n.principal.IsNobody() {
		attrs = append(attrs, slog.Int64("account", n.principal.AccountID),
			slog.Int64("application", n.principal.ApplicationID), slog.Int64("token", n.principal.TokenID))
	}
	if f := n.fault; f != nil {
		attrs = append(attrs, slog.String("error", f.Def.Key))
		if f.Cause != nil {
			attrs = append(attrs, slog.String("cause", f.Cause.Error()))
		}
		if f.Def.Kind.Status() >= http.StatusInternalServerError && ctx.Err() == nil { // otherwise the client has disconnected
			level = slog.LevelError
		}
	}
	log.LogAttrs(ctx, level, "request", attrs...)
}

// loggedPath is the part of the request's address that may be logged. Paths of the interface hold no secrets. The path
// of a page may, such as the link of a mail: of a page it returns the pattern, of an unknown address the beginning.
// Queries hold codes and are never logged.
func loggedPath(r *http.Request) string {
	p := r.URL.Path
	if !strings.HasPrefix(p, "/api/") {
		if i := strings.IndexByte(r.Pattern, '/'); i >= 0 {
			return r.Pattern[i:]
		}
		if i := strings.IndexByte(strings.TrimPrefix(p, "/"), '/'); i >= 0 {
			p = p[:i+2] + "…"
		}
	}
	const most = 256
	if len(p) > most {
		p = strings.ToValidUTF8(p[:most], "") + "…"
	}
	return p
}

// recorder records the status and the size of the answer.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	began  bool
}

func (w *recorder) WriteHeader(status int) {
	if !w.began && status >= http.StatusOK {
		w.status, w.began = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	w.began = true
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// FlushError serves http.ResponseController: what is flushed has begun.
func (w *recorder) FlushError() error {
	w.began = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController the writer beneath.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
