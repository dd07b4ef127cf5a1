package webhooks

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// State is how an attempt stands.
type State string

// The states of a delivery (resources, section 23): retry failed and is followed by another; failed is not; discarded
// was dropped when its endpoint was disabled.
const (
	Pending   State = "pending"
	Sending   State = "sending"
	Success   State = "success"
	Retry     State = "retry"
	Failed    State = "failed"
	Discarded State = "discarded"
)

// What makes an attempt.
const (
	originScheduled = "scheduled"
	originManual    = "manual"
)

const (
	// timeout bounds one attempt.
	timeout = 15 * time.Second
	// leaseFor is how long a worker that is not heard of keeps an endpoint: longer than an attempt.
	leaseFor = 2 * timeout
	// failingFor is how long an endpoint may do nothing but fail.
	failingFor = 5 * 24 * time.Hour
	// retention is how long events are kept.
	retention = 30 * 24 * time.Hour
	// maxRetryAfter is the longest that an endpoint can ask to be left alone.
	maxRetryAfter = 24 * time.Hour
	// maxBackOff is the longest that an endpoint that fails is left alone.
	maxBackOff = 5 * time.Minute
)

// schedule is how long after an attempt the next is made; after the last there is none (resources, section 23).
var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
	20 * time.Hour, 24 * time.Hour,
}

// pause is when the attempt after the given one is made, later by up to a tenth so that what failed together does
// not come back together; false when there is none.
func pause(attempt int) (time.Duration, bool) {
	if attempt > len(schedule) {
		return 0, false
	}
	d := schedule[attempt-1]
	return d + rand.N(d/10), true //nolint:gosec // spreads load; nobody gains by guessing it
}

// backOff is how long an endpoint is left alone after so many failures in a row. The first costs nothing: it may be
// the event's fault.
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
	origin                  string // what made it
	state                   State
	httpStatus              *int
	durationMS              *int64
	excerpt, errorKey       *string
	nextAttemptAt           *time.Time
	createdAt               time.Time
	eventUID                string // read with it
}

// outcome is what became of an attempt.
type outcome struct {
	status     int    // 0 without an answer
	errorKey   string // why there was none, or what was wrong with it
	excerpt    string
	duration   time.Duration
	retryAfter time.Duration
}

func (o outcome) ok() bool   { return o.status >= 200 && o.status < 300 }
func (o outcome) gone() bool { return o.status == http.StatusGone }

// note writes the outcome into d.
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

// retryAfter reads the header (RFC 9110, 10.2.3): seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}
