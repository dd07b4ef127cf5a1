package monitors

import (
	"time"
)

// totals are what is kept of a stretch of time: an hour or a day.
type totals struct {
	Checks, Failures int64
	// Seconds of time in each state, in milliseconds so that nothing is lost in summing up.
	Up, Degraded, Down, Maintenance, Unknown int64
	// Response times in milliseconds, of the checks that had one.
	Responses, ResponseSum, ResponseMin, ResponseMax int64
}

func (t *totals) add(o totals) {
	t.Checks += o.Checks
	t.Failures += o.Failures
	t.Up += o.Up
	t.Degraded += o.Degraded
	t.Down += o.Down
	t.Maintenance += o.Maintenance
	t.Unknown += o.Unknown
	if o.Responses > 0 {
		if t.Responses == 0 || o.ResponseMin < t.ResponseMin {
			t.ResponseMin = o.ResponseMin
		}
		t.ResponseMax = max(t.ResponseMax, o.ResponseMax)
	}
	t.Responses += o.Responses
	t.ResponseSum += o.ResponseSum
}

func (t *totals) spend(s Status, d time.Duration) {
	ms := d.Milliseconds()
	switch s {
	case Up:
		t.Up += ms
	case Degraded:
		t.Degraded += ms
	case Down:
		t.Down += ms
	case Maintenance:
		t.Maintenance += ms
	default:
		t.Unknown += ms
	}
}

// uptime is the part of the known time in which the thing was there, in millionths; false when nothing is known. What is
// degraded is there.
func (t totals) uptime() (int64, bool) {
	known := t.Up + t.Degraded + t.Down
	if known == 0 {
		return 0, false
	}
	return (t.Up + t.Degraded) * 1_000_000 / known, true
}

// slot is a monitor's hour or day.
type slot struct {
	monitor int64
	start   time.Time
}

// rollup gathers what a batch adds to hours and days.
type rollup map[slot]*totals

func (r rollup) of(monitor int64, at time.Time, step time.Duration) *totals {
	k := slot{monitor, at.Truncate(step)}
	if r[k] == nil {
		r[k] = &totals{}
	}
	return r[k]
}

// spend adds a span to the slots that it touches.
func (r rollup) spend(monitor int64, s span, step time.Duration) {
	for at := s.From; at.Before(s.To); {
		end := at.Truncate(step).Add(step)
		if end.After(s.To) {
			end = s.To
		}
		r.of(monitor, at, step).spend(s.Status, end.Sub(at))
		at = end
	}
}

const (
	hour = time.Hour
	day  = 24 * time.Hour
)
