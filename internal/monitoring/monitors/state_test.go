package monitors

import (
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/probe"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// story plays findings to the state machine.
type story struct {
	t       *testing.T
	s       settings
	status  Status
	m       memory
	spent   map[Status]time.Duration
	changes []change
}

func newStory(t *testing.T, s settings) *story {
	if s.IntervalS == 0 {
		s.IntervalS = 60
	}
	if s.RetryIntervalS == 0 {
		s.RetryIntervalS = 20
	}
	if s.Target.TimeoutMS == 0 {
		s.Target.TimeoutMS = 10_000
	}
	return &story{t: t, s: s, status: Pending, spent: map[Status]time.Duration{}}
}

// tell plays a finding so many seconds after noon.
func (y *story) tell(second int, f finding) *story {
	y.t.Helper()
	f.At = noon.Add(time.Duration(second) * time.Second)
	var (
		spans []span
		c     *change
	)
	y.status, y.m, spans, c = apply(y.status, y.m, y.s, f)
	last := time.Time{}
	for _, s := range spans {
		y.spent[s.Status] += s.To.Sub(s.From)
		if !s.To.After(s.From) || s.From.Before(last) {
			y.t.Errorf("at %d: spans %v", second, spans)
		}
		last = s.To
	}
	if c != nil {
		y.changes = append(y.changes, *c)
	}
	return y
}

func (y *story) ok(seconds ...int) *story {
	y.t.Helper()
	for _, s := range seconds {
		y.tell(s, finding{OK: true, Response: 100})
	}
	return y
}

func (y *story) fails(seconds ...int) *story {
	y.t.Helper()
	for _, s := range seconds {
		y.tell(s, finding{ErrorKey: "http_status"})
	}
	return y
}

func (y *story) is(want Status) *story {
	y.t.Helper()
	if y.status != want {
		y.t.Fatalf("%s, want %s; %+v", y.status, want, y.m)
	}
	return y
}

// spentIs compares the seconds in states.
func (y *story) spentIs(want map[Status]int) {
	y.t.Helper()
	for _, s := range []Status{Up, Degraded, Down, Maintenance, unknown} {
		if got := int(y.spent[s].Seconds()); got != want[s] {
			y.t.Errorf("%d s %s, want %d", got, s, want[s])
		}
	}
}

func (y *story) went(to ...Status) *story {
	y.t.Helper()
	var got []Status
	for _, c := range y.changes {
		if !c.Settled || c.Began {
			got = append(got, c.To)
		}
	}
	if !slices.Equal(got, to) {
		y.t.Errorf("changes to %v, want %v", got, to)
	}
	return y
}

func TestAnOutageBeginsWithTheFirstFailureAndEndsWithTheFirstSuccess(t *testing.T) {
	y := newStory(t, settings{Retries: 2}).ok(0, 60).is(Up).fails(120, 140).is(Up).fails(160).is(Down).fails(220).ok(280).is(Up)
	y.went(Up, Down, Up).spentIs(map[Status]int{Up: 120, Down: 160})
	if at := y.changes[1].At; !at.Equal(noon.Add(120 * time.Second)) {
		t.Errorf("the outage begins at %v", at)
	}
	if at := y.changes[2].At; !at.Equal(noon.Add(280 * time.Second)) {
		t.Errorf("the outage ends at %v", at)
	}
}

func TestFailuresThatAreForgivenCountAsUp(t *testing.T) {
	newStory(t, settings{Retries: 2}).ok(0).fails(60, 80).ok(100).fails(160, 180).ok(200).is(Up).went(Up).spentIs(map[Status]int{Up: 200})
}

func TestWithoutRetriesTheFirstFailureIsAnOutage(t *testing.T) {
	newStory(t, settings{}).fails(0).is(Down).ok(60).is(Up).went(Down, Up).spentIs(map[Status]int{Down: 60})
}

func TestRetriesThatTakeLongerThanTheHorizonAreStillDown(t *testing.T) {
	y := newStory(t, settings{Retries: 10, RetryIntervalS: 60}).ok(0)
	for i := range 11 {
		y.fails(60 + 60*i)
	}
	y.is(Down).spentIs(map[Status]int{Up: 60, Down: 600})
}

func TestTimeInWhichNobodyLookedIsUnknown(t *testing.T) {
	// Known for two intervals and the time for an answer: 130 s.
	newStory(t, settings{}).ok(0, 60, 660).is(Up).spentIs(map[Status]int{Up: 190, unknown: 470})
	newStory(t, settings{}).ok(0).tell(60, finding{Unknown: true}).is(Up).ok(120).went(Up).spentIs(map[Status]int{Up: 60, unknown: 60})
}

func TestAQuorumOfRegionsDecides(t *testing.T) {
	from := func(y *story, second int, region int64, ok bool) {
		y.tell(second, finding{Region: region, OK: ok, ErrorKey: map[bool]string{false: "timeout"}[ok]})
	}
	y := newStory(t, settings{})
	for r := range int64(3) {
		from(y, int(r), r, true)
	}
	from(y, 60, 0, false)
	y.is(Up) // one of three
	from(y, 62, 2, true)
	from(y, 63, 1, false)
	y.is(Down)
	if c := y.changes[len(y.changes)-1]; c.Confirmed != 2 || !slices.Equal(c.Regions, []int64{0, 1}) || !c.At.Equal(noon.Add(62*time.Second)) {
		t.Errorf("%+v", c)
	}
	from(y, 120, 1, true)
	y.is(Up) // one of three is no quorum

	strict := newStory(t, settings{Quorum: 5})
	from(strict, 0, 0, true)
	from(strict, 1, 1, true)
	from(strict, 60, 0, false)
	strict.is(Up)
	from(strict, 61, 1, false)
	strict.is(Down) // never more than there are

	// A region that has gone has no vote after a while.
	gone := newStory(t, settings{})
	from(gone, 0, 0, true)
	from(gone, 0, 1, true)
	from(gone, 60, 0, false)
	gone.is(Up)
	for s := 120; s < 300; s += 60 {
		from(gone, s, 0, false)
	}
	gone.is(Down)
}

func TestSlowOrPartlyFailingIsDegraded(t *testing.T) {
	y := newStory(t, settings{MaxResponseMS: 200})
	for i, ms := range []int{100, 300, 300, 100, 100} {
		y.tell(60*i, finding{OK: true, Response: ms})
		if want := map[bool]Status{true: Degraded, false: Up}[i == 2 || i == 3]; y.status != want {
			t.Errorf("after %d: %s, want %s", i, y.status, want)
		}
	}
	y.went(Up, Degraded, Up)
	parts := newStory(t, settings{Quorum: 2})
	for i := range 5 {
		parts.tell(60*i, finding{Region: 0, OK: true}).tell(60*i+1, finding{Region: 2, ErrorKey: "timeout"})
	}
	parts.is(Degraded)
}

func TestMaintenance(t *testing.T) {
	start, end := noon.Add(100*time.Second), noon.Add(400*time.Second)
	window := settings{Windows: windows{{StartsAt: &start, EndsAt: &end}}}
	// Down within a window alarms nobody, and what is over before its end neither.
	newStory(t, window).ok(0, 60).fails(120, 180, 240).is(Maintenance).ok(300, 360, 420).is(Up).went(Up, Maintenance, Up).
		spentIs(map[Status]int{Up: 120, Maintenance: 300})
	// What is still down at its end is an outage from then on.
	y := newStory(t, window).ok(0, 60).fails(120, 180, 240, 300, 360, 420).is(Down)
	y.went(Up, Maintenance, Down).spentIs(map[Status]int{Up: 100, Maintenance: 300, Down: 20})
	if c := y.changes[2]; !c.At.Equal(end) || c.Again {
		t.Errorf("%+v", c)
	}
	// What was down before goes on, and is told of again.
	y = newStory(t, window).ok(0).fails(60, 120, 180, 240, 300, 360, 420).is(Down).ok(480).is(Up)
	y.went(Up, Down, Maintenance, Down, Up).spentIs(map[Status]int{Up: 60, Down: 40 + 80, Maintenance: 300})
	if !y.changes[3].Again {
		t.Error("the outage is another one")
	}
	// What was down before and came back within is told of.
	newStory(t, window).ok(0).fails(60, 120).ok(180, 420).is(Up).went(Up, Down, Maintenance, Up)
}

func TestFlapping(t *testing.T) {
	y := newStory(t, settings{})
	second := 0
	for range 3 {
		y.ok(second).fails(second + 60)
		second += 120
	}
	// Down, up, down, up, down: the fourth transition begins it.
	if !y.m.Flapping {
		t.Fatalf("%+v", y.m)
	}
	began, silent := 0, 0
	for _, c := range y.changes {
		if c.Began {
			began++
		}
		if c.Silent {
			silent++
		}
	}
	if began != 1 || silent != 1 {
		t.Errorf("began %d, silent %d", began, silent)
	}
	y.ok(second, second+60).is(Down).ok(second + 120).is(Up) // three successes
	y.ok(second+180, second+240)
	if !y.m.Flapping {
		t.Error("it is calm too soon")
	}
	y.ok(second + 430)
	if c := y.changes[len(y.changes)-1]; y.m.Flapping || !c.Settled || c.To != Up {
		t.Errorf("%+v, %+v", y.m, c)
	}
	// Outages that are rare are none.
	rare := newStory(t, settings{})
	for h := range 8 {
		rare.ok(3600 * h).fails(3600*h + 60).ok(3600*h + 120)
	}
	if rare.m.Flapping {
		t.Error("one an hour")
	}
}

func TestHeartbeatsThatAreLateAreDown(t *testing.T) {
	s := settings{Target: probe.Target{Type: probe.Heartbeat, TimeoutMS: 10_000}, IntervalS: 60, RetryIntervalS: 30}
	m := &monitor{settings: s, createdAt: noon}
	look := func(after time.Duration) bool {
		_, due := m.missed(outcome{checkedAt: noon.Add(after)})
		return due
	}
	if m.status = Pending; look(time.Hour) {
		t.Error("nobody has called yet")
	}
	m.status, m.lastBeatAt = Up, &noon
	if look(90*time.Second) || !look(91*time.Second) {
		t.Error("the time in which a call is due")
	}
}

func TestEachThresholdIsWarnedOfOnce(t *testing.T) {
	expires := noon.Add(40 * day)
	var m memory
	var told []int
	for h := range 41 * 24 {
		now := noon.Add(time.Duration(h) * time.Hour)
		if days, ok := crossed([]int{30, 14, 7, 1}, expires, now, &m.WarnedDays, &m.WarnedFor); ok {
			told = append(told, days)
		}
	}
	if !slices.Equal(told, []int{30, 14, 7, 1}) {
		t.Errorf("%v", told)
	}
	if _, ok := crossed([]int{30}, expires.Add(20*day), noon.Add(41*day), &m.WarnedDays, &m.WarnedFor); !ok {
		t.Error("a new certificate is another one")
	}
}

func TestWindowsOfTheWeek(t *testing.T) {
	// 24 November 2026 is a Tuesday. Tashkent is five hours ahead.
	w := windows{{Days: []string{"tue"}, From: "23:00", To: "02:00", Timezone: "Asia/Tashkent"}}
	for at, want := range map[string]bool{
		"2026-11-24T17:59:59Z": false, "2026-11-24T18:00:00Z": true, "2026-11-24T20:59:59Z": true, "2026-11-24T21:00:00Z": false,
		"2026-11-25T18:30:00Z": false, "2026-11-23T18:30:00Z": false,
	} {
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil || w.at(moment) != want {
			t.Errorf("%s: %t, %v", at, w.at(moment), err)
		}
	}
	if w := (windows{{From: "00:00", To: "24:00"}}); w.check() == nil {
		t.Error("a time of day that there is not")
	}
}

func TestRollupsOfHoursAndDaysHaveAllTime(t *testing.T) {
	r := rollup{}
	from := noon.Add(-90*time.Minute - 30*time.Second)
	r.spend(1, span{from, noon.Add(20*time.Minute + time.Second), Down}, hour)
	var sum int64
	for k, t := range r {
		if !k.start.Equal(k.start.Truncate(hour)) {
			panic(k)
		}
		sum += t.Down
	}
	if len(r) != 3 || sum != (110*time.Minute+31*time.Second).Milliseconds() {
		t.Errorf("%d slots, %d ms", len(r), sum)
	}
}
