package logs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

func TestStatisticsAreByDayWithoutAGap(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Must(w.store.Prepare("alice", os.Geteuid(), os.Getegid(), panel.LogAccess))
		f, err := os.OpenFile(w.store.File("alice", panel.LogAccess), os.O_APPEND|os.O_WRONLY, 0)
		w.Must(err)
		now := w.Clock.Now().UTC()
		for _, at := range []time.Time{now, now} {
			_, err = fmt.Fprintf(f, "192.0.2.7 - - [%s] \"GET / HTTP/1.1\" 200 9 \"-\" \"Firefox/140\" \"a.example\" 100 0.001\n", at.Format("02/Jan/2006:15:04:05 -0700"))
			w.Must(err)
		}
		w.Must(f.Close())
		ask := func(service int, token, query string) (int, statisticsWire, string) {
			req, err := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("%s/api/v1/services/%d/statistics%s", w.server.URL, service, query), nil)
			w.Must(err)
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := http.DefaultClient.Do(req)
			w.Must(err)
			defer res.Body.Close()
			var answer struct {
				statisticsWire
				Error string
			}
			w.Must(json.NewDecoder(res.Body).Decode(&answer))
			return res.StatusCode, answer.statisticsWire, answer.Error
		}
		status, got, _ := ask(7, "own", "")
		today := dayWire{Date: now.Format(time.DateOnly), Visitors: 1, Views: 2, Requests: 2, Bytes: 200, Statuses: statusWire{Fine: 2}}
		if status != 200 || len(got.Days) != 1 || got.Days[0] != today || len(got.Pages) != 1 || got.Pages[0] != (pageWire{"/", 2}) || got.Disk == nil {
			t.Errorf("%d: %+v", status, got)
		}
		for _, c := range []struct {
			service      int
			token, query string
			status       int
			key          string
		}{
			{7, "own", "?days=401", 422, "validation_failed"},
			{7, "own", "?days=0", 422, "validation_failed"},
			{7, "bad", "", 403, "insufficient_scope"},
			{8, "own", "", 422, "unsupported_operation"},
			{9, "own", "", 422, "service_not_active"},
			{99, "own", "", 404, "not_found"},
		} {
			if status, _, key := ask(c.service, c.token, c.query); status != c.status || key != c.key {
				t.Errorf("%+v: %d %s", c, status, key)
			}
		}
	})
}

func TestDaysWithoutAVisitAreShown(t *testing.T) {
	t.Parallel()
	got := statisticsOf(panel.Visits{Days: []panel.VisitDay{{Date: "2026-02-27", Views: 1}, {Date: "2026-03-02", Views: 2}}},
		&panel.Usage{DiskBytes: 10, DatabaseBytes: 3, MailBytes: 4})
	if len(got.Days) != 4 || got.Days[1] != (dayWire{Date: "2026-02-28"}) || got.Days[3].Views != 2 || *got.Disk != (diskWire{3, 3, 4}) {
		t.Errorf("%+v", got)
	}
}
