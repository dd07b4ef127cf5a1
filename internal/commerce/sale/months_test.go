package sale

import (
	"testing"
	"time"
)

func TestMonthsAreCalendarMonthsAndEndAtTheMonthsEnd(t *testing.T) {
	for _, c := range []struct {
		from   string
		months int
		want   string
	}{
		{"2026-03-02T09:00:00Z", 1, "2026-04-02T09:00:00Z"},
		{"2026-01-31T23:59:59.999999Z", 1, "2026-02-28T23:59:59.999999Z"},
		{"2028-01-31T12:00:00Z", 1, "2028-02-29T12:00:00Z"},
		{"2028-02-29T12:00:00Z", 12, "2029-02-28T12:00:00Z"},
		{"2026-10-31T00:00:00Z", 1, "2026-11-30T00:00:00Z"},
		{"2026-12-31T00:00:00Z", 2, "2027-02-28T00:00:00Z"},
		{"2026-11-30T00:00:00Z", 3, "2027-02-28T00:00:00Z"},
		{"2026-08-31T00:00:00Z", 120, "2036-08-31T00:00:00Z"},
	} {
		from, err := time.Parse(time.RFC3339Nano, c.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := AddMonths(from, c.months).Format(time.RFC3339Nano); got != c.want {
			t.Errorf("%s and %d months is %s, want %s", c.from, c.months, got, c.want)
		}
	}
}
