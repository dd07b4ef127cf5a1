package panel

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for machines without zone files
)

// Schedule is when a cron job runs: a crontab expression in a time zone. The zero value never runs.
type Schedule struct {
	minute, hour, day, month, weekday uint64 // a bit for each value
	anyDay, anyWeekday                bool   // the field begins with a star: the other one decides
	// everyHour says that the hour begins with a star: the job runs at an interval, not at a time of day.
	everyHour bool
	zone      *time.Location
}

// presets are the short forms of expressions.
var presets = map[string]string{
	"@hourly":   "0 * * * *",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@weekly":   "0 0 * * 0",
	"@monthly":  "0 0 1 * *",
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
}

// FiveFields is the long form of an expression; one of five fields, and one that is malformed, stays as it is.
func FiveFields(expression string) string {
	if long, ok := presets[strings.ToLower(strings.TrimSpace(expression))]; ok {
		return long
	}
	return expression
}

var (
	monthNames   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

const expressionBytes = 256

// ParseSchedule reads an expression of five fields as crontab(5) has them: minute, hour, day of the
// month, month, day of the week; each a star, values, ranges and steps with commas in between, with
// names for months and days of the week; 0 and 7 are Sunday. When both days are restricted (begin
// with no star) either will do. Or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly,
// @annually. ErrInvalid: it is malformed, the zone is unknown, or it names a day that never comes,
// such as 30 February.
func ParseSchedule(expression, zone string) (Schedule, error) {
	invalid := func(why string) (Schedule, error) {
		return Schedule{}, fmt.Errorf("%w: schedule %.40q: %s", ErrInvalid, expression, why)
	}
	if len(expression) > expressionBytes || strings.ContainsAny(expression, "\x00\r\n") {
		return invalid("too long, or not one line")
	}
	// "Local" would be the zone of the machine that happens to ask.
	if zone == "Local" {
		return invalid("no zone")
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return invalid("unknown zone")
	}
	fields := strings.Fields(strings.ToLower(FiveFields(expression)))
	if len(fields) != 5 {
		return invalid("not five fields")
	}
	s := Schedule{
		zone: loc, everyHour: fields[1][0] == '*', anyDay: fields[2][0] == '*', anyWeekday: fields[4][0] == '*',
	}
	for i, f := range []struct {
		into        *uint64
		first, last int
		names       []string
	}{
		{&s.minute, 0, 59, nil},
		{&s.hour, 0, 23, nil},
		{&s.day, 1, 31, nil},
		{&s.month, 1, 12, monthNames},
		{&s.weekday, 0, 7, weekdayNames},
	} {
		if *f.into, err = parseField(fields[i], f.first, f.last, f.names); err != nil {
			return invalid(err.Error())
		}
	}
	if s.weekday&(1<<7) != 0 {
		s.weekday = s.weekday&^(1<<7) | 1
	}
	if !s.comes() {
		return invalid("its day never comes")
	}
	return s, nil
}

// parseField reads one field into a bit for each value.
func parseField(field string, first, last int, names []string) (set uint64, err error) {
	for part := range strings.SplitSeq(field, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = number(stepText, 1, last, nil); err != nil {
				return 0, err
			}
		}
		from, to := first, last
		if span == "*" {
			if last == 7 {
				to = 6 // Sunday once
			}
		} else {
			low, high, ranged := strings.Cut(span, "-")
			if from, err = number(low, first, last, names); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if to, err = number(high, first, last, names); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
		}
		if from > to {
			return 0, fmt.Errorf("the range %q ends before it begins", span)
		}
		for v := from; v <= to; v += step {
			set |= 1 << v
		}
	}
	return set, nil
}

// number parses a value of a field. Names count from first.
func number(text string, first, last int, names []string) (int, error) {
	for i, name := range names {
		if text == name {
			return first + i, nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 8) // no sign
	if err != nil || int(n) < first || int(n) > last {
		return 0, fmt.Errorf("%.20q is not from %d to %d", text, first, last)
	}
	return int(n), nil
}

// comes reports whether any day matches the schedule.
func (s Schedule) comes() bool {
	if !s.anyWeekday && !s.anyDay {
		return true // a day of the week is enough, and occurs in every month
	}
	for month, days := range []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if s.month&(1<<(month+1)) != 0 && bits.TrailingZeros64(s.day) <= days {
			return true
		}
	}
	return false
}

// Next is the first time after that the schedule names, to the minute; zero when there is none within
// the eight years in which a leap day comes for certain, and the time zone knows what o'clock it is.
//
// When clocks are put forward, a time of day that is left out is made up for as soon as the clock
// goes on: 02:30 becomes 03:00. When they are put back, a time of day that comes twice counts the
// first time. Schedules that name no hour (it begins with a star) follow the time that passes
// instead: every fifteen minutes is every fifteen minutes throughout.
func (s Schedule) Next(after time.Time) time.Time {
	if s.zone == nil {
		return time.Time{}
	}
	const years = 8
	t := after.In(s.zone).Truncate(time.Minute).Add(time.Minute)
	for end := t.AddDate(years, 0, 0); t.Before(end); {
		if found, next := s.within(t); !found.IsZero() {
			return found.UTC()
		} else if t = next; t.IsZero() {
			break
		}
	}
	return time.Time{}
}

// within searches from t as long as the zone keeps its present offset to UTC. When it finds nothing it returns where
// the next offset begins; zero when there is none.
func (s Schedule) within(t time.Time) (found, next time.Time) {
	begin, end := t.ZoneBounds()
	_, offset := t.Zone()
	// Local time written as if it were UTC, in which no minute is missing or repeated.
	wall := t.Add(time.Duration(offset) * time.Second).UTC()
	if !s.everyHour && !begin.IsZero() {
		// Clock set back: the repeated times have had their run.
		if shown := onWall(begin.Add(-time.Nanosecond)).Add(time.Nanosecond); shown.After(wall) {
			wall = shown
		}
	}
	var stop time.Time // in local time
	if !end.IsZero() {
		stop = end.Add(time.Duration(offset) * time.Second).UTC()
	}
	if w := s.match(wall, stop); !w.IsZero() {
		return w.Add(-time.Duration(offset) * time.Second), time.Time{}
	}
	if end.IsZero() {
		return time.Time{}, time.Time{}
	}
	if !s.everyHour && !s.match(stop, onWall(end)).IsZero() {
		return end, time.Time{} // clock set forward: the missing times
	}
	return time.Time{}, end.In(s.zone)
}

// onWall is the local time at t, written as if it were UTC.
func onWall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}

// match returns the first matching minute from a local time on, and before stop.
func (s Schedule) match(from, stop time.Time) time.Time {
	const days = 8*366 + 1
	t := from.Truncate(time.Minute)
	if t.Before(from) {
		t = t.Add(time.Minute)
	}
	for range days {
		if !stop.IsZero() && !t.Before(stop) {
			return time.Time{}
		}
		year, month, day := t.Date()
		switch {
		case s.month&(1<<month) == 0:
			t = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case s.on(t):
			if m := s.inDay(t.Hour(), t.Minute()); m >= 0 {
				t = time.Date(year, month, day, m/60, m%60, 0, 0, time.UTC)
				if !stop.IsZero() && !t.Before(stop) {
					return time.Time{}
				}
				return t
			}
		}
		t = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// on reports whether the schedule includes the day.
func (s Schedule) on(t time.Time) bool {
	day, weekday := s.day&(1<<t.Day()) != 0, s.weekday&(1<<t.Weekday()) != 0
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// inDay returns the first matching minute of the day, from the time of day on; -1 for none.
func (s Schedule) inDay(hour, minute int) int {
	if s.hour&(1<<hour) != 0 {
		if rest := s.minute >> minute << minute; rest != 0 {
			return hour*60 + bits.TrailingZeros64(rest)
		}
	}
	rest := s.hour >> (hour + 1) << (hour + 1)
	if rest == 0 {
		return -1
	}
	return bits.TrailingZeros64(rest)*60 + bits.TrailingZeros64(s.minute)
}
