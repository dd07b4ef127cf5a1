package monitors

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/probe"
)

// TestVerdicts plays what regions find. A letter is a region: c the control plane, m and n nodes. A capital fails. Those
// behind a slash have a vote.
func TestVerdicts(t *testing.T) {
	ids := map[byte]int64{'c': homeRegion, 'm': 1, 'n': 2}
	for name, test := range map[string]struct {
		s     settings
		story string // one finding each 10 s
		want  Status
		outs  int
	}{
		"one of three":                        {settings{}, "cmn cmN cmN", Up, 0},
		"two of three":                        {settings{}, "cmn CmN cmn", Up, 1},
		"all of three":                        {settings{}, "cmn CMN", Down, 1},
		"one of two":                          {settings{}, "cm cM cm Cm", Up, 0},
		"both of two":                         {settings{}, "cm CM", Down, 1},
		"the node alone of two":               {settings{}, "cm cM cM cM", Degraded, 0},
		"a node alone, though one is enough":  {settings{Quorum: 1}, "cmn cMn cMn", Up, 0},
		"two nodes, where one is enough":      {settings{Quorum: 1}, "cmn cMN", Down, 1},
		"the control plane, one is enough":    {settings{Quorum: 1}, "cmn Cmn", Down, 1},
		"more than there are":                 {settings{Quorum: 5}, "cm CM", Down, 1},
		"three of three":                      {settings{Quorum: 3}, "cmn CMn CmN", Up, 0},
		"a region that is silent":             {settings{}, "cmn C M/cm", Down, 1},
		"a suspended node":                    {settings{}, "cm cM/c CM/c", Down, 1},
		"a suspended node that is alone":      {settings{}, "cm cM/c cM/c", Up, 0},
		"a suspended control plane":           {settings{}, "cmn C/mn C/mn", Up, 0},
		"a node alone decides nothing":        {settings{}, "m/m M/m M/m", Pending, 0},
		"a node alone gives no all-clear":     {settings{}, "cm CM Cm/m", Down, 1},
		"nobody has a vote":                   {settings{}, "cm CM/", Up, 0},
		"two nodes without the control plane": {settings{}, "cmn MN/mn", Down, 1},
		"retries count by region":             {settings{Retries: 1}, "cm CM cm CM", Up, 0},
		"retries in both":                     {settings{Retries: 1}, "cm CM CM", Down, 1},
		"flapping of one region":              {settings{}, "cmn cmN cmn cmN cmn cmN cmn cmN cmn cmN", Up, 0},
	} {
		t.Run(name, func(t *testing.T) {
			y := newStory(t, test.s)
			second := 0
			for round := range strings.FieldsSeq(test.story) {
				found, voting, some := strings.Cut(round, "/")
				var voters map[int64]bool
				if some {
					voters = map[int64]bool{}
					for i := range len(voting) {
						voters[ids[voting[i]]] = true
					}
				}
				for i := range len(found) {
					ok := found[i] >= 'a'
					f := finding{Region: ids[found[i]|0x20], OK: ok, Voters: voters}
					if !ok {
						f.ErrorKey = "timeout"
					}
					y.tell(second, f)
					second++
				}
				second += 10
			}
			outs := 0
			for _, c := range y.changes {
				if c.To == Down && !c.Again {
					outs++
				}
			}
			if y.status != test.want || outs != test.outs {
				t.Errorf("%s after %d outages, want %s after %d: %+v", y.status, outs, test.want, test.outs, y.changes)
			}
		})
	}
}

func TestLateNewsOfARegionTurnsNoTimeBack(t *testing.T) {
	y := newStory(t, settings{}).ok(0, 60, 120)
	y.tell(30, finding{Region: 1, OK: true}).tell(50, finding{Region: 1, ErrorKey: "timeout"})
	if y.ok(180).is(Up); !y.m.Seen.Equal(noon.Add(180 * time.Second)) {
		t.Errorf("%+v", y.m)
	}
	y.spentIs(map[Status]int{Up: 180})
}

func TestNodesMakeNothingSlow(t *testing.T) {
	y := newStory(t, settings{MaxResponseMS: 200})
	for i := range 6 {
		y.ok(60*i).tell(60*i+1, finding{Region: 1, OK: true, Response: 60_000})
	}
	y.is(Up)
}

func TestARegionThatFailsAloneIsSuspended(t *testing.T) {
	for name, test := range map[string]struct {
		shares map[int64]share
		want   []int64
	}{
		"all is well":                  {map[int64]share{0: {0, 10}, 1: {1, 10}}, nil},
		"a node has no network":        {map[int64]share{0: {0, 10}, 1: {10, 10}}, []int64{1}},
		"half is enough":               {map[int64]share{0: {2, 10}, 1: {5, 10}}, []int64{1}},
		"the control plane has none":   {map[int64]share{0: {9, 10}, 1: {0, 10}, 2: {0, 10}}, []int64{0}},
		"much is down everywhere":      {map[int64]share{0: {6, 10}, 1: {5, 10}, 2: {7, 10}}, nil},
		"nobody to compare with":       {map[int64]share{0: {10, 10}}, nil},
		"too few monitors":             {map[int64]share{0: {0, 10}, 1: {2, 2}}, nil},
		"others see too few":           {map[int64]share{0: {0, 2}, 1: {10, 10}}, nil},
		"one liar says all is well":    {map[int64]share{0: {6, 10}, 1: {0, 10}, 2: {6, 10}}, nil},
		"two of three have no network": {map[int64]share{0: {0, 10}, 1: {10, 10}, 2: {10, 10}}, nil}, // who is right?
		"a quarter at most is calm":    {map[int64]share{0: {3, 10}, 1: {10, 10}}, nil},
	} {
		if got := slices.Sorted(maps.Keys(suspended(test.shares))); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestResultsThatCannotBeAreRefused, since a node may lie.
func TestResultsThatCannotBeAreRefused(t *testing.T) {
	good := nodelink.CheckResult{
		ID: 1, ScheduledAt: noon.Add(-2 * time.Second), CheckedAt: noon.Add(-time.Second),
		Result: probe.Result{OK: true, HTTPStatus: 200, Response: time.Second},
	}
	soon := noon.Add(day)
	for name, change := range map[string]func(r *nodelink.CheckResult){
		"no monitor":         func(r *nodelink.CheckResult) { r.ID = 0 },
		"of the future":      func(r *nodelink.CheckResult) { r.CheckedAt = noon.Add(time.Minute) },
		"old":                func(r *nodelink.CheckResult) { r.CheckedAt = noon.Add(-10 * time.Minute); r.ScheduledAt = r.CheckedAt },
		"no time":            func(r *nodelink.CheckResult) { r.CheckedAt, r.ScheduledAt = time.Time{}, time.Time{} },
		"due afterwards":     func(r *nodelink.CheckResult) { r.ScheduledAt = noon },
		"due long before":    func(r *nodelink.CheckResult) { r.ScheduledAt = noon.Add(-time.Hour) },
		"unknown":            func(r *nodelink.CheckResult) { r.Result.Unknown = true },
		"a heartbeat":        func(r *nodelink.CheckResult) { r.Result.Called = true },
		"good with an error": func(r *nodelink.CheckResult) { r.Result.ErrorKey = probe.KeyDNS },
		"bad without one":    func(r *nodelink.CheckResult) { r.Result.OK = false },
		"bad for any reason": func(r *nodelink.CheckResult) { r.Result.OK, r.Result.ErrorKey = false, "hello" },
		"unregistered":       func(r *nodelink.CheckResult) { r.Result.OK, r.Result.ErrorKey = false, probe.KeyUnregistered },
		"a missed heartbeat": func(r *nodelink.CheckResult) { r.Result.OK, r.Result.ErrorKey = false, probe.KeyMissed },
		"no status":          func(r *nodelink.CheckResult) { r.Result.HTTPStatus = 99999 },
		"negative time":      func(r *nodelink.CheckResult) { r.Result.Response = -1 },
		"endless":            func(r *nodelink.CheckResult) { r.Result.TLS = time.Hour },
	} {
		r := good
		change(&r)
		if o, ok := plausible(r, noon); ok {
			t.Errorf("%s: %+v", name, o)
		}
	}
	r := good
	r.Result.Certificate, r.Result.DomainExpiresAt = &probe.Certificate{ExpiresAt: soon}, &soon
	r.CheckedAt = noon.Add(5 * time.Second) // its clock is a little ahead
	r.Result.OK, r.Result.ErrorKey, r.Result.Detail = false, probe.KeyStatus, "a\nb\x00\xff"+strings.Repeat("ʻ", 400)
	o, ok := plausible(r, noon)
	if !ok || !o.checkedAt.Equal(noon) || o.result.Certificate != nil || o.result.DomainExpiresAt != nil || !strings.HasPrefix(o.result.Detail, "a b  ʻ") ||
		len([]rune(o.result.Detail)) != mostDetail {
		t.Errorf("%t %+v", ok, o)
	}
}

func TestWhatMayHoldSecretsStaysWithTheControlPlane(t *testing.T) {
	for name, test := range map[string]struct {
		s    settings
		home bool
	}{
		"an address":           {settings{Target: probe.Target{Type: probe.HTTP, URL: "https://example.com/"}}, false},
		"a query":              {settings{Target: probe.Target{Type: probe.HTTP, URL: "https://example.com/?token=1"}}, true},
		"a body":               {settings{Target: probe.Target{Type: probe.HTTP, URL: "https://example.com/", Body: "x"}}, true},
		"headers":              {settings{HeaderNames: []string{"Authorization"}}, true},
		"headers, and regions": {settings{HeaderNames: []string{"Authorization"}, Regions: []string{home, "tashkent"}}, false},
		"a heartbeat":          {settings{Target: probe.Target{Type: probe.Heartbeat}, Regions: []string{home, "tashkent"}}, true},
		"a domain":             {settings{Target: probe.Target{Type: probe.Domain}}, true},
		"a service of ours":    {settings{Target: probe.Target{Type: probe.HTTP, Origin: "192.0.2.1:80"}}, true},
	} {
		if got := test.s.homeOnly(); got != test.home {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAsksAreReadAsTheyAreWritten(t *testing.T) {
	var a asks
	a.add("1:7,8", noon)
	a.add("2:9", noon.Add(10*time.Second))
	for _, bad := range []string{"", "1", "x:1", "1:", "1:x"} {
		a.add(bad, noon)
	}
	if got := a.since(noon, 0); !slices.Equal(got, []int64{7, 8, 9}) {
		t.Errorf("%v", got)
	}
	if got := a.since(noon.Add(5*time.Second), 1); !slices.Equal(got, []int64{9}) {
		t.Errorf("%v", got)
	}
	if got := a.since(noon, 2); !slices.Equal(got, []int64{7, 8}) {
		t.Errorf("%v", got)
	}
	a.add("3:1", noon.Add(2*time.Minute))
	if got := a.since(time.Time{}, 0); !slices.Equal(got, []int64{1}) {
		t.Errorf("%v", got)
	}
}
