// Package observe makes a running Stead visible to operators: logs, metrics and traces.
//
// Logs are one JSON object a line on standard error: one line for each request (package api writes it), job and call of a
// node. Metrics have few labels, and none that a caller can choose. Traces are made only when a collector is configured;
// without one they cost nothing.
package observe

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// NewLog is a log of JSON lines at level and above. A line that is written during a traced request or job has the
// trace's id, and one that is written for a request has the request's.
func NewLog(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(traced{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})})
}

type traced struct{ slog.Handler }

// Handle implements slog.Handler.
func (t traced) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	if id := RequestID(ctx); id != "" && !has(r, "request_id") {
		r.AddAttrs(slog.String("request_id", id))
	}
	return t.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (t traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{t.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (t traced) WithGroup(name string) slog.Handler { return traced{t.Handler.WithGroup(name)} }

func has(r slog.Record, key string) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == key
		return !found
	})
	return found
}
