package logs

import (
	"fmt"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// visit is a line of the access log.
func visit(at time.Time, ip, request string, status int, agent string) string {
	return fmt.Sprintf("%s - - [%s] \"%s HTTP/1.1\" %d 90 \"-\" \"%s\" \"a.example\" 100 0.001\n", ip, at.Format(accessTime), request, status, agent)
}

func TestVisitsAreCountedByDay(t *testing.T) {
	now := start
	d := newDriver(t, Policy{}, func() time.Time { return now })
	answer := func(days int) panel.Visits {
		t.Helper()
		v, err := d.Visits(t.Context(), "1", days)
		must(t, err)
		return v
	}
	if v := answer(30); len(v.Days) != 1 || v.Days[0] != (panel.VisitDay{Date: "2026-11-21"}) || len(v.Pages) != 0 {
		t.Errorf("at first: %+v", v)
	}
	for _, line := range []string{
		visit(now, "192.0.2.1", "GET /?q=1", 200, firefox), visit(now, "192.0.2.1", "GET /shop.php", 200, firefox),
		visit(now, "192.0.2.2", "GET /", 304, firefox), visit(now, "192.0.2.2", "GET /logo.PNG", 200, firefox),
		visit(now, "192.0.2.3", "POST /", 302, firefox), visit(now, "192.0.2.4", "GET /none", 404, firefox),
		visit(now, "192.0.2.5", "GET /", 500, firefox), visit(now, "192.0.2.6", "GET /", 200, "Mozilla/5.0 (compatible; Googlebot/2.1)"),
		visit(now, "192.0.2.7", "GET /", 200, "-"), visit(now, "192.0.2.1", `GET /a\x22b`, 200, firefox),
	} {
		write(t, d.store, panel.LogAccess, line)
	}
	first := panel.VisitDay{
		Date: "2026-11-21", Requests: 10, Bytes: 1000, Views: 4, Visitors: 2, Bots: 2, Status2xx: 6, Status3xx: 2, Status4xx: 1, Status5xx: 1,
	}
	for range 2 { // nothing is counted twice
		v := answer(30)
		if len(v.Days) != 1 || v.Days[0] != first || len(v.Pages) != 3 || v.Pages[0] != (panel.PageVisits{Path: "/", Views: 2}) {
			t.Errorf("%+v", v)
		}
	}
	key := d.sent.Get("alice").Today.Key

	// The next day: a line of the former one that is late counts to the present one, and one of tomorrow, too.
	now = now.AddDate(0, 0, 1)
	for _, at := range []time.Time{now, now.AddDate(0, 0, -1), now.AddDate(1, 0, 0)} {
		write(t, d.store, panel.LogAccess, visit(at, "192.0.2.1", "GET /shop.php", 200, firefox))
	}
	d.Tick(t.Context())
	v := answer(30)
	if len(v.Days) != 2 || v.Days[0] != first || v.Days[1].Views != 3 || v.Days[1].Visitors != 1 || v.Pages[0] != (panel.PageVisits{Path: "/shop.php", Views: 4}) {
		t.Errorf("on the next day: %+v", v)
	}
	if today := d.sent.Get("alice").Today; string(today.Key) == string(key) || len(today.Key) != 32 {
		t.Error("visitors of two days can be told to be the same")
	}
	if v := answer(1); len(v.Days) != 1 || v.Days[0].Date != "2026-11-22" {
		t.Errorf("one day: %+v", v)
	}

	// What is kept is bounded, and goes with the account.
	var over []pastDay
	for range panel.MaxVisitDays + 5 {
		now = now.AddDate(0, 0, 1)
		over = append(over, pastDay{panel.VisitDay{Date: now.Format(dayForm)}, []panel.PageVisits{{Path: "/", Views: 1}}})
	}
	must(t, d.keep("alice", over))
	now = now.AddDate(0, 0, 1)
	kept := d.days.Get("alice")
	if len(kept) != panel.MaxVisitDays-1 || len(answer(panel.MaxVisitDays).Days) != panel.MaxVisitDays {
		t.Errorf("%d days are kept", len(kept))
	}
	if kept[0].Pages != nil || len(kept[len(kept)-1].Pages) != 1 {
		t.Error("pages are kept of the last month only")
	}
	must(t, d.Remove(t.Context(), accounts.Account{Record: accounts.Record{Name: "alice"}}))
	if left := d.days.All(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestADayThatIsCountedAgainAfterACrashCountsOnce(t *testing.T) {
	now := start
	d := newDriver(t, Policy{}, func() time.Time { return now })
	write(t, d.store, panel.LogAccess, visit(now, "192.0.2.1", "GET /", 200, firefox))
	before := d.sent.Get("alice") // what is on the disk when the agent dies
	now = now.AddDate(0, 0, 1)
	d.Tick(t.Context())
	_, err := d.sent.Update("alice", func(t *traffic) error { *t = before; return nil })
	must(t, err)
	v, err := d.Visits(t.Context(), "1", 2)
	must(t, err)
	if len(v.Days) != 2 || v.Days[0].Requests+v.Days[1].Requests != 1 {
		t.Errorf("%+v", v.Days)
	}
}

func TestDifferentVisitorsAreEstimated(t *testing.T) {
	t.Parallel()
	for _, want := range []int{1, 10, 100, 1000, 50_000} {
		var d distinct
		for n := range want {
			for range 2 {
				d = d.add([]byte("key"), fmt.Sprint("192.0.2.", n))
			}
		}
		if got := int(d.count()); got < want*94/100 || got > want*106/100 {
			t.Errorf("%d visitors are counted as %d", want, got)
		}
	}
}

func TestPagesOfADayAreBounded(t *testing.T) {
	t.Parallel()
	var d today
	for n := range 3 * pagesLive {
		l, sent, _ := ParseAccess(visit(start, "192.0.2.1", fmt.Sprintf("GET /%d%0300d", n, 0), 200, firefox))
		d.add(l, sent, firefox)
	}
	if len(d.Pages) != pagesLive || d.Views != 3*pagesLive || len(d.past().Pages) != pagesOfDay {
		t.Errorf("%d pages, %d views", len(d.Pages), d.Views)
	}
	for page := range d.Pages {
		if len(page) > longestPage {
			t.Errorf("a page of %d bytes", len(page))
		}
	}
}
