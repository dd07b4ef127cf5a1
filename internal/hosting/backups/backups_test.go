package backups

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

func TestABackupIsMadeAndDownloaded(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(10, front, "mine")
		w.Exec(`INSERT INTO test_records VALUES (10, '{"a":1}')`)
		id := w.made(10, `{"parts":["dns","files"],"note":" before the update "}`)
		b := w.shows(10)[id]
		w.same("kind", "manual", b.Kind)
		w.same("note", "before the update", *b.Note)
		w.same("storage", "local", *b.Storage)
		w.same("until", w.Clock.Now().Add(Kept), *b.ExpiresAt)
		if len(b.Parts) != 2 || b.Parts[0].Part != "files" || b.Parts[0].Status != "completed" || b.Parts[1].Count != 1 || b.SizeMB != 1 || !b.Downloadable {
			t.Errorf("backup: %+v", b)
		}
		w.same("told", []string{"backup.completed"}, w.told(10))

		r := w.Do("GET", fmt.Sprintf("/10/backups/%d/download", id), "own", "")
		w.same("download", http.StatusOK, r.Code)
		gz, err := gzip.NewReader(strings.NewReader(r.Body))
		w.Must(err)
		found := map[string]string{}
		for archive := tar.NewReader(gz); ; {
			h, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			w.Must(err)
			content, err := io.ReadAll(archive)
			w.Must(err)
			found[h.Name] = string(content)
		}
		w.same("page", "mine", found["files"+front])
		w.same("records", `{"zone":{"a":1}}`, found["dns/document.json"])

		into := map[string]int64{}
		w.Must(w.Count(t.Context(), w.DB, 10, into))
		w.same("counted", int64(1), into["backups"])
	})
}

func TestWhoAsksAgainGetsTheSameBackup(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		first, err := w.Request(t.Context(), owner, 10, "run 1")
		w.Must(err)
		again, err := w.Request(t.Context(), owner, 10, "run 1") // though one is under way
		if err != nil || again != first {
			t.Errorf("backup %d and %d, %v", first, again, err)
		}
		if _, err := w.Request(t.Context(), owner, 10, "run 2"); !errors.Is(err, fault.JobRunning) {
			t.Errorf("beside one that is under way: %v", err)
		}
		if _, err := w.Request(t.Context(), stranger, 10, "run 1"); !errors.Is(err, fault.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		w.settle()
		w.same("backups", 1, len(w.shows(10)))
		w.same("status", "completed", w.shows(10)[first].Status)
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 11, "suspended")
		w.service(stranger, 20, "active")
		w.Services.Add(t, site.Site{ServiceID: 12, AccountID: owner, Panel: "bare", Ref: "12", Status: "active"})
		w.Services.Add(t, site.Site{ServiceID: 13, AccountID: owner, Panel: "it", Ref: "13", Status: "terminated"})
		for _, c := range [][2]string{
			{"/20/backups", "404 not_found"},
			{"/99/backups", "404 not_found"},
			{"/11/backups", "422 service_suspended"},
			{"/12/backups", "422 unsupported_operation"},
			{"/13/backups", "422 service_not_active"},
		} {
			w.refused(c[1], "POST", c[0], "own", `{}`)
		}
		w.refused("404 not_found", "GET", "/20/backups", "own", "")
		for _, body := range []string{`{"parts":["everything"]}`, `{"note":"two\nlines"}`, `{"parts":"files"}`} {
			w.refused("422 validation_failed", "POST", "/10/backups", "own", body)
		}

		id := w.ask(10, `{"parts":["files"]}`)
		one := fmt.Sprintf("/10/backups/%d", id)
		w.refused("409 job_running", "POST", "/10/backups", "own", `{}`)
		w.refused("409 job_running", "POST", one+"/restore", "own", `{}`)
		w.refused("409 job_running", "GET", one+"/download", "own", "")
		w.settle()
		for _, stranger := range []string{fmt.Sprintf("/20/backups/%d", id), one} {
			w.refused("404 not_found", "POST", stranger+"/restore", "other", `{}`)
			w.refused("404 not_found", "GET", stranger+"/download", "other", "")
		}
		for _, body := range []string{
			`{"parts":["mail"]}`, `{"parts":["files"],"target":7}`, `{"target":"/x","parts":["dns"]}`, `{"items":["a"],"parts":["dns"]}`,
		} {
			w.refused("422 validation_failed", "POST", one+"/restore", "own", body)
		}
		for _, body := range []string{`{"target":"/../x"}`, `{"items":["../../etc/passwd"]}`, `{"target":"/a\u0001"}`} {
			w.refused("422 path_not_allowed", "POST", one+"/restore", "own", body)
		}
		w.made(10, `{"parts":["files"]}`)
		w.refused("422 limit_reached", "POST", "/10/backups", "own", `{}`)
		w.same("backups", 2, len(w.shows(10)))
	})
}

func TestARestoreKeepsWhatItReplaces(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(10, front, "before")
		w.Exec(`INSERT INTO test_records VALUES (10, '{"a":1}')`)
		id := w.made(10, `{}`)
		w.write(10, front, "after")
		w.write(10, "/public_html/new.html", "new")
		w.Exec(`UPDATE test_records SET document = '{"a":2}'`)

		b := w.bringBack(10, id, `{}`)
		w.same("status", "completed", b.Status)
		w.same("restore", "completed", b.Restore.Status)
		w.same("page", "before", w.read(10, front))
		w.same("what came since", "", w.read(10, "/public_html/new.html"))
		w.same("records", `{"a":1}`, w.records10())
		if w.records.applied == 0 {
			t.Error("the panel was not told of the records")
		}
		w.same("told", []string{"backup.completed", "backup.completed", "backup.restored"}, w.told(10))

		// The restore is undone by what was made before it.
		var before int64
		for _, other := range w.shows(10) {
			if other.Kind == "pre_change" {
				before = other.ID
				w.same("kept until", w.Clock.Now().Add(KeptBeforeChange), *other.ExpiresAt)
			}
		}
		w.bringBack(10, before, `{}`)
		w.same("page", "after", w.read(10, front))
		w.same("new", "new", w.read(10, "/public_html/new.html"))
		w.same("records", `{"a":2}`, w.records10())
	})
}

func TestPartsAndItemsAreRestored(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(10, front, "before")
		w.Exec(`INSERT INTO test_records VALUES (10, '{"a":1}')`)
		id := w.made(10, `{"parts":["files","dns"]}`)
		w.write(10, front, "after")
		w.Exec(`UPDATE test_records SET document = '{"a":2}'`)
		w.bringBack(10, id, `{"parts":["dns"]}`)
		w.same("page", "after", w.read(10, front))
		w.same("records", `{"a":1}`, w.records10())
		w.Exec(`UPDATE test_records SET document = '{"a":3}'`)
		w.bringBack(10, id, `{"target":"/restored"}`)
		w.same("page", "after", w.read(10, front))
		w.same("beside", "before", w.read(10, "/restored"+front))
		w.same("records", `{"a":3}`, w.records10())
		w.bringBack(10, id, `{"parts":["files"],"items":["/public_html/index.html"]}`)
		w.same("page", "before", w.read(10, front))
		b := w.bringBack(10, id, `{"parts":["files"],"items":["/nothing.html"]}`)
		w.same("an item that is not there", "failed", b.Restore.Status)
	})
}

func TestADamagedBackupIsRefusedBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(10, front, strings.Repeat("before", 1000))
		w.Exec(`INSERT INTO test_records VALUES (10, '{"a":1}')`)
		id := w.made(10, `{"parts":["files","dns"]}`)
		w.write(10, front, "as it is")
		w.Exec(`UPDATE test_records SET document = '{"a":2}'`)
		w.damage(10, id)
		b := w.bringBack(10, id, `{}`)
		w.same("status", "failed", b.Status)
		w.same("key", "backup_not_restorable", *b.ErrorKey)
		w.same("restore", "failed", b.Restore.Status)
		w.same("key of the restore", "backup_not_restorable", *b.Restore.ErrorKey)
		w.same("page", "as it is", w.read(10, front))
		w.same("records", `{"a":2}`, w.records10())
		told := w.told(10)
		w.same("told", "backup.restore_failed", told[len(told)-1])
		one := fmt.Sprintf("/10/backups/%d", id)
		w.refused("422 backup_not_restorable", "POST", one+"/restore", "own", `{}`)
		w.refused("422 backup_not_restorable", "GET", one+"/download", "own", "")
	})
}

func TestRecordsThatCannotComeBackLeaveTheFilesAlone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(10, front, "before")
		w.Exec(`INSERT INTO test_records VALUES (10, '{"a":1}')`)
		id := w.made(10, `{}`)
		w.write(10, front, "after")
		w.records.refuses = fault.LimitReached.New()
		b := w.bringBack(10, id, `{}`)
		w.same("key", "limit_reached", *b.Restore.ErrorKey)
		w.same("the backup is good", "completed", b.Status)
		w.same("page", "after", w.read(10, front))
	})
}

// TestAMachineAnswersWhatIsNoDocument: the machine that keeps a backup may be in the hands of an attacker. What it answers ends the
// restore, and the service takes changes again.
func TestAMachineAnswersWhatIsNoDocument(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Exec(`INSERT INTO test_records VALUES (10, '{"a":1}')`)
		id := w.made(10, `{"parts":["dns"]}`)
		w.records.refuses = errors.New("invalid byte sequence") // as PostgreSQL says of a NUL
		w.decode(w.Do("POST", fmt.Sprintf("/10/backups/%d/restore", id), "own", `{}`), http.StatusOK, &shown{})
		var failed error
		testkit.Eventually(t, time.Minute, func() bool {
			for _, id := range w.ids(`SELECT id FROM backups WHERE status IN ('queued', 'running')`) {
				_, err := w.advance(ctx, id)
				w.Must(err)
			}
			for _, id := range w.ids(`SELECT id FROM backups_restores`) {
				_, failed = w.advanceRestore(ctx, id)
			}
			return failed != nil
		}, "the rows are refused")
		w.same("status", "restoring", w.shows(10)[id].Status)
		w.Clock.Advance(patience)
		w.settle()
		b := w.shows(10)[id]
		w.same("status after a while", "completed", b.Status)
		w.same("key", "internal_error", *b.Restore.ErrorKey)

		w.records.refuses = site.ReadDocument(json.RawMessage(`{"a": 1}`), new([]string))
		b = w.bringBack(10, id, `{}`)
		w.same("key of what is no document", "backup_not_restorable", *b.Restore.ErrorKey)
		w.same("records", `{"a":1}`, w.records10())
	})
}

func TestAPanelOutOfReachIsWaitedFor(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(10, front, "mine")
		id := w.ask(10, `{}`)
		w.machine.Fail(panel.ErrUnreachable)
		wait, err := w.advance(t.Context(), id)
		w.Must(err)
		w.same("asked again", askLater, wait)
		w.machine.Fail(nil)
		w.settle()
		w.same("status", "completed", w.shows(10)[id].Status)

		id2 := w.ask(10, `{}`)
		w.machine.Fail(panel.ErrUnreachable)
		w.Clock.Advance(patience)
		w.settle()
		b := w.shows(10)[id2]
		w.same("status", "failed", b.Status)
		w.same("key", "panel_unreachable", *b.ErrorKey)
		told := w.told(10)
		w.same("told", "backup.failed", told[len(told)-1])
		w.refused("502 panel_unreachable", "GET", "/10/backups/"+fmt.Sprint(id)+"/download", "own", "")
	})
}

// TestEveryStepIsTakenUpAfterACrash: the panel was asked, and the process died before it wrote what
// came of it. settle takes each step twice besides.
func TestEveryStepIsTakenUpAfterACrash(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.write(10, front, "before")
		id := w.ask(10, `{}`)
		b, err := table.Find(ctx, w.DB, id)
		w.Must(err)
		for range 2 {
			_, err := w.make(ctx, b) // started, and not written
			w.Must(err)
		}
		w.settle()
		w.same("status", "completed", w.shows(10)[id].Status)
		w.write(10, front, "after")

		w.decode(w.Do("POST", fmt.Sprintf("/10/backups/%d/restore", id), "own", `{}`), http.StatusOK, &shown{})
		restoreID := w.ids(`SELECT id FROM backups_restores`)[0]
		crashed := errors.New("crash")
		for _, at := range []step{waiting, verifying, importing, restoring} {
			testkit.Eventually(t, time.Minute, func() bool {
				for _, id := range w.ids(`SELECT id FROM backups WHERE status IN ('queued', 'running')`) {
					_, err := w.advance(ctx, id)
					w.Must(err)
				}
				r, err := restores.Find(ctx, w.DB, restoreID)
				w.Must(err)
				if r.status == at || r.ended() {
					return true
				}
				_, err = w.advanceRestore(ctx, restoreID)
				w.Must(err)
				return false
			}, "step "+string(at))
			// Whatever the step asks of the panel is asked; what it writes is lost.
			lost := *w.Service
			lost.Events = dying{crashed}
			if at == restoring {
				testkit.Eventually(t, time.Minute, func() bool {
					_, err := lost.advanceRestore(ctx, restoreID)
					return errors.Is(err, crashed)
				}, "the end of the restore is lost")
			}
		}
		w.same("page", "before", w.read(10, front))
		w.settle()
		w.same("restore", "completed", w.shows(10)[id].Restore.Status)
		w.same("told once", 1, strings.Count(strings.Join(w.told(10), " "), "backup.restored"))
	})
}

func TestAutomaticBackupsAreMadeEveryDayAndMakeRoom(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.service(owner, 11, "active")
		for id := int64(10); id < 12; id++ {
			for range 2 {
				w.Must(w.Apply(ctx, owner, id))
			}
		}
		due := func() map[int64]time.Time {
			found := map[int64]time.Time{}
			for _, id := range []int64{10, 11} {
				var at time.Time
				w.Must(w.DB.QueryRow(ctx, `SELECT due_at FROM backups_schedules WHERE service_id = $1`, id).Scan(&at))
				found[id] = at
			}
			return found
		}
		first := due()
		if first[10].Equal(first[11]) || !first[10].After(w.Clock.Now()) || first[10].After(w.Clock.Now().Add(backupEvery)) {
			t.Errorf("due: %v", first)
		}
		day := func() {
			w.Clock.Advance(backupEvery)
			for range 2 {
				w.Must(w.Sweep(ctx))
			}
			w.same("a job for each service", 2, len(w.ids(`SELECT id FROM river_job WHERE kind = 'backups.daily' AND state = 'available'`)))
			w.Exec(`DELETE FROM river_job`)
			for id := int64(10); id < 12; id++ {
				for range 2 {
					w.Must(w.daily(ctx, owner, id))
				}
			}
			w.settle()
		}
		day()
		second := due()
		w.same("the same time of the day", first[10].Add(backupEvery), second[10])
		manual := w.made(10, `{"parts":["files"]}`)
		day()
		day()
		kinds := []string{}
		for _, b := range w.shows(10) {
			kinds = append(kinds, b.Kind)
		}
		slices.Sort(kinds)
		w.same("the plan has two", []string{"auto", "manual"}, kinds)
		w.same("of the other too", 2, len(w.shows(11)))
		if _, kept := w.shows(10)[manual]; !kept {
			t.Error("a manual backup made room")
		}
		list, err := w.machine.ListBackups(ctx, "10")
		w.Must(err)
		w.same("on the panel", 2, len(list))

		// The end of the time of one.
		w.Clock.Advance(Kept)
		w.Must(w.Sweep(ctx))
		w.settle()
		if _, kept := w.shows(10)[manual]; kept {
			t.Error("a backup outlived its time")
		}
		w.Services.SetStatus(t, 11, "suspended")
		before := len(w.shows(11))
		w.Must(w.daily(ctx, owner, 11))
		w.same("a suspended service has no new one", before, len(w.shows(11)))
	})
}

func TestADamagedBackupIsFoundByTheWeeklyCheck(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(10, front, strings.Repeat("mine", 1000))
		id := w.made(10, `{"parts":["files"]}`)
		w.Must(w.Apply(t.Context(), owner, 10))
		look := func() {
			testkit.Eventually(t, time.Minute, func() bool {
				wait, err := w.check(t.Context(), owner, 10, w.Clock.Now())
				w.Must(err)
				return wait == 0
			}, "checked")
		}
		look()
		w.same("sound", "completed", w.shows(10)[id].Status)
		w.damage(10, id)
		w.Clock.Advance(checkEvery)
		look()
		b := w.shows(10)[id]
		w.same("damaged", "failed", b.Status)
		w.same("key", "backup_not_restorable", *b.ErrorKey)
		w.same("told", []string{"backup.completed", "backup.failed", "backup.damaged"}, w.told(10))
		w.same("another backup is due at once", 1, len(w.ids(`SELECT service_id FROM backups_schedules WHERE due_at <= $1`, w.Clock.Now())))
	})
}

// TestDamageThatAMachineFindsIsToldOnce: one reading finds many backups damaged. Their owner gets one message of it.
func TestDamageThatAMachineFindsIsToldOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.write(10, front, strings.Repeat("mine", 1000))
		ids := []int64{w.made(10, `{"parts":["files"]}`), w.made(10, `{"parts":["files"]}`)}
		w.Must(w.Apply(t.Context(), owner, 10))
		w.machine.conditions = map[string]panel.Condition{"b" + fmt.Sprint(ids[0]): panel.Damaged, "b" + fmt.Sprint(ids[1]): panel.Suspected}
		wait, err := w.review(t.Context(), owner, 10)
		w.Must(err)
		w.same("asked again while the machine reads", askLater, wait)
		w.machine.conditions["b"+fmt.Sprint(ids[1])] = panel.Sound
		for range 2 {
			wait, err = w.review(t.Context(), owner, 10)
			w.Must(err)
			w.same("asked again", time.Duration(0), wait)
		}
		now := w.shows(10)
		w.same("the damaged one", "failed", now[ids[0]].Status)
		w.same("one that was suspected", "completed", now[ids[1]].Status)
		w.same("told", []string{"backup.failed", "backup.damaged"}, w.told(10)[2:])
		ids = append(ids, w.made(10, `{"parts":["dns"]}`))
		w.machine.conditions = map[string]panel.Condition{"b" + fmt.Sprint(ids[1]): panel.Damaged, "b" + fmt.Sprint(ids[2]): panel.Damaged}
		_, err = w.review(t.Context(), owner, 10)
		w.Must(err)
		w.same("told of two", []string{"backup.failed", "backup.failed", "backup.damaged"}, w.told(10)[5:])
	})
}

func TestAServiceThatEndsLeavesItsFinalBackup(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.write(10, front, "the last state")
		w.Exec(`INSERT INTO test_records VALUES (10, '{"a":1}')`)
		ordinary := w.made(10, `{"parts":["files"]}`)
		w.Must(w.Apply(ctx, owner, 10))
		w.Services.SetStatus(t, 10, "terminating")
		w.Must(w.machine.SuspendAccount(ctx, "10"))
		w.keepsFinal(10)
		w.same("one final", 1, len(w.ids(`SELECT id FROM backups WHERE final`)))

		w.Must(w.machine.DeleteAccount(ctx, "10"))
		w.Services.SetStatus(t, 10, "terminated")
		w.Exec(`DELETE FROM test_records`)
		w.Must(w.Apply(ctx, owner, 10))
		w.settle()
		all := w.shows(10)
		if _, there := all[ordinary]; there || len(all) != 1 {
			t.Errorf("left: %+v", all)
		}
		kept, err := w.Kept(ctx, w.DB, []int64{9, 10})
		w.Must(err)
		w.same("kept", []int64{10}, kept)
		w.same("schedules of what is kept", 1, len(w.ids(`SELECT service_id FROM backups_schedules`)))
		final := w.ids(`SELECT id FROM backups WHERE final`)[0]
		if r := w.Do("GET", fmt.Sprintf("/10/backups/%d/download", final), "own", ""); r.Code != http.StatusOK {
			t.Errorf("download of what was kept: %d %s", r.Code, r.Body)
		}

		_, err = w.machine.CreateAccount(ctx, panel.AccountSpec{Ref: "10", Username: "s10", PrimaryDomain: "s10.example"})
		w.Must(err)
		w.Services.SetStatus(t, 10, "active")
		w.Must(w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return w.Return(ctx, tx, 10) }))
		w.settle()
		w.same("page", "the last state", w.read(10, front))
		w.same("records", `{"a":1}`, w.records10())
		kept, err = w.Kept(ctx, w.DB, []int64{9, 10})
		w.Must(err)
		w.same("an ordinary backup by now", 0, len(kept))

		// Its time ends.
		w.Clock.Advance(KeptFinal)
		w.Must(w.Sweep(ctx))
		w.settle()
		w.same("backups", 0, len(w.shows(10)))
	})
}

func TestAFinalBackupThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Services.SetStatus(t, 10, "terminating")
		done, err := w.Keep(ctx, owner, 10)
		w.Must(err)
		w.same("done", false, done)
		w.machine.Fail(panel.ErrDiskFull)
		w.settle()
		w.machine.Fail(nil)
		if done, err := w.Keep(ctx, owner, 10); err == nil || done {
			t.Errorf("after a failure: %v, %v", done, err)
		}
		w.Clock.Advance(anotherFinal)
		for !done {
			done, err = w.Keep(ctx, owner, 10)
			w.Must(err)
			w.settle()
		}
		w.Services.Add(t, site.Site{ServiceID: 12, AccountID: owner, Panel: "bare", Ref: "12", Status: "terminating"})
		done, err = w.Keep(ctx, owner, 12)
		w.Must(err)
		w.same("a panel that keeps nothing", true, done)
	})
}

func TestWhatNoJobDoesAnyMoreIsTakenUp(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		gone, kept := w.made(10, `{}`), w.made(10, `{}`)
		w.Exec(`UPDATE backups SET status = 'deleted' WHERE id = $1`, gone)
		w.decode(w.Do("POST", fmt.Sprintf("/10/backups/%d/restore", kept), "own", `{}`), http.StatusOK, &shown{})
		w.Exec(`DELETE FROM river_job`)
		waiting := func() []string {
			w.T.Helper()
			w.Must(w.Sweep(ctx))
			kinds, err := db.Collect(ctx, w.DB, func(row db.Row) (kind string, err error) {
				err = row.Scan(&kind)
				return kind, err
			}, `SELECT kind FROM river_job WHERE kind IN ('backups.make', 'backups.restore', 'backups.remove') ORDER BY kind`)
			w.Must(err)
			return kinds
		}
		w.same("while it may be under way", []string{}, waiting())
		w.Clock.Advance(lostAfter)
		for range 2 { // the second finds that there are jobs
			w.same("jobs", []string{"backups.make", "backups.remove", "backups.restore"}, waiting())
		}
		w.settle()
		w.Exec(`DELETE FROM river_job`)
		w.same("when all is done", []string{}, waiting())
		testkit.Indexed(t, w.DB, func(q db.Querier) error {
			for _, left := range []func(context.Context, db.Querier, time.Time, int64, int) ([]int64, error){unfinished, unfinishedRestores, deleted} {
				if _, err := left(ctx, q, w.Clock.Now(), 0, 10); err != nil {
					return err
				}
			}
			_, _, err := list(ctx, q, owner, 10, page.Params{Page: 1, PerPage: 20})
			if err == nil {
				_, err = table.OfService(ctx, q, 10)
			}
			if err == nil {
				_, err = isBusy(ctx, q, 10)
			}
			if err == nil {
				_, _, err = count(ctx, q, 10)
			}
			if err == nil {
				_, _, err = finalOf(ctx, q, 10)
			}
			if err == nil {
				_, err = finalsKept(ctx, q, []int64{9, 10})
			}
			return err
		})
	})
}

func TestRecordsThatCannotBeReadEndABackup(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Sources[panel.PartCron] = unreadable{w.records}
		id := w.ask(10, `{"parts":["cron"]}`)
		if _, err := w.advance(t.Context(), id); err == nil {
			t.Error("a failure of the database goes unseen")
		}
		w.same("status", "queued", w.shows(10)[id].Status)
		w.Clock.Advance(patience)
		_, err := w.advance(t.Context(), id)
		w.same("status after a while", "failed", w.shows(10)[id].Status)
		w.Must(err)
	})
}

// unreadable has records that cannot be read.
type unreadable struct{ *records }

func (unreadable) Export(context.Context, db.Querier, int64, int64) (json.RawMessage, error) {
	return nil, errors.New("broken")
}

// TestTheJobsDoAllOfIt works the queue as a server does.
func TestTheJobsDoAllOfIt(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.Must(w.queue.Start(context.Background()))
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			w.Must(w.queue.Stop(ctx))
		})
		w.write(10, front, "before")
		id := w.ask(10, `{"parts":["files"]}`)
		testkit.Eventually(t, time.Minute, func() bool { return w.shows(10)[id].Status == "completed" }, "completed")
		w.write(10, front, "after")
		w.decode(w.Do("POST", fmt.Sprintf("/10/backups/%d/restore", id), "own", `{}`), http.StatusOK, &shown{})
		testkit.Eventually(t, time.Minute, func() bool { return w.shows(10)[id].Status == "completed" }, "restored")
		w.same("page", "before", w.read(10, front))
	})
}
