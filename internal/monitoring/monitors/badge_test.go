package monitors

import (
	"testing"
	"time"
)

// TestABadgeShowsWhatIsKnown of a monitor that is younger than the time of its badge.
func TestABadgeShowsWhatIsKnown(t *testing.T) {
	for _, test := range []struct {
		age      time.Duration
		r        stretch
		up, down time.Duration
		label    string
		value    string
		color    string
	}{
		{0, lastMonth, 0, 0, "uptime 0m", "unknown", grey},
		{5 * time.Minute, lastMonth, 5 * time.Minute, 0, "uptime 5m", "100%", green},
		{5 * time.Minute, lastMonth, 5*time.Minute - 100*time.Millisecond, 100 * time.Millisecond, "uptime 5m", "99%", green},
		{10 * time.Minute, lastMonth, 9 * time.Minute, time.Minute, "uptime 10m", "90%", red},
		{5 * time.Hour, lastMonth, 5*time.Hour - 6*time.Second, 6 * time.Second, "uptime 5h", "99.9%", green},
		{5 * time.Hour, lastDay, 4 * time.Hour, time.Hour, "uptime 5h", "80.0%", red},
		{47 * time.Hour, lastDay, 23 * time.Hour, 0, "uptime 24h", "100%", green},
		{47 * time.Hour, lastMonth, 47*time.Hour - time.Minute, time.Minute, "uptime 47h", "99.96%", green},
		{12 * day, lastMonth, 12 * day, 0, "uptime 12d", "100%", green},
		{31 * day, lastMonth, 30*day - 5*time.Minute, 5 * time.Minute, "uptime 30d", "99.98%", green},
		{31 * day, lastQuarter, 31 * day, 0, "uptime 31d", "100%", green},
	} {
		b := uptimeBadge(monitor{createdAt: noon.Add(-test.age)}, test.r, totals{Up: test.up.Milliseconds(), Down: test.down.Milliseconds()}, noon)
		if b.label != test.label || b.value != test.value || b.color != test.color {
			t.Errorf("%v old, %s: %q %q %s, want %q %q %s", test.age, test.r, b.label, b.value, b.color, test.label, test.value, test.color)
		}
	}
}
