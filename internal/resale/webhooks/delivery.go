package webhooks

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// State is the state of an attempt.
type State string

// The states of a delivery (resources, section 23): retry failed and another attempt follows; failed was the last one;
// discarded was dropped when its endpoint was disabled.
const (
	Pending   State = "pending"
	Sending   State = "sending"
	Success   State = "success"
	Retry     State = "retry"
	Failed    State = "failed"
	Discarded State = "discarded"
)

// The origins of an attempt.
const (
	originScheduled = "scheduled"
	originManual    = "manual"
)

const (
	// timeout bounds one attempt.
	timeout = 15 * time.Second
	// leaseFor is how long a silent worker keeps an endpoint: longer than an attempt.
	leaseFor = 2 * timeout
	// failingFor is how long an endpoint may only fail before it is disabled.
	failingFor = 5 * 24 * time.Hour
	// retention is how long events are kept.
	retention = 30 * 24 * time.Hour
	// maxRetryAfter is the longest pause that an endpoint can ask for.
	maxRetryAfter = 24 * time.Hour
	// maxBackOff is the longest pause of a failing endpoint.
	maxBackOff = 5 * time.Minute
)

// schedule is the delays between attempts; after the last there is none (resources, section 23).
var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
	20 * time.Hour, 24 * time.Hour,
}

// pause returns the delay after the given attempt, with a jitter of up to a tenth, so that deliveries that failed
// together are not retried together; false when there is none.
func pause(attempt int) (time.Duration, bool) {
	if attempt > len(schedule) {
		return 0, false
	}
	d := schedule[attempt-1]
	return d + rand.N(d/10), true //nolint:gosec // spreads load; nobody gains by guessing it
}

// backOff is the pause of an endpoint after so many failures in a row. The first causes none: it may be the event's
// fault.
func backOff(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(time.Second<<min(failures-2, 20), maxBackOff)
}

// delivery is a row of the table.
type delivery struct {
	id, eventID, endpointID int64
	subject                 string
	subjectID, sequence     int64
	attempt                 int
	origin                  string // what caused it
	state                   State
	httpStatus              *int
	durationMS              *int64
	excerpt, errorKey       *string
	nextAttemptAt           *time.Time
	createdAt               time.Time
	eventUID                string // joined from its event
}

// outcome is the result of an attempt.
type outcome struct {
	status     int    // 0 without an answer
	errorKey   string // why there was no answer, or what was wrong with it
	excerpt    string
	duration   time.Duration
	retryAfter time.Duration
}

func (o outcome) ok() bool   { return o.status >= 200 && o.status < 300 }
func (o outcome) gone() bool { return o.status == http.StatusGone }

// note copies the outcome into d.
func (o outcome) note(d *delivery) {
	ms := o.duration.Milliseconds()
	d.durationMS = &ms
	if o.status != 0 {
		d.httpStatus, d.excerpt = &o.status, &o.excerpt
	}
	if !o.ok() {
		d.errorKey = &o.errorKey
	}
}

// retryAfter parses the header (RFC 9110, 10.2.3): seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}
