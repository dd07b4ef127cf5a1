package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Traces makes spans of requests, jobs and queries and sends them to a collector. Without a collector it does nothing.
type Traces struct {
	provider *sdktrace.TracerProvider // nil without a collector
}

// NewTraces sends the spans of a service to the collector at endpoint; an empty one disables traces. An unreachable collector
// loses spans, never requests.
func NewTraces(ctx context.Context, endpoint, service, version string) (*Traces, error) {
	if endpoint == "" {
		return &Traces{}, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("traces: otlp_endpoint is not an address")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version))
	return &Traces{provider: sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())),
	)}, nil
}

// Tracer makes the spans of jobs.
func (t *Traces) Tracer() trace.Tracer {
	if t.provider == nil {
		return noop.NewTracerProvider().Tracer("stead")
	}
	return t.provider.Tracer("stead")
}

// Handler makes a span of every request to next. The trace of a caller is
// linked, not continued: callers do not decide what is sampled here.
func (t *Traces) Handler(next http.Handler) http.Handler {
	if t.provider == nil {
		return next
	}
	return otelhttp.NewHandler(pathless(next), "http",
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return true }),
		// The path holds ids and is an attribute; the name must have few values.
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return knownMethod(r.Method) }),
	)
}

// pathless removes the paths of pages, except their beginning, from the traces: they may be secrets, such as the link
// of a mail.
func pathless(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; !strings.HasPrefix(path, "/api/") {
			first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
			trace.SpanFromContext(r.Context()).SetAttributes(attribute.String("url.path", "/"+first))
		}
		next.ServeHTTP(w, r)
	})
}

// QueryTracer makes spans of PostgreSQL queries, without their parameters; nil
// without a collector.
func (t *Traces) QueryTracer() pgx.QueryTracer {
	if t.provider == nil {
		return nil
	}
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider), otelpgx.WithTrimSQLInSpanName(),
		otelpgx.WithDisableConnectionDetailsInAttributes())
}

// Close sends the remaining spans.
func (t *Traces) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
