package monitors

import (
	"slices"
	"time"

	"stead.dev/stead/internal/platform/fault"
)

// window is a time of maintenance: once, or on days of the week.
type window struct {
	StartsAt *time.Time `json:"starts_at,omitempty" doc:"Begin of a window that comes once"`
	EndsAt   *time.Time `json:"ends_at,omitempty"`
	Days     []string   `json:"days,omitempty" maxItems:"7" enum:"mon,tue,wed,thu,fri,sat,sun" doc:"Days of a window that comes every week; every day when there are none"`
	From     string     `json:"from,omitempty" maxLength:"5" doc:"Time of day, HH:MM" example:"02:00"`
	To       string     `json:"to,omitempty" maxLength:"5" doc:"Time of day; one before the begin is of the next day" example:"04:00"`
	Timezone string     `json:"timezone,omitempty" maxLength:"64" doc:"IANA; UTC when it is left out" example:"Asia/Tashkent"`
}

// windowIn is a window as a client gives it.
type windowIn window

// windows are all of a monitor.
type windows []window

const (
	maxWindows   = 10
	maxOneWindow = 31 * 24 * time.Hour
)

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// check refuses what is no window.
func (ws windows) check() error {
	if len(ws) > maxWindows {
		return fault.InvalidData("maintenance_windows", "too_many", map[string]any{"Max": maxWindows})
	}
	for _, w := range ws {
		once := w.StartsAt != nil && w.EndsAt != nil
		weekly := w.From != "" && w.To != ""
		_, zone := time.LoadLocation(w.Timezone)
		switch {
		case once == weekly, (w.StartsAt == nil) != (w.EndsAt == nil), once && (len(w.Days) > 0 || w.From != "" || w.To != ""):
			return fault.Invalid("maintenance_windows", "monitor_window")
		case once && (!w.EndsAt.After(*w.StartsAt) || w.EndsAt.Sub(*w.StartsAt) > maxOneWindow || w.StartsAt.Year() < 2000 || w.EndsAt.Year() > 9000):
			return fault.Invalid("maintenance_windows", "monitor_window")
		case weekly && (zone != nil || w.Timezone == "Local" || w.From == w.To):
			return fault.Invalid("maintenance_windows", "monitor_window")
		}
		for _, clock := range []string{w.From, w.To} {
			if _, err := time.Parse("15:04", clock); weekly && err != nil {
				return fault.Invalid("maintenance_windows", "monitor_window")
			}
		}
		for _, d := range w.Days {
			if !slices.Contains(weekdays, d) {
				return fault.Invalid("maintenance_windows", "monitor_window")
			}
		}
	}
	return nil
}

// between are the stretches of a window that touch the time from one moment to another.
func (w window) between(from, to time.Time) (all []span) {
	if w.StartsAt != nil {
		if w.StartsAt.Before(to) && w.EndsAt.After(from) {
			all = append(all, span{*w.StartsAt, *w.EndsAt, Maintenance})
		}
		return all
	}
	zone, err := time.LoadLocation(w.Timezone)
	if err != nil {
		return nil
	}
	begin, _ := time.Parse("15:04", w.From)
	end, _ := time.Parse("15:04", w.To)
	year, month, day := from.In(zone).AddDate(0, 0, -1).Date()
	for n := 0; ; n++ {
		midnight := time.Date(year, month, day+n, 0, 0, 0, 0, zone)
		if !midnight.Before(to) {
			return all
		}
		if len(w.Days) > 0 && !slices.Contains(w.Days, weekdays[midnight.Weekday()]) {
			continue
		}
		starts := time.Date(year, month, day+n, begin.Hour(), begin.Minute(), 0, 0, zone)
		ends := time.Date(year, month, day+n, end.Hour(), end.Minute(), 0, 0, zone)
		if !end.After(begin) {
			ends = time.Date(year, month, day+n+1, end.Hour(), end.Minute(), 0, 0, zone)
		}
		if starts.Before(to) && ends.After(from) {
			all = append(all, span{starts.UTC(), ends.UTC(), Maintenance})
		}
	}
}

// within are the stretches of all windows, in order, without overlaps.
func (ws windows) within(from, to time.Time) (all []span) {
	for _, w := range ws {
		all = append(all, w.between(from, to)...)
	}
	slices.SortFunc(all, func(a, b span) int { return a.From.Compare(b.From) })
	var merged []span
	for _, s := range all {
		if n := len(merged); n > 0 && !s.From.After(merged[n-1].To) {
			merged[n-1].To = later(merged[n-1].To, s.To)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// at reports whether a moment is within a window.
func (ws windows) at(now time.Time) bool {
	return len(ws) > 0 && slices.ContainsFunc(ws.within(now, now.Add(time.Microsecond)), func(s span) bool {
		return !s.From.After(now) && s.To.After(now)
	})
}

// lastEnd is when the last window of the last day ended; the zero time when there was none.
func (ws windows) lastEnd(now time.Time) (last time.Time) {
	if len(ws) == 0 {
		return last
	}
	for _, s := range ws.within(now.Add(-24*time.Hour), now) {
		if !s.To.After(now) {
			last = later(last, s.To)
		}
	}
	return last
}

// split takes the time within windows out of a span, as maintenance.
func (ws windows) split(s span) []span {
	if len(ws) == 0 {
		return []span{s}
	}
	var all []span
	at := s.From
	for _, w := range ws.within(s.From, s.To) {
		from, to := later(w.From, s.From), w.To
		if to.After(s.To) {
			to = s.To
		}
		if from.After(at) {
			all = append(all, span{at, from, s.Status})
		}
		if to.After(from) {
			all = append(all, span{from, to, Maintenance})
		}
		at = later(at, to)
	}
	if s.To.After(at) {
		all = append(all, span{at, s.To, s.Status})
	}
	return all
}
