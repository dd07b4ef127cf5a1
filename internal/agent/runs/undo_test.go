package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
)

// much is a task that changes one of everything; the customer has approved the deletion.
const much = `
turns:
  - expect: {role: user}
    calls:
      - {id: c1, tool: write_file, args: {path: public_html/news/2026/first.html, content: "<p>First</p>\n"}}
      - {id: c2, tool: read_file, args: {path: public_html/index.html}}
      - {id: c3, tool: move_path, args: {from: public_html/old.html, to: public_html/archive/old.html}}
      - {id: c4, tool: make_directory, args: {path: public_html/img}}
      - {id: c5, tool: delete_path, args: {path: public_html/junk}}
  - expect: {tool: c2, ok: true}
    calls: [{id: c6, tool: edit_file, args: {path: public_html/index.html, etag: "${c2.etag}", edits: [{old: "9-17", new: "9-19"}]}}]
  - expect: {tool: c6, ok: true}
    calls: [{id: c7, tool: edit_file, args: {path: public_html/index.html, etag: "${c6.etag}", edits: [{old: "Shop", new: "Store"}]}}]
  - text: Done.
`

const storePage = "<h1>Store</h1>\n<p>Open 9-19</p>\n"

// big is larger than what can be edited.
var big = strings.Repeat("x", mostEdited+1)

// doMuch is a world in which much was done.
func doMuch(t *testing.T, f func(w *world, a answer)) {
	t.Helper()
	t.Parallel()
	engines(t, much, func(w *world) {
		w.put("/public_html/old.html", big)
		w.put("/public_html/junk/deep/a.txt", "junk")
		w.work(w.Service)
		w.enable(Autopilot, "")
		a := w.task("Do much")
		if q := w.question(); q.Tool != "delete_path" {
			w.T.Fatalf("%+v", q)
		}
		if r := w.decides(w.question().ID, true); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		a = w.until(a.ID, Completed)
		for path, want := range map[string]string{
			"/public_html/index.html": storePage, "/public_html/news/2026/first.html": "<p>First</p>\n", "/public_html/archive/old.html": big,
			"/public_html/old.html": "not_found", "/public_html/junk": "not_found", "/public_html/img": "invalid",
		} {
			if got := w.file(path); got != want {
				w.T.Errorf("%s is %.60q", path, got)
			}
		}
		f(w, a)
		w.whole()
	})
}

func (w *world) undoes(id int64, body string) (code int, a answer, refused struct {
	Error     string
	Conflicts []conflictWire
},
) {
	w.T.Helper()
	r := w.Do("POST", fmt.Sprintf("/%d/ai/runs/%d/undo", mine, id), "own", body)
	w.Must(json.Unmarshal([]byte(r.Body), &a))
	w.Must(json.Unmarshal([]byte(r.Body), &refused))
	return r.Code, a, refused
}

// atFirst checks that the site is as it was before.
func (w *world) atFirst() {
	w.T.Helper()
	for path, want := range map[string]string{
		"/public_html/index.html": homePage, "/public_html/news": "not_found", "/public_html/archive": "not_found", "/public_html/old.html": big,
		"/public_html/junk/deep/a.txt": "junk", "/public_html/img": "not_found",
	} {
		if got := w.file(path); got != want {
			w.T.Errorf("%s is %.60q", path, got)
		}
	}
}

func TestEveryKindOfChangeIsUndone(t *testing.T) {
	doMuch(t, func(w *world, a answer) {
		code, undo, _ := w.undoes(a.ID, `{}`)
		if code != http.StatusOK || undo.Status != Completed {
			w.T.Fatalf("%d %+v", code, undo)
		}
		w.atFirst()
		if _, again, _ := w.undoes(undo.ID, `{}`); again.Status != Completed || w.file("/public_html/index.html") != storePage ||
			w.file("/public_html/junk") != "not_found" || w.file("/public_html/archive/old.html") != big {
			w.T.Errorf("the undo of the undo: %+v", again)
		}
	})
}

func TestWhatIsNewerStandsInTheWay(t *testing.T) {
	doMuch(t, func(w *world, a answer) {
		w.put("/public_html/index.html", "<p>Mine</p>")
		w.put("/public_html/old.html", "in its place")
		code, _, refused := w.undoes(a.ID, `{}`)
		if code != http.StatusConflict || refused.Error != "ai_undo_conflict" || len(refused.Conflicts) != 3 {
			w.T.Fatalf("%d %+v", code, refused)
		}
		if w.file("/public_html/news/2026/first.html") == "not_found" {
			w.T.Error("a part was undone")
		}
		if c := refused.Conflicts[0]; c.Path != "/public_html/index.html" || c.Found != hashOf([]byte("<p>Mine</p>")) || c.Expected != hashOf([]byte(storePage)) {
			w.T.Errorf("%+v", c)
		}
		code, undo, _ := w.undoes(a.ID, `{"partial": true}`)
		if code != http.StatusOK || undo.Status != Completed {
			w.T.Fatalf("%d %+v", code, undo)
		}
		for path, want := range map[string]string{
			"/public_html/index.html": "<p>Mine</p>", "/public_html/old.html": "in its place", "/public_html/archive/old.html": big,
			"/public_html/news/2026/first.html": "not_found", "/public_html/junk/deep/a.txt": "junk",
		} {
			if got := w.file(path); got != want {
				w.T.Errorf("%s is %.60q", path, got)
			}
		}
	})
}

func TestOneChangeIsUndone(t *testing.T) {
	doMuch(t, func(w *world, a answer) {
		by := map[string]changeWire{}
		for _, c := range a.Changes {
			by[string(c.Action)+" "+c.Path] = c // of the two edits of the page it is the second one
		}
		undo := func(name string) (code int, a answer) {
			w.T.Helper()
			r := w.Do("POST", fmt.Sprintf("/%d/ai/changes/%d/undo", mine, by[name].ID), "own", "")
			w.Must(json.Unmarshal([]byte(r.Body), &a))
			return r.Code, a
		}
		if code, a := undo("delete /public_html/junk"); code != http.StatusOK || a.Status != Completed || w.file("/public_html/junk/deep/a.txt") != "junk" {
			w.T.Errorf("the deletion: %d %+v", code, a)
		}
		if code, _ := undo("edit /public_html/index.html"); code != http.StatusOK || w.file("/public_html/index.html") != changedPage {
			w.T.Errorf("the second edit: %d, the page is %q", code, w.file("/public_html/index.html"))
		}
		if code, _ := undo("edit /public_html/index.html"); code != http.StatusUnprocessableEntity {
			w.T.Errorf("the second edit again: %d", code)
		}
		// The rest of the run can be undone all the same.
		if code, undone, refused := w.undoes(a.ID, `{}`); code != http.StatusOK || undone.Status != Completed {
			w.T.Errorf("the rest: %d %+v %+v", code, undone, refused)
		}
		w.atFirst()
	})
}

func TestAFolderThatIsUsedMeanwhileStays(t *testing.T) {
	doMuch(t, func(w *world, a answer) {
		w.put("/public_html/img/mine.png", "PNG")
		if code, undo, _ := w.undoes(a.ID, `{}`); code != http.StatusOK || undo.Status != Completed {
			w.T.Fatalf("%d %+v", code, undo)
		}
		if w.file("/public_html/img/mine.png") != "PNG" || w.file("/public_html/index.html") != homePage {
			w.T.Error("the folder is gone, or the rest was not undone")
		}
	})
}

func TestTheJournalIsKeptForAWhile(t *testing.T) {
	doMuch(t, func(w *world, a answer) {
		w.Clock.Advance(keptFor + time.Hour)
		w.Must(w.clean(w.T.Context()))
		if n := w.number(`SELECT COUNT(*) FROM ai_changes`) + w.number(`SELECT COUNT(*) FROM ai_blobs`) + w.number(`SELECT COUNT(*) FROM ai_events`); n != 0 {
			w.T.Errorf("%d rows are left", n)
		}
		trashed, err := w.machine.List(w.T.Context(), fmt.Sprint(mine), trash, 0, 0)
		if err != nil || trashed.Total != 0 {
			w.T.Errorf("the trash: %+v, %v", trashed, err)
		}
		if code, _, refused := w.undoes(a.ID, `{}`); code != http.StatusUnprocessableEntity || refused.Error != "ai_nothing_to_undo" {
			w.T.Errorf("%d %+v", code, refused)
		}
	})
}

func TestTheContentsOfOldChangesAreNoneToUndo(t *testing.T) {
	doMuch(t, func(w *world, a answer) {
		w.Clock.Advance(keptFor + time.Hour) // nothing was cleaned yet
		if code, _, refused := w.undoes(a.ID, `{}`); code != http.StatusUnprocessableEntity || refused.Error != "ai_nothing_to_undo" {
			w.T.Errorf("%d %+v", code, refused)
		}
	})
}

// TestCleaningGoesOnUntilNothingIsDue: more is due than one statement reads, and what fails comes first.
func TestCleaningGoesOnUntilNothingIsDue(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		const gone = mine + 1000 // a service that has ended
		w.Must(w.DB.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error {
			for service, n := range map[int64]int{mine: mostClean + 1, gone: 2*mostClean + 1} {
				r := run{accountID: sitetest.Owner, serviceID: service, id: 1000 + service}
				changes := make([]change, n)
				for i := range changes {
					changes[i] = change{kind: unpack, path: fmt.Sprintf("/public_html/%d.zip", i)}
					if i%2 == 0 && service == gone {
						changes[i].kind = edit
					}
				}
				for some := range slices.Chunk(changes, 100) {
					if err := w.journal(ctx, tx, &r, some); err != nil {
						return err
					}
				}
			}
			for range 2*mostClean + 1 {
				if _, err := insertConversation(ctx, tx, conversation{accountID: sitetest.Owner, serviceID: mine, title: "Old", status: Idle}); err != nil {
					return err
				}
			}
			return nil
		}))
		w.Clock.Advance(silentFor + time.Hour)
		asked := 0
		w.machine.hook(func(operation, _ string) error {
			if operation == "remove" {
				asked++
				return errUnreachable
			}
			return nil
		}, nil)
		if err := w.clean(w.T.Context()); !errors.Is(err, errUnreachable) || asked != 1 {
			w.T.Errorf("%v, and the machine that does not answer was asked %d times", err, asked)
		}
		if n := w.number(fmt.Sprintf(`SELECT COUNT(*) FROM ai_changes WHERE service_id = %d`, gone)); n != 0 {
			w.T.Errorf("%d changes are left", n)
		}
		if n := w.number(`SELECT COUNT(*) FROM ai_conversations`); n != 0 {
			w.T.Errorf("%d conversations are left", n)
		}
		w.machine.hook(nil, nil)
		w.Must(w.clean(w.T.Context()))
		if n := w.number(`SELECT COUNT(*) FROM ai_changes`); n != 0 {
			w.T.Errorf("%d changes are left of a machine that answers again", n)
		}
	})
}
