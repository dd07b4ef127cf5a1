package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// terms are a product's.
type terms time.Duration

func (k terms) KeptFor(context.Context, db.Querier, int64) (time.Duration, error) {
	return time.Duration(k), nil
}

// setting is a source of settings: one text.
type setting struct{ text, taken string }

func (s *setting) Export(context.Context, db.Querier, int64, int64) (json.RawMessage, error) {
	if s.text == "" {
		return nil, nil
	}
	return json.Marshal(s.text)
}

func (s *setting) Import(_ context.Context, _ *db.Tx, _, _ int64, document json.RawMessage, _ []string) error {
	return json.Unmarshal(document, &s.taken)
}

func TestWhatEndedIsKeptAsLongAsItsProductSays(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Services.SetStatus(t, 10, "terminating")
		w.Terms = terms(0)
		done, err := w.Keep(ctx, owner, 10)
		w.Must(err)
		w.same("done where nothing is kept", true, done)
		w.same("backups", 0, len(w.ids(`SELECT id FROM backups`)))

		const week = 7 * 24 * time.Hour
		w.Terms = terms(week)
		w.keepsFinal(10)
		w.Must(w.machine.DeleteAccount(ctx, "10"))
		w.Services.SetStatus(t, 10, "terminated")
		w.Clock.Advance(week - time.Minute)
		w.Must(w.Sweep(ctx))
		kept, err := w.Kept(ctx, w.DB, []int64{9, 10})
		w.Must(err)
		w.same("kept within the week", []int64{10}, kept)
		w.Clock.Advance(2 * time.Minute)
		w.Must(w.Sweep(ctx))
		w.settle()
		w.same("backups after it", 0, len(w.ids(`SELECT id FROM backups`)))
		w.Clock.Advance(checkEvery)
		w.checkAll()
		w.same("schedules when nothing is kept", 0, len(w.ids(`SELECT service_id FROM backups_schedules`)))
	})
}

// checkAll does what the jobs of the checks do that are due.
func (w *world) checkAll() {
	w.T.Helper()
	began := w.Clock.Now()
	for _, id := range w.ids(`SELECT service_id FROM backups_schedules WHERE check_at <= $1`, began) {
		testkit.Eventually(w.T, time.Minute, func() bool {
			wait, err := w.check(w.T.Context(), owner, id, began)
			w.Must(err)
			return wait == 0
		}, "the check has ended")
	}
	w.settle()
}

// damages are the data of the owner's notifications of damage.
func (w *world) damages() []damageWire {
	w.T.Helper()
	all, err := db.Collect(w.T.Context(), w.DB, func(r db.Row) (d damageWire, err error) {
		err = r.Scan(db.JSON(&d))
		return d, err
	}, `SELECT data FROM outbox_events WHERE type = 'backup.damaged' ORDER BY sequence`)
	w.Must(err)
	return all
}

// TestBackupsOfAServiceThatIsNotOnlineAreChecked: they are all that it can come back from, and after the end of the service
// nobody adds another.
func TestBackupsOfAServiceThatIsNotOnlineAreChecked(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Services.Add(t, site.Site{ServiceID: 12, AccountID: owner, Panel: "it", Status: "pending"})
		w.write(10, front, strings.Repeat("mine", 1000))
		spoiled, whole := w.made(10, `{"parts":["dns"]}`), w.made(10, `{}`)
		w.Must(w.Apply(ctx, owner, 10))
		w.Services.SetStatus(t, 10, "suspended")
		w.Must(w.machine.SuspendAccount(ctx, "10"))
		w.machine.conditions = map[string]panel.Condition{"b" + fmt.Sprint(spoiled): panel.Damaged}
		w.Clock.Advance(checkEvery)
		w.checkAll()
		w.same("suspended, what the machine found", "failed", w.shows(10)[spoiled].Status)
		w.same("suspended, the newest", "completed", w.shows(10)[whole].Status)
		w.damage(10, whole)
		w.Clock.Advance(checkEvery)
		w.checkAll()
		w.same("suspended, the newest when it is damaged", "failed", w.shows(10)[whole].Status)

		w.Services.SetStatus(t, 10, "terminating")
		w.keepsFinal(10)
		w.Must(w.machine.DeleteAccount(ctx, "10"))
		w.Services.SetStatus(t, 10, "terminated")
		w.Must(w.Apply(ctx, owner, 10))
		w.settle()
		final := w.ids(`SELECT id FROM backups WHERE final`)[0]
		w.Clock.Advance(checkEvery)
		w.checkAll()
		w.same("ended, whole", "completed", w.shows(10)[final].Status)
		w.damage(10, final)
		w.Clock.Advance(checkEvery)
		w.checkAll()
		w.same("ended, damaged", "failed", w.shows(10)[final].Status)
		w.same("its key", "backup_not_restorable", *w.shows(10)[final].ErrorKey)
		kept, err := w.Kept(ctx, w.DB, []int64{10})
		w.Must(err)
		w.same("offered for a return", 0, len(kept))
		w.same("its owner is told", []damageWire{
			{ServiceID: 10, Backups: 1, WholeLeft: true},
			{ServiceID: 10, Backups: 1},
			{ServiceID: 10, Backups: 1, Ended: true},
		}, w.damages())

		wait, err := w.check(ctx, owner, 12, w.Clock.Now())
		w.Must(err)
		w.same("one that has no account yet", time.Duration(0), wait)
	})
}

func TestSettingsComeBackWithAServiceOnly(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		known, none := &setting{text: "as it was"}, &setting{}
		w.Settings["known"] = known
		w.Settings["none"] = none
		id := w.made(10, `{"parts":["dns"]}`)
		known.text = "as it is"
		w.bringBack(10, id, `{"parts":["dns"]}`)
		w.same("taken by a restore", "", known.taken)

		known.text = "as it was"
		w.Services.SetStatus(t, 10, "terminating")
		w.keepsFinal(10)
		w.Must(w.machine.DeleteAccount(ctx, "10"))
		_, err := w.machine.CreateAccount(ctx, panel.AccountSpec{Ref: "10", Username: "s10", PrimaryDomain: "s10.example"})
		w.Must(err)
		w.Services.SetStatus(t, 10, "active")
		w.Must(w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return w.Return(ctx, tx, 10) }))
		w.settle()
		w.same("taken by a return", "as it was", known.taken)
		w.same("taken of nothing", "", none.taken)
	})
}

// TestAFinalBackupIsTriedSoManyTimes: a repository is damaged for good. It was tried every five minutes for ever, and its
// owner told each time.
func TestAFinalBackupIsTriedSoManyTimes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		earlier := w.made(10, `{}`)
		keep := func() error {
			t.Helper()
			_, err := w.Keep(ctx, owner, 10)
			w.settle()
			return err
		}
		finals := func() int { return len(w.ids(`SELECT id FROM backups WHERE final`)) }
		w.Services.SetStatus(t, 10, "terminating")
		w.machine.Fail(panel.ErrInternal)
		for tried := range finalTries {
			if tried > 0 {
				w.Clock.Advance(anotherFinal<<(tried-1) - time.Second)
				if err := keep(); err == nil || errors.Is(err, ErrNotKept) {
					t.Errorf("in the pause after %d: %v", tried, err)
				}
				w.same("tried in a pause", tried, finals())
				w.Clock.Advance(time.Second)
			}
			w.Must(keep())
			w.same("tried", tried+1, finals())
		}
		for range 2 {
			if err := keep(); !errors.Is(err, ErrNotKept) {
				t.Errorf("after all of them: %v", err)
			}
			w.Clock.Advance(24 * time.Hour)
		}
		w.same("tried in all", finalTries, finals())

		// An operator has it end without: what it had before is all that is left, and stays its time.
		w.Services.SetStatus(t, 10, "terminated")
		w.Must(w.Apply(ctx, owner, 10))
		w.same("an earlier backup", 1, len(w.ids(`SELECT id FROM backups WHERE status = 'completed' AND id = $1`, earlier)))
		kept, err := w.Kept(ctx, w.DB, []int64{9, 10})
		w.Must(err)
		w.same("kept", 0, len(kept))
	})
}

// TestWhatFailedBeforeDoesNotCountAtTheNextEnd: a service came back and ends again.
func TestWhatFailedBeforeDoesNotCountAtTheNextEnd(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Services.SetStatus(t, 10, "terminating")
		w.machine.Fail(panel.ErrInternal)
		_, err := w.Keep(ctx, owner, 10)
		w.Must(err)
		w.settle()
		w.machine.Fail(nil)
		w.Clock.Advance(anotherFinal)
		done := false
		for range 2 {
			done, err = w.Keep(ctx, owner, 10)
			w.Must(err)
			w.settle()
		}
		w.same("done", true, done)
		w.Must(w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return w.Return(ctx, tx, 10) }))
		w.settle()
		w.same("final ones of a service that is back", 0, len(w.ids(`SELECT id FROM backups WHERE final`)))
	})
}
