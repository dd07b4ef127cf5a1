package sitedomains

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

func TestAMarkIsToldOnceForEachCrossing(t *testing.T) {
	told := int64(0)
	var got []int64
	for _, percent := range []int64{0, 79, 80, 85, 79, 75, 80, 99, 100, 130, 99, 95, 100, 94, 100, 74, 79, 80, 20, 100} {
		mark, tell := crossed(told, percent)
		if told = mark; tell {
			got = append(got, percent, mark)
		}
	}
	if want := []int64{80, 80, 100, 100, 100, 100, 80, 80, 100, 100}; !slices.Equal(got, want) {
		t.Errorf("told (percent, mark) %v, want %v", got, want)
	}
}

// Usage implements panel.Usages: what the test says, or what there is.
func (m *machine) Usage(ctx context.Context, ref string) (panel.Usage, error) {
	m.mu.Lock()
	uses := m.uses
	m.mu.Unlock()
	if uses != nil {
		return *uses, nil
	}
	return m.fullPanel.Usage(ctx, ref)
}

func (w *world) uses(u panel.Usage) {
	w.T.Helper()
	w.machine.mu.Lock()
	w.machine.uses = &u
	w.machine.mu.Unlock()
	w.Must(w.ApplyAll(w.T.Context(), owner, 10))
}

func TestTheOwnerIsToldOfALimitThatFillsUp(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10, "shop.example") // 100 MB
		const mb = 1 << 20
		told := func(want ...string) {
			t.Helper()
			all, err := db.Collect(t.Context(), w.DB, func(row db.Row) (s string, err error) {
				var accountID, subjectID int64
				err = row.Scan(&accountID, &subjectID, &s)
				return fmt.Sprint(accountID, " ", subjectID, " ", s), err
			}, `SELECT account_id, subject_id, data FROM outbox_events WHERE type = 'service.limit_reached' ORDER BY id`)
			w.Must(err)
			if !slices.Equal(all, want) {
				t.Fatalf("told %q, want %q", all, want)
			}
		}
		event := func(limit string, percent, used, most int) string {
			return fmt.Sprintf(`1 10 {"service_id":10,"domain":"shop.example","limit":%q,"percent":%d,"used":%d,"maximum":%d}`, limit, percent, used, most)
		}
		sent := int64(0)
		use := panel.Usage{DiskBytes: 79 * mb, Inodes: 1_000_000, TrafficBytes: &sent}
		w.uses(use)
		told()
		use.DiskBytes = 81 * mb
		w.uses(use)
		w.uses(use)
		nearly := event("disk_mb", 80, 81, 100)
		told(nearly)
		use.DiskBytes = 100 * mb
		w.uses(use)
		full := event("disk_mb", 100, 100, 100)
		told(nearly, full)

		// A larger plan has room again; a limit that is new is told of, an unlimited one never.
		var limits string
		w.Must(w.DB.QueryRow(t.Context(), `SELECT limits FROM test_services WHERE id = 10`).Scan(&limits))
		w.Exec(`UPDATE test_services SET limits = '{"disk_mb":1000,"inodes":1000000,"bandwidth_gb":-1}' WHERE id = 10`)
		w.uses(use)
		files := event("inodes", 100, 1_000_000, 1_000_000)
		told(nearly, full, files)
		w.Exec(`UPDATE test_services SET limits = $1 WHERE id = 10`, limits)
		w.uses(use)
		told(nearly, full, files, full)

		// One that is offline is not asked about, and the requests that show the use tell nothing.
		use.DiskBytes = 10 * mb
		w.uses(use)
		w.Services.SetStatus(t, 10, "suspended")
		use.DiskBytes = 100 * mb
		w.uses(use)
		if r := w.Do("GET", "/10/usage", "own", ""); r.Code != 200 {
			t.Errorf("%+v", r)
		}
		told(nearly, full, files, full)
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.collection().End(ctx, tx, 10) })
	})
}
