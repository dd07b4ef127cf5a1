package billing

import (
	"testing"
	"time"
)

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
