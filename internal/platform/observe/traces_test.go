package observe

import (
	"net/http"
	"net/http/httptest"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestTracesHoldNoSecretOfAnAddress(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	traces := &Traces{provider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))}
	h := traces.Handler(http.NotFoundHandler())
	for target, want := range map[string]string{
		"/recover/s3cret": "/recover", "/callback?code=s3cret": "/callback", "/": "/", "/api/v1/orders/5": "/api/v1/orders/5",
	} {
		spans.Reset()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil))
		for _, span := range spans.GetSpans() {
			for _, a := range span.Attributes {
				if a.Key == "url.path" && a.Value.AsString() != want {
					t.Errorf("%s: %s", target, a.Value.AsString())
				}
			}
		}
		if len(spans.GetSpans()) != 1 {
			t.Errorf("%s: %d spans", target, len(spans.GetSpans()))
		}
	}
}
