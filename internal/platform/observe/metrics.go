package observe

import (
	"context"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"stead.dev/stead/internal/platform/db"
)

// Metrics of one process, in a registry of their own.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	jobs     *prometheus.HistogramVec
	inFlight prometheus.Gauge
	answers  *prometheus.CounterVec
}

// NewMetrics makes the metrics of a process of the given version.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "stead_http_request_duration_seconds",
			Help:    "Finished requests by operation (empty for pages and unknown addresses), method and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"operation", "method", "status"}),
		jobs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "stead_job_duration_seconds",
			Help:    "Worked jobs by kind and outcome: done, failed (tried again unless it was the last time), cancelled, snoozed.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60},
		}, []string{"kind", "outcome"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "stead_http_requests_in_flight", Help: "Requests that are being served.",
		}),
	}
	m.answers = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "stead_dns_answers_total", Help: "Answers of the name server by response code; limited: dropped or cut short by its bound.",
	}, []string{"rcode"})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "stead_build_info", Help: "Always 1; the label says which version runs.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.jobs, m.inFlight, m.answers, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Request counts a finished request; it is an api.Observer.
func (m *Metrics) Request(ctx context.Context, method, operation string, status int, took time.Duration) {
	record(ctx, m.requests.WithLabelValues(operation, knownMethod(method), strconv.Itoa(status)), took)
}

// record adds a measurement, with its trace as the exemplar when there is one to look at.
func record(ctx context.Context, o prometheus.Observer, took time.Duration) {
	span := trace.SpanContextFromContext(ctx)
	if e, ok := o.(prometheus.ExemplarObserver); ok && span.IsSampled() {
		e.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": span.TraceID().String()})
		return
	}
	o.Observe(took.Seconds())
}

// InFlight counts the requests that next is serving.
func (m *Metrics) InFlight(next http.Handler) http.Handler {
	return promhttp.InstrumentHandlerInFlight(m.inFlight, next)
}

// knownMethod keeps callers from inventing values of a label.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	default:
		return "other"
	}
}

// Describe implements prometheus.Collector: it tells which metrics there are without a database.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.requests.Describe(ch)
	m.jobs.Describe(ch)
	m.inFlight.Describe(ch)
	m.answers.Describe(ch)
}

// Add adds the figures of a collector.
func (m *Metrics) Add(c prometheus.Collector) { m.registry.MustRegister(c) }

// Handler serves the metrics in Prometheus' text form, or as OpenMetrics, which has exemplars, to those who ask for it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, EnableOpenMetrics: true})
}

// DNSAnswer counts an answer of the name server.
func (m *Metrics) DNSAnswer(rcode string) { m.answers.WithLabelValues(rcode).Inc() }

// Zones adds the figures of the zones that this process serves: how many, and for how long the oldest change has not been
// served.
func (m *Metrics) Zones(count func() int, lag func(ctx context.Context) (time.Duration, error)) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "stead_dns_zones", Help: "Zones that the name server of this process answers for."},
			func() float64 { return float64(count()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "stead_dns_zone_lag_seconds",
			Help: "Age of the oldest change of a zone that the name server of this process does not serve; 0 when it serves all, NaN when nobody knows.",
		}, func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			behind, err := lag(ctx)
			if err != nil {
				return math.NaN()
			}
			return behind.Seconds()
		}),
	)
}

// secondaries are the figures of the name servers that take zones from this process.
type secondaries struct {
	lags func() map[netip.Addr]time.Duration
}

var secondaryLag = prometheus.NewDesc("stead_dns_secondary_lag_seconds",
	"For how long a secondary has not taken a change of a zone, of the change for which that is longest; 0 when it has taken all.", []string{"secondary"}, nil)

func (s secondaries) Describe(ch chan<- *prometheus.Desc) { ch <- secondaryLag }

func (s secondaries) Collect(ch chan<- prometheus.Metric) {
	for secondary, lag := range s.lags() {
		ch <- prometheus.MustNewConstMetric(secondaryLag, prometheus.GaugeValue, lag.Seconds(), secondary.String())
	}
}

// Secondaries adds the figures of the name servers that take zones from this process.
func (m *Metrics) Secondaries(lags func() map[netip.Addr]time.Duration) { m.Add(secondaries{lags}) }

// Database adds the figures of the pool that writes, under the same names on both engines, and of the job queue.
func (m *Metrics) Database(d *db.DB) {
	m.registry.MustRegister(queueDepth{d})
	open, inUse, most, waits := writingPool(d)
	gauge := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("stead_db_connections", "Open connections of the writing pool.", open)
	gauge("stead_db_connections_in_use", "Connections of the writing pool that are in use.", inUse)
	gauge("stead_db_connections_max", "Bound of the writing pool.", most)
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "stead_db_connection_waits_total", Help: "How often a caller waited for a connection of the writing pool.",
	}, waits))
}

func writingPool(d *db.DB) (open, inUse, most, waits func() float64) {
	if w := d.Writer(); w != nil {
		return func() float64 { return float64(w.Stats().OpenConnections) }, func() float64 { return float64(w.Stats().InUse) },
			func() float64 { return float64(w.Stats().MaxOpenConnections) }, func() float64 { return float64(w.Stats().WaitCount) }
	}
	pool := d.Pool()
	return func() float64 { return float64(pool.Stat().TotalConns()) }, func() float64 { return float64(pool.Stat().AcquiredConns()) },
		func() float64 { return float64(pool.Stat().MaxConns()) }, func() float64 { return float64(pool.Stat().EmptyAcquireCount()) }
}

// queueDepth counts unfinished jobs when metrics are read.
type queueDepth struct{ db *db.DB }

var queueDesc = prometheus.NewDesc("stead_jobs", "Unfinished jobs of all replicas by state.", []string{"state"}, nil)

func (queueDepth) Describe(ch chan<- *prometheus.Desc) { ch <- queueDesc }

// Collect returns nothing when the database does not answer quickly: the other metrics matter most just then.
func (q queueDepth) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	counts := map[string]int{}
	rows, err := q.db.Query(ctx, `SELECT CAST(state AS TEXT), COUNT(*) FROM river_job
		WHERE state IN ('available', 'running', 'retryable', 'scheduled') GROUP BY state`)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var (
			state string
			n     int
		)
		if rows.Scan(&state, &n) != nil {
			return
		}
		counts[state] = n
	}
	if rows.Err() != nil {
		return
	}
	for _, state := range []string{"available", "running", "retryable", "scheduled"} {
		ch <- prometheus.MustNewConstMetric(queueDesc, prometheus.GaugeValue, float64(counts[state]), state)
	}
}
