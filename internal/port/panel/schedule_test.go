package panel

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestExpressionsThatAreNone(t *testing.T) {
	for _, e := range []string{
		"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * 0 *", "* * * * 8",
		"-1 * * * *", "+1 * * * *", "5-1 * * * *", "*/0 * * * *", "*/61 * * * *", "1,,2 * * * *", ", * * * *", "a * * * *", "1-2-3 * * * *",
		"*/ * * * *", "/5 * * * *", "1/2/3 * * * *", "** * * * *", "*5 * * * *", "* * L * *", "* * * * 1#2", "* * 15W * *", "? * * * *",
		"@reboot", "@every 1m", "@", "TZ=UTC * * * * *", "CRON_TZ=Asia/Tashkent * * * * *", "0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *",
		"* * * * *\n* * * * *", "* * * * \x00", strings.Repeat("1,", 200) + "1 * * * *", "1.5 * * * *", "0x1 * * * *", "jan * * * *", "* * * mon *",
		"５ * * * *",
	} {
		if _, err := ParseSchedule(e, "UTC"); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", e, err)
		}
	}
	for _, zone := range []string{"Local", "Mars/Base", "../etc/passwd", "/etc/localtime", "UTC+5", "asia/tashkent\n"} {
		if _, err := ParseSchedule("@daily", zone); !errors.Is(err, ErrInvalid) {
			t.Errorf("zone %q: %v", zone, err)
		}
	}
	if !(Schedule{}).Next(time.Unix(0, 0)).IsZero() {
		t.Error("no schedule has a next run")
	}
}

func TestNextRuns(t *testing.T) {
	const form = "2006-01-02 15:04"
	for _, c := range []struct{ expression, zone, after, want string }{
		{"* * * * *", "UTC", "2026-01-01 00:00", "2026-01-01 00:01 2026-01-01 00:02"},
		{"*/15 * * * *", "UTC", "2026-01-01 00:50", "2026-01-01 01:00 2026-01-01 01:15"},
		{"5/20 * * * *", "UTC", "2026-01-01 00:00", "2026-01-01 00:05 2026-01-01 00:25 2026-01-01 00:45 2026-01-01 01:05"},
		{"0 9-17/4 * * mon-fri", "UTC", "2026-01-02 12:00", "2026-01-02 13:00 2026-01-02 17:00 2026-01-05 09:00"},
		{"@weekly", "UTC", "2026-01-01 00:00", "2026-01-04 00:00 2026-01-11 00:00"},
		{"0 0 * * 7", "UTC", "2026-01-01 00:00", "2026-01-04 00:00"},
		{"0 0 * * 5-7", "UTC", "2026-01-01 00:00", "2026-01-02 00:00 2026-01-03 00:00 2026-01-04 00:00 2026-01-09 00:00"},
		{"@yearly", "UTC", "2026-01-01 00:00", "2027-01-01 00:00"},
		{"0 0 29 2 *", "UTC", "2026-01-01 00:00", "2028-02-29 00:00 2032-02-29 00:00"},
		{"0 0 29 FEB *", "UTC", "2097-01-01 00:00", "2104-02-29 00:00"}, // 2100 has none
		{"0 0 31 * *", "UTC", "2026-01-31 00:00", "2026-03-31 00:00 2026-05-31 00:00"},
		{"0 0 13 * fri", "UTC", "2026-01-09 00:00", "2026-01-13 00:00 2026-01-16 00:00"},  // either day
		{"0 0 */2 * fri", "UTC", "2026-01-01 00:00", "2026-01-09 00:00 2026-01-23 00:00"}, // both
		{"0 0 30 2 1", "UTC", "2026-01-31 00:00", "2026-02-02 00:00"},                     // Mondays of February
		{"59 23 31 12 *", "UTC", "2026-12-31 23:59", "2027-12-31 23:59"},
		{"0 3 * * *", "Asia/Tashkent", "2026-01-01 00:00", "2026-01-01 22:00 2026-01-02 22:00"},
		{"@daily", "Asia/Kathmandu", "2026-01-01 00:00", "2026-01-01 18:15"},

		// Clocks in Berlin go from 02:00 to 03:00 on 29 March 2026 at 01:00 UTC.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28 00:00", "2026-03-28 01:30 2026-03-29 01:00 2026-03-30 00:30"},
		{"0 2 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 01:00 2026-03-30 00:00"},
		{"15,45 2 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 01:00 2026-03-30 00:15"}, // made up for once
		{"0 3 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 01:00 2026-03-30 01:00"},
		{"0 2,3 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 01:00 2026-03-30 00:00"},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29 00:15", "2026-03-29 00:30 2026-03-29 01:00 2026-03-29 01:30"},
		{"30 */2 * * *", "Europe/Berlin", "2026-03-28 23:00", "2026-03-28 23:30 2026-03-29 02:30"}, // 02:30 is not made up for

		// They go from 03:00 to 02:00 on 25 October 2026 at 01:00 UTC.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-25 00:30 2026-10-26 01:30"},
		{"0 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-25 00:00 2026-10-26 01:00"},
		{"0 3 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-25 02:00 2026-10-26 02:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25 01:10", "2026-10-26 01:30"}, // within the hour that comes again
		{"*/30 * * * *", "Europe/Berlin", "2026-10-25 00:15", "2026-10-25 00:30 2026-10-25 01:00 2026-10-25 01:30 2026-10-25 02:00"},
		{"0 * * * *", "Europe/Berlin", "2026-10-24 23:30", "2026-10-25 00:00 2026-10-25 01:00 2026-10-25 02:00"},

		// Half an hour on Lord Howe, and a day that Samoa did not have.
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 00:00", "2026-10-03 15:30 2026-10-04 15:15"},
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-29 00:00", "2011-12-30 10:00 2012-12-29 22:00"},
		// Clocks that are put back at midnight do not repeat what the day had.
		{"0 0 * * *", "America/Havana", "2026-10-31 12:00", "2026-11-01 04:00 2026-11-02 05:00"},
	} {
		s, err := ParseSchedule(c.expression, c.zone)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		at, err := time.Parse(form, c.after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.Count(c.want, ":") {
			if at = s.Next(at); at.IsZero() {
				break
			}
			got = append(got, at.Format(form))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %s after %s:\ngot  %s\nwant %s", c.expression, c.zone, c.after, strings.Join(got, " "), c.want)
		}
	}
}

// Whatever the schedule and the zone, runs go forward, and each is at a time that the schedule names, or
// at one at which clocks were put forward.
func TestRunsGoForward(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "America/Havana"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for h := range 24 {
			s, err := ParseSchedule(fmt.Sprintf("17 %d * * *", h), zone)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			days := map[string]int{}
			for {
				next := s.Next(at)
				if !next.After(at) || next.Sub(at) > 50*time.Hour {
					t.Fatalf("%s hour %d: after %s comes %s", zone, h, at, next)
				}
				if at = next; at.Year() > 2026 {
					break
				}
				local := at.In(loc)
				begin, _ := local.ZoneBounds()
				if (local.Hour() != h || local.Minute() != 17) && !at.Equal(begin) {
					t.Errorf("%s hour %d: at %s", zone, h, local)
				}
				days[local.Format(time.DateOnly)]++
			}
			for day, n := range days {
				if n != 1 {
					t.Errorf("%s hour %d: %d runs on %s", zone, h, n, day)
				}
			}
		}
	}
}

func BenchmarkNext(b *testing.B) {
	s, err := ParseSchedule("0 0 29 2 *", "Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	at := time.Date(2097, 1, 1, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		at2 := s.Next(at)
		_ = at2
	}
}

func TestDatabaseNames(t *testing.T) {
	for own, want := range map[string]string{
		"shop": "alice_shop", "alice_shop": "alice_shop", "a": "alice_a", "1_2": "alice_1_2", strings.Repeat("a", 24): "alice_" + strings.Repeat("a", 24),
		"": "", "_a": "", "alice_": "", "A": "", "a-b": "", "a b": "", "a`b": "", "bob_shop": "alice_bob_shop", strings.Repeat("a", 25): "", "a\n": "", "ä": "",
	} {
		got, err := DatabaseName("alice", own)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %q, %v; want %q", own, got, err, want)
		}
	}
	for _, own := range [][2]string{{"information", "schema"}, {"performance", "schema"}, {"pg", "monitor"}, {"", "a"}} {
		if name, err := DatabaseName(own[0], own[1]); err == nil {
			t.Errorf("a server's own name: %s", name)
		}
	}
}
