package moves

import (
	"errors"
	"net/http"
	"testing"

	"stead.dev/stead/internal/platform/fault"
)

// restored is the database as it was before the last steps of a move, whose machines have gone on.
func (w *world) restored(id int64) {
	w.exec(`UPDATE test_services SET panel = 'node:1', epoch = 0, moving = TRUE, room = 'node:2' WHERE id = 7`)
	w.exec(`UPDATE moves_moves SET step = 'ready', epoch = NULL, committed_at = NULL, opened_at = NULL, left_at = NULL WHERE id = $1`, id)
}

// TestAMoveThatIsOverOnTheMachinesIsNotUndone: a database that was restored takes it for one under way, which fails.
func TestAMoveThatIsOverOnTheMachinesIsNotUndone(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "the site")
		id := w.move("second").ID
		w.until(id, Keep)
		w.restored(id)
		if m := w.until(id, Closed); !m.Failed() {
			t.Errorf("the move: %+v", m)
		}
		if status, page := w.visit(second); status != http.StatusOK || page != "the site" {
			t.Errorf("the machine that has it answers %d %q", status, page)
		}
	})
}

// TestAMoveThatIsFoundGoesOnAsOthersDo, whether the restored database has it under way or knows nothing of it.
func TestAMoveThatIsFoundGoesOnAsOthersDo(t *testing.T) {
	engines(t, func(w *world) {
		w.write(first, "the site")
		id := w.move("second").ID
		w.until(id, Keep)
		account, err := w.at(second).Account(t.Context(), ref)
		w.must(err)
		w.restored(id)
		found := func() {
			t.Helper()
			m, err := w.Found(t.Context(), 7, first, second, account, 1)
			w.must(err)
			w.until(m.ID, Keep)
			w.served(second, 1)
			if status, page := w.visit(second); status != http.StatusOK || page != "the site" {
				t.Errorf("the machine that has it answers %d %q", status, page)
			}
			if of, err := w.LookedAfter(t.Context(), w.db, first); err != nil || len(of) != 1 || of[0] != 7 {
				t.Errorf("what is left is looked after: %v %v", of, err)
			}
			if _, err := w.Found(t.Context(), 7, first, second, account, 1); !errors.Is(err, fault.Conflict) {
				t.Errorf("found twice: %v", err)
			}
		}
		found()
		w.until(id, Closed) // the one that was under way
		w.served(second, 1)
		w.exec(`DELETE FROM moves_moves`)
		w.restored(id)
		found()
	})
}
