package logs

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// TestCountsGoAlongWithAnAccount: another machine goes on where the former has stopped, on the same day too, and knows its visitors.
func TestCountsGoAlongWithAnAccount(t *testing.T) {
	now := start
	clock := func() time.Time { return now }
	former, other := newDriver(t, Policy{}, clock), newDriver(t, Policy{}, clock)
	a, err := former.lookup("1")
	must(t, err)
	come := func(d *Driver, ip string) {
		t.Helper()
		write(t, d.store, panel.LogAccess, visit(now, ip, "GET /", 200, firefox))
	}
	answer := func(d *Driver) panel.Visits {
		t.Helper()
		v, err := d.Visits(t.Context(), "1", 30)
		must(t, err)
		return v
	}
	come(former, "192.0.2.1")
	answer(former)
	now = now.AddDate(0, 0, 1)
	come(former, "192.0.2.1")
	come(former, "192.0.2.2")
	write(t, other.store, panel.LogAccess, visit(now, "192.0.2.9", "GET /", 503, firefox)) // while it is being filled
	answer(other)
	before := answer(former)
	counts, err := former.Carry(t.Context(), a)
	must(t, err)
	for range 2 { // a process that died does it again
		must(t, other.TakeOver(t.Context(), a, counts))
	}
	if got := answer(other); !reflect.DeepEqual(got, before) || len(got.Days) != 2 {
		t.Errorf("there are %+v, want %+v", got, before)
	}
	come(other, "192.0.2.1") // was here today
	come(other, "192.0.2.3")
	if got := answer(other).Days[1]; got.Views != 4 || got.Visitors != 3 {
		t.Errorf("on the day of the move: %+v", got)
	}
	sent, err := other.count(t.Context(), a.Name)
	if must(t, err); sent != 500 {
		t.Errorf("%d bytes this month, want those of both machines", sent)
	}
	for _, bad := range []string{"", "[]", `{"days": [{"date": "yesterday"}]}`, `{"traffic": {"bytes": -1}}`, `{"traffic": {"today": {"date": "2026-11-21", "seen": "AAAA"}}}`} {
		if err := other.TakeOver(t.Context(), a, []byte(bad)); !errors.Is(err, panel.ErrInvalid) {
			t.Errorf("%q was taken: %v", bad, err)
		}
	}
}
