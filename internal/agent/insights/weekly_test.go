package insights

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// A service is audited every week, and after the agent has worked on it when something was to improve.
func TestAuditsComeByThemselves(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		fixed := false
		w := newWorld(t, d, clk, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if fixed {
				rw.Header().Set("Content-Type", "text/html")
				_, _ = rw.Write([]byte(cleanPage))
				return
			}
			untitled(rw, r)
		}))
		follow := func(f func(ctx context.Context, tx *db.Tx, e outbox.Stored) error, e outbox.Stored) {
			t.Helper()
			if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return f(ctx, tx, e) }); err != nil {
				t.Fatal(err)
			}
		}
		due := func() int {
			t.Helper()
			w.queue.audits = nil
			if err := w.Due(t.Context()); err != nil {
				t.Fatal(err)
			}
			return len(w.queue.audits)
		}
		provisioned := outbox.Stored{AccountID: owner, SubjectID: serviceID}
		follow(w.Provisioned, provisioned)
		clk.Advance(weekly.Period)
		if first, second := due(), due(); first != 1 || second != 0 {
			t.Errorf("due %d, then %d", first, second)
		}
		done := outbox.Stored{AccountID: owner, SubjectID: 3, Data: []byte(`{"id": 3, "service_id": 7}`)}
		follow(w.Worked, done)
		if len(w.queue.audits) != 0 {
			t.Error("a service about which nothing is to improve was audited after a run")
		}
		if err := w.auditUnasked(t.Context(), owner, serviceID); err != nil {
			t.Fatal(err)
		}
		follow(w.Worked, done)
		if !slices.Equal(w.queue.audits, []auditArgs{{owner, serviceID}}) {
			t.Fatalf("after a run: %v", w.queue.audits)
		}
		fixed = true
		w.model.answer = func([]int64) string { t.Error("a model was asked and nobody reads it"); return "" }
		if err := w.auditUnasked(t.Context(), owner, serviceID); err != nil {
			t.Fatal(err)
		}
		var l struct{ Meta struct{ Total int } }
		if w.call("own", "GET", "insights?status=open", "", 200, &l); l.Meta.Total != 0 {
			t.Errorf("%d are open after the agent mended the site", l.Meta.Total)
		}
		w.sites.place.Refusal = fault.ServiceSuspended.New()
		if err := w.auditUnasked(t.Context(), owner, serviceID); err != nil {
			t.Errorf("a suspended service: %v", err)
		}
		follow(w.Terminated, provisioned)
		clk.Advance(weekly.Period)
		if n := due(); n != 0 {
			t.Errorf("%d are due after the service has ended", n)
		}
	})
}
