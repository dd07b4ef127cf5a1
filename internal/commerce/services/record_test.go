package services

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
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

func TestTheAccountAskedForDependsOnTheRowAlone(t *testing.T) {
	domain := "shop.test"
	r := record{id: 1042, domain: &domain, limits: `{"disk_mb":500,"inodes":-1,"domains":3,"subdomains":2,"mailboxes":7}`}
	got, err := r.spec()
	if err != nil {
		t.Fatal(err)
	}
	want := panel.AccountSpec{Ref: "1042", Username: "s1042", PrimaryDomain: "shop.test", Limits: panel.Limits{DiskMB: 500, Domains: 5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryFailureOfAPanelHasAPublicKey(t *testing.T) {
	known := map[string]bool{}
	for _, d := range fault.Defs() {
		known[d.Key] = true
	}
	known["disk_full"] = true // defined by the section files
	for _, kind := range []panel.Kind{
		panel.ErrNotFound, panel.ErrExists, panel.ErrSuspended, panel.ErrInUse, panel.ErrLimit, panel.ErrDiskFull,
		panel.ErrUnreachable, panel.ErrBusy, panel.ErrInvalid, panel.ErrUnsupported, panel.ErrInternal,
	} {
		if key := failureKey(kind); !known[key] {
			t.Errorf("%s becomes %q, which is no key", kind, key)
		}
	}
}
