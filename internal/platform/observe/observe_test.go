package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/trace"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/observe"
	"stead.dev/stead/internal/platform/testkit"
)

// worked runs f as a job and answers its log line.
func worked(t *testing.T, m *observe.Metrics, attempt int, f func(context.Context) error) map[string]any {
	t.Helper()
	var out bytes.Buffer
	traces, err := observe.NewTraces(t.Context(), "", "stead", "test")
	if err != nil {
		t.Fatal(err)
	}
	clk := clock.NewFake(testkit.Start)
	for _, middleware := range observe.JobMiddleware(observe.NewLog(&out, slog.LevelDebug), clk, m, traces.Tracer()) {
		worker, ok := middleware.(rivertype.WorkerMiddleware)
		if !ok {
			continue
		}
		func() {
			defer func() { _ = recover() }() // as River does
			_ = worker.Work(t.Context(), &rivertype.JobRow{ID: 7, Kind: "test.kind", Attempt: attempt, MaxAttempts: 3}, func(ctx context.Context) error {
				clk.Advance(20 * time.Millisecond)
				return f(ctx)
			})
		}()
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return line
}

func TestAJobLeavesOneLineAndOneMeasurement(t *testing.T) {
	m := observe.NewMetrics("test")
	for name, c := range map[string]struct {
		attempt        int
		f              func(context.Context) error
		outcome, level string
	}{
		"done":      {1, func(context.Context) error { return nil }, "done", "INFO"},
		"failed":    {1, func(context.Context) error { return errors.New("broken") }, "failed", "WARN"},
		"last":      {3, func(context.Context) error { return errors.New("broken") }, "failed", "ERROR"},
		"cancelled": {1, func(context.Context) error { return river.JobCancel(errors.New("never")) }, "cancelled", "INFO"},
		"snoozed":   {1, func(context.Context) error { return river.JobSnooze(time.Minute) }, "snoozed", "DEBUG"},
		"panicked":  {1, func(context.Context) error { panic("oh") }, "panicked", "WARN"},
	} {
		line := worked(t, m, c.attempt, c.f)
		if line["msg"] != "job" || line["outcome"] != c.outcome || line["level"] != c.level || line["kind"] != "test.kind" ||
			line["took"] != float64(20*time.Millisecond) {
			t.Errorf("%s: %v", name, line)
		}
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for outcome, want := range map[string]string{"done": "1", "failed": "2", "panicked": "1"} {
		line := `stead_job_duration_seconds_count{kind="test.kind",outcome="` + outcome + `"} ` + want
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("no %s", line)
		}
	}
}

func TestCallersMakeUpNoLabels(t *testing.T) {
	m := observe.NewMetrics("test")
	for _, method := range []string{"GET", "PROPFIND", "X", "get"} {
		m.Request(t.Context(), method, "", http.StatusNotFound, time.Millisecond)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if got := strings.Count(w.Body.String(), "stead_http_request_duration_seconds_count"); got != 2 {
		t.Errorf("%d series, want one for GET and one for the others", got)
	}
}

// collector is an OpenTelemetry collector that keeps what it is sent.
type collector struct {
	mu   sync.Mutex
	path string
	body []byte
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	_, _ = b.ReadFrom(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path = r.URL.Path
	c.body = append(c.body, b.Bytes()...)
}

func TestTracesGoToTheCollectorAndLogsNameThem(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	traces, err := observe.NewTraces(t.Context(), server.URL, "stead", "test")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := observe.NewLog(&out, slog.LevelInfo)
	h := traces.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.InfoContext(r.Context(), "inside")
		w.WriteHeader(http.StatusNoContent)
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pay/pay_secret-token", nil)
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var line struct {
		TraceID string `json:"trace_id"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || len(line.TraceID) != 32 {
		t.Errorf("%v in %s", err, out.String())
	}
	if line.TraceID == "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Error("a caller chose the trace")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path != "/v1/traces" || !bytes.Contains(c.body, []byte("GET")) {
		t.Errorf("the collector got %d bytes at %q", len(c.body), c.path)
	}
	if bytes.Contains(c.body, []byte("secret-token")) {
		t.Error("the path of a page was sent to the collector")
	}
}

func TestWithoutACollectorNothingIsWrapped(t *testing.T) {
	traces, err := observe.NewTraces(t.Context(), "", "stead", "test")
	if err != nil {
		t.Fatal(err)
	}
	if traces.QueryTracer() != nil {
		t.Error("queries are traced")
	}
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestATracedRequestIsTheExemplarOfItsDuration(t *testing.T) {
	m := observe.NewMetrics("test")
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled})
	m.Request(trace.ContextWithSpanContext(t.Context(), span), http.MethodGet, "orders.show", http.StatusOK, time.Millisecond)
	m.Request(trace.ContextWithSpanContext(t.Context(), span.WithTraceFlags(0)), http.MethodGet, "orders.list", http.StatusOK, time.Millisecond)
	for accept, want := range map[string]int{"application/openmetrics-text; version=1.0.0": 1, "text/plain": 0} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, r)
		if got := strings.Count(w.Body.String(), `# {trace_id="0102`); got != want || w.Code != http.StatusOK {
			t.Errorf("%s: status %d, %d exemplars, want %d", accept, w.Code, got, want)
		}
	}
}

// TestAJobIsPartOfTheTraceOfItsRequest and its lines name the request.
func TestAJobIsPartOfTheTraceOfItsRequest(t *testing.T) {
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled})
	ctx := observe.WithRequestID(trace.ContextWithSpanContext(t.Context(), span), "req_1")
	var out bytes.Buffer
	log := observe.NewLog(&out, slog.LevelInfo)
	traces := &observe.Traces{}
	for _, middleware := range observe.JobMiddleware(log, clock.NewFake(testkit.Start), observe.NewMetrics("test"), traces.Tracer()) {
		job := &rivertype.JobRow{Kind: "test.kind", Metadata: observe.Metadata(ctx)}
		if err := middleware.(rivertype.WorkerMiddleware).Work(t.Context(), job, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if line := out.String(); !strings.Contains(line, `"request_id":"req_1"`) || !strings.Contains(line, `"trace_id":"`+span.TraceID().String()) {
		t.Errorf("the line of the job is %s", line)
	}
	if data := observe.Metadata(t.Context()); data != nil {
		t.Errorf("of nothing there is %s", data)
	}
}
