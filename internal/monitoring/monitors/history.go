package monitors

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// stretch is a time that uptime and history are told of.
type stretch string

// The stretches (resources, section 8).
const (
	lastDay     stretch = "24h"
	lastWeek    stretch = "7d"
	lastMonth   stretch = "30d"
	lastQuarter stretch = "90d"
)

// since is when a stretch begins, in the steps in which it is kept, and that step.
func (r stretch) since(now time.Time) (time.Time, time.Duration) {
	step := day
	if r == lastDay || r == lastWeek {
		step = hour
	}
	return now.Truncate(step).Add(step - r.length()), step
}

// length is how long a stretch is.
func (r stretch) length() time.Duration {
	switch r {
	case lastDay:
		return day
	case lastWeek:
		return 7 * day
	case lastMonth:
		return 30 * day
	default:
		return 90 * day
	}
}

// history reads what is kept of a stretch: one range of an index.
func history(ctx context.Context, q db.Querier, id int64, r stretch, now time.Time) ([]point, time.Duration, error) {
	from, step := r.since(now)
	read := days
	if step == hour {
		read = hours
	}
	points, err := read(ctx, q, id, from, now.Add(step))
	return points, step, err
}

// percent is an uptime with three decimals; nil when nothing is known.
func (t totals) percent() *string {
	millionths, ok := t.uptime()
	if !ok {
		return nil
	}
	s := fmt.Sprintf("%d.%03d", millionths/10_000, millionths%10_000/10)
	return &s
}

// uptimesOf are the uptimes of monitors over 24 hours, 7, 30 and 90 days.
func uptimesOf(ctx context.Context, q db.Querier, ids []int64, now time.Time) (map[int64]*[4]totals, error) {
	var since [4]time.Time
	for i, r := range []stretch{lastDay, lastWeek, lastMonth, lastQuarter} {
		since[i], _ = r.since(now)
	}
	return uptimes(ctx, q, ids, [2]time.Time{since[0], since[1]}, [2]time.Time{since[2], since[3]})
}

// Outage is a time in which a service's monitor found it down.
type Outage struct {
	StartedAt time.Time
	EndedAt   *time.Time // nil: it goes on
	Cause     string     // an error key
	// Ours tells that the server did not answer as a server does; else the site's own software is the cause.
	Ours bool
}

// Seconds is how a time was spent, in milliseconds.
type Seconds struct{ Up, Down, Maintenance, Unknown int64 }

// ServiceMonitor is the monitor that a service has by itself; false when it has none.
func (s *Service) ServiceMonitor(ctx context.Context, q db.Querier, serviceID int64) (int64, bool, error) {
	found, err := builtIn(ctx, q, []int64{serviceID})
	id, ok := found[serviceID]
	return id, ok, err
}

// mostOutages bounds what Outages answers: more than one for each two minutes of a month is noise.
const mostOutages = 25_000

// Outages are those of a monitor that touch a time, the oldest first.
func (s *Service) Outages(ctx context.Context, q db.Querier, monitorID int64, from, to time.Time) ([]Outage, error) {
	rows, err := outages(ctx, q, monitorID, from, to, mostOutages)
	all := make([]Outage, len(rows))
	for i, o := range rows {
		all[len(rows)-1-i] = Outage{StartedAt: o.startedAt, EndedAt: o.endedAt, Cause: o.cause, Ours: ours(o.cause)}
	}
	return all, err
}

// Seconds is how the time of a monitor was spent. The time begins and ends at full hours, and within a month and two days;
// older ones at full days in UTC. What is degraded is up.
func (s *Service) Seconds(ctx context.Context, q db.Querier, monitorID int64, from, to time.Time) (Seconds, error) {
	read := hours
	if from.Equal(from.Truncate(day)) && to.Equal(to.Truncate(day)) {
		read = days
	}
	points, err := read(ctx, q, monitorID, from, to)
	var sum totals
	for _, p := range points {
		sum.add(p.totals)
	}
	return Seconds{Up: sum.Up + sum.Degraded, Down: sum.Down, Maintenance: sum.Maintenance, Unknown: sum.Unknown}, err
}
