package observe

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

type requestIDKey struct{}

// WithRequestID is ctx of the request with that id; an empty one changes nothing.
func WithRequestID(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID is the id of the request for which ctx works, also in a job that it left and on a hosting machine.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Names of what is carried: headers of a call of a node, keys in the metadata of a job.
const (
	requestIDHeader = "X-Request-Id"
	requestIDField  = "request_id"
)

// Call begins the span of a call of a hosting machine, and writes trace and request id into the headers of the call.
func Call(ctx context.Context, name string, h http.Header) trace.Span {
	ctx, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("stead").Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	if id := RequestID(ctx); id != "" {
		h.Set(requestIDHeader, id)
	}
	return span
}

// Calls makes a span and a log line of every call of the control plane to next, which is a hosting machine's panel. It
// continues the caller's trace: nobody but the control plane may call.
func (t *Traces) Calls(log *slog.Logger, now func() time.Time, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, method := now(), path.Base(r.URL.Path)
		ctx := propagation.TraceContext{}.Extract(WithRequestID(r.Context(), r.Header.Get(requestIDHeader)), propagation.HeaderCarrier(r.Header))
		ctx, span := t.Tracer().Start(ctx, "node "+method, trace.WithSpanKind(trace.SpanKindServer))
		rec := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			span.SetAttributes(attribute.Int("http.response.status_code", rec.status))
			if rec.status != http.StatusOK {
				span.SetStatus(codes.Error, http.StatusText(rec.status))
			}
			span.End()
			log.InfoContext(ctx, "call", "method", method, "status", rec.status, "took", now().Sub(began))
		}()
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// statusWriter records the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is what http.ResponseController needs.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Metadata is what a job that ctx inserts carries: the trace and the id of the request. nil: there is neither.
func Metadata(ctx context.Context) []byte {
	m := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, m)
	if id := RequestID(ctx); id != "" {
		m[requestIDField] = id
	}
	if len(m) == 0 {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil // texts can be encoded
	}
	return data
}

// carried is ctx with what Metadata wrote. River keeps keys of its own beside.
func carried(ctx context.Context, metadata []byte) context.Context {
	var m struct {
		Parent    string `json:"traceparent"`
		State     string `json:"tracestate"`
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(metadata, &m) != nil {
		return ctx
	}
	return propagation.TraceContext{}.Extract(WithRequestID(ctx, m.RequestID), propagation.MapCarrier{"traceparent": m.Parent, "tracestate": m.State})
}
