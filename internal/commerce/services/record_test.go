package services

import (
	"errors"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/fault"
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
		if got := addMonths(from, c.months).Format(time.RFC3339Nano); got != c.want {
			t.Errorf("%s and %d months is %s, want %s", c.from, c.months, got, c.want)
		}
	}
}

func TestEndsReturnToTheDayOnWhichTheServiceBegan(t *testing.T) {
	for began, ends := range map[string][]string{
		"2026-01-31": {"2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"},
		"2026-01-30": {"2026-02-28", "2026-03-30", "2026-04-30"},
		"2026-01-28": {"2026-02-28", "2026-03-28"},
		"2028-01-29": {"2028-02-29", "2028-03-29"},
	} {
		start, err := time.Parse(time.DateOnly, began)
		if err != nil {
			t.Fatal(err)
		}
		end := start
		for n, want := range ends {
			end = nextEnd(end, 1, &start)
			if got := end.Format(time.DateOnly); got != want {
				t.Errorf("began %s, %d months: until %s, want %s", began, n+1, got, want)
			}
		}
	}
	// What was renewed late begins anew: its day is not the last one of a month.
	start, late := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 15, 0, 0, 0, 0, time.UTC)
	if got := nextEnd(late, 1, &start); !got.Equal(time.Date(2026, 5, 15, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("late: until %v", got)
	}
}

func TestALabelIsOneCleanLine(t *testing.T) {
	for given, want := range map[string]string{"  Mening saytim ": "Mening saytim", "Сайт": "Сайт"} {
		if got, err := cleanLabel(given); err != nil || got != want {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	for _, bad := range []string{"", "   ", "two\nlines", "bell\a"} {
		if _, err := cleanLabel(bad); !errors.Is(err, fault.Validation) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
