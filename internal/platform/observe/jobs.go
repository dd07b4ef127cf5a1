package observe

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"stead.dev/stead/internal/platform/clock"
)

// Outcomes of a job, as metrics and log lines name them.
const (
	jobDone      = "done"
	jobFailed    = "failed"
	jobCancelled = "cancelled"
	jobSnoozed   = "snoozed"
	jobPanicked  = "panicked"
)

// JobMiddleware surrounds every job: a log line, a metric, a span in the trace of the request that inserted the job.
func JobMiddleware(log *slog.Logger, c clock.Clock, m *Metrics, t trace.Tracer) []rivertype.Middleware {
	return []rivertype.Middleware{&jobMiddleware{log: log, clock: c, metrics: m, tracer: t}}
}

type jobMiddleware struct {
	river.MiddlewareDefaults
	log     *slog.Logger
	clock   clock.Clock
	metrics *Metrics
	tracer  trace.Tracer
}

// Work implements rivertype.WorkerMiddleware.
func (j *jobMiddleware) Work(ctx context.Context, job *rivertype.JobRow, next func(context.Context) error) error {
	began := j.clock.Now()
	ctx, span := j.tracer.Start(carried(ctx, job.Metadata), "job "+job.Kind, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attribute.Int64("job.id", job.ID), attribute.Int("job.attempt", job.Attempt)))
	outcome, err := jobPanicked, error(nil)
	// River turns a panic into a failed attempt; the line must be written then as well.
	defer func() {
		if outcome == jobFailed || outcome == jobPanicked {
			span.SetStatus(codes.Error, outcome)
		}
		span.End()
		j.finish(ctx, job, outcome, err, j.clock.Now().Sub(began))
	}()
	err = next(ctx)
	outcome = outcomeOf(err)
	return err
}

func outcomeOf(err error) string {
	var (
		cancelled *rivertype.JobCancelError
		snoozed   *rivertype.JobSnoozeError
	)
	switch {
	case err == nil:
		return jobDone
	case errors.As(err, &snoozed):
		return jobSnoozed
	case errors.As(err, &cancelled):
		return jobCancelled
	default:
		return jobFailed
	}
}

func (j *jobMiddleware) finish(ctx context.Context, job *rivertype.JobRow, outcome string, err error, took time.Duration) {
	record(ctx, j.metrics.jobs.WithLabelValues(job.Kind, outcome), took)
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("kind", job.Kind), slog.Int64("job", job.ID), slog.Int("attempt", job.Attempt),
		slog.String("outcome", outcome), slog.Duration("took", took),
	}
	switch outcome {
	case jobFailed, jobPanicked:
		level = slog.LevelWarn
		if job.Attempt >= job.MaxAttempts {
			level = slog.LevelError
		}
	case jobSnoozed:
		level = slog.LevelDebug
	}
	if err != nil && outcome != jobSnoozed {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	j.log.LogAttrs(ctx, level, "job", attrs...)
}
