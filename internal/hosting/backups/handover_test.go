package backups

import (
	"bytes"
	"context"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// TestPassportsAreKeptSealed, for the backups that are complete: those with all parts come first, then the newest.
func TestPassportsAreKeptSealed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		first := w.made(10, `{}`)
		files := w.made(10, `{"parts": ["files"]}`)
		all, err := w.Portable(t.Context(), w.DB, 10)
		w.Must(err)
		if len(all) != 2 || all[0].ID != first || all[1].ID != files || len(all[0].Parts) != len(panel.BackupParts) {
			t.Errorf("portable: %+v", all)
		}
		passport, err := w.Passport(t.Context(), w.DB, first)
		w.Must(err)
		w.same("passport", "passport of "+all[0].Name, string(passport))
		sealed, err := passportOf(t.Context(), w.DB, first)
		w.Must(err)
		if bytes.Contains(sealed, []byte("passport")) {
			t.Error("it is not sealed")
		}
		if _, err := w.Box.Open(sealed, passportPlace(files)); err == nil {
			t.Error("it opens as that of another backup")
		}
	})
}

// TestWhatIsUnderWayFailsWhenItsServiceMoves: the new machine knows nothing of it, and does not begin it anew.
func TestWhatIsUnderWayFailsWhenItsServiceMoves(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		kept, left := w.made(10, `{}`), w.made(10, `{}`)
		w.machine.Fail(panel.ErrUnreachable)
		w.Services.Add(t, site.Site{ServiceID: 11, AccountID: owner, Panel: "it", Ref: "11", Username: "s11", Status: "active", Limits: site.Limits{"backups": 2}})
		begun := w.ask(11, `{}`)
		for range 2 {
			w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.Moved(ctx, tx, 11) })
		}
		if b := w.shows(11)[begun]; b.Status != "failed" || *b.ErrorKey != fault.PanelUnreachable.Key {
			t.Errorf("the backup that was under way: %+v", b)
		}
		w.machine.Fail(nil)
		w.settle()

		all, err := w.Portable(t.Context(), w.DB, 10)
		w.Must(err)
		has := map[string]bool{}
		for _, b := range all {
			has[b.Name] = b.ID == kept
		}
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.LeftBehind(ctx, tx, 10, has) })
		list := w.shows(10)
		if list[kept].Status != "completed" || list[left].Status != "failed" || *list[left].ErrorKey != ErrNotRestorable.Key {
			t.Errorf("what was left behind: %+v", list)
		}
	})
}
