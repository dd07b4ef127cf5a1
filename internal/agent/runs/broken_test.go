package runs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
)

// serve serves the home page of the service: whatever answer makes of it.
func (w *world) serve(answer func(rw http.ResponseWriter, page string)) {
	w.T.Helper()
	served := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.file("/public_html/index.html")) }))
	w.T.Cleanup(served.Close)
	w.shelf.set(func() {
		w.shelf.place = Place{Names: []string{"shop.example"}, HTTP: strings.TrimPrefix(served.URL, "http://"), Local: true}
	})
}

// failing answers 500 once the page was changed.
func failing(rw http.ResponseWriter, page string) {
	if page == changedPage {
		rw.WriteHeader(http.StatusInternalServerError)
	}
}

func TestARunThatBreaksTheSiteTakesItselfBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(rw http.ResponseWriter, page string)
		reason Reason
	}{
		"a failure": {failing, SiteBroken},
		"a fatality": {func(rw http.ResponseWriter, page string) {
			if page == changedPage {
				page = "<br />\n<b>Fatal error</b>:  Uncaught Error in index.php"
			}
			_, _ = fmt.Fprint(rw, page)
		}, SiteBroken},
		"not found": {func(rw http.ResponseWriter, page string) {
			if page == changedPage {
				rw.WriteHeader(http.StatusNotFound)
			}
		}, Done},
		"broken before":   {func(rw http.ResponseWriter, _ string) { rw.WriteHeader(http.StatusBadGateway) }, Done},
		"works as before": {func(http.ResponseWriter, string) {}, Done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, hours, func(w *world) {
				w.serve(c.answer)
				w.work(w.Service)
				w.enable(Autopilot, "")
				a := w.task("Change the hours")
				w.whole()
				if a.EndReason != c.reason {
					w.T.Errorf("%+v, want %s", a, c.reason)
				}
				if c.reason == Done {
					if w.file("/public_html/index.html") != changedPage {
						w.T.Errorf("the page is %q", w.file("/public_html/index.html"))
					}
					return
				}
				if a.Status != Failed || w.file("/public_html/index.html") != homePage || len(a.Changes) != 2 || a.Changes[0].Status != undone ||
					a.Changes[1].Status != applied || a.Changes[1].UndoOf == nil {
					w.T.Errorf("%+v, the page is %q", a, w.file("/public_html/index.html"))
				}
				w.Refused(sitetest.Refusal{Method: "POST", Target: fmt.Sprintf("/%d/ai/runs/%d/undo", mine, a.ID), Token: "own", Body: `{}`, Code: 422, Key: "ai_nothing_to_undo"})
				if got := strings.Join(w.EventTypes(), " "); got != "ai.run_failed" {
					w.T.Errorf("told to integrators: %s", got)
				}
			})
		})
	}
}

func TestAProgramThatPHPCannotReadIsNotWritten(t *testing.T) {
	t.Parallel()
	const task = `
turns:
  - calls: [{id: c1, tool: read_file, args: {path: public_html/shop.php}}]
  - calls: [{id: c2, tool: edit_file, args: {path: public_html/shop.php, etag: "${c1.etag}", edits: [{old: "9", new: "broken"}]}}]
  - expect: {tool: c2, ok: false, contains: "php_syntax"}
    calls: [{id: c3, tool: edit_file, args: {path: public_html/shop.php, etag: "${c1.etag}", edits: [{old: "9", new: "10"}]}}]
  - calls: [{id: c4, tool: write_file, args: {path: public_html/broken.txt, content: "broken"}}]
  - expect: {tool: c4, ok: true}
    text: "Done."
`
	engines(t, task, func(w *world) {
		w.put("/public_html/shop.php", "<?php echo 9;")
		w.work(w.Service)
		w.enable(Autopilot, "")
		if a := w.task("Make it ten"); a.EndReason != Done || w.file("/public_html/shop.php") != "<?php echo 10;" || w.file("/public_html/broken.txt") != "broken" {
			w.T.Errorf("%+v, the program is %q", a, w.file("/public_html/shop.php"))
		}
		if !strings.Contains(w.everything(), "on line 2") {
			w.T.Error("the model was not told why")
		}
	})
}

// TestNobodyIsAskedWhileTheSiteIsBroken has a change behind the one that breaks the site wait for a person.
func TestNobodyIsAskedWhileTheSiteIsBroken(t *testing.T) {
	t.Parallel()
	const task = `
turns:
  - calls: [{id: c1, tool: read_file, args: {path: public_html/index.html}}]
  - calls:
      - {id: c2, tool: edit_file, args: {path: public_html/index.html, etag: "${c1.etag}", edits: [{old: "9-17", new: "9-19"}]}}
      - {id: c3, tool: delete_path, args: {path: public_html/old.html}}
`
	engines(t, task, func(w *world) {
		w.put("/public_html/old.html", "old")
		w.serve(failing)
		w.work(w.Service)
		w.enable(Autopilot, "")
		if a := w.task("Change the hours"); a.EndReason != SiteBroken || w.file("/public_html/index.html") != homePage || w.file("/public_html/old.html") != "old" {
			w.T.Errorf("%+v", a)
		}
		w.whole()
	})
}

// Who does not want it keeps what a run has made of the site.
func TestABrokenSiteIsLeftWhereTheSettingsSaySo(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.serve(failing)
		w.work(w.Service)
		w.enable(Autopilot, `, "undo_when_broken": false`)
		if a := w.task("Change the hours"); a.EndReason != Done || w.file("/public_html/index.html") != changedPage {
			w.T.Errorf("%+v, the page is %q", a, w.file("/public_html/index.html"))
		}
		w.whole()
	})
}

func TestAKilledProcessLeavesNoBrokenSite(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(w *world, point *frozen){
		"before it looks": func(w *world, point *frozen) {
			w.machine.hook(nil, func(string, string) { point.stop() })
		},
		"while it looks": func(w *world, point *frozen) {
			var asked atomic.Int64
			w.serve(func(rw http.ResponseWriter, page string) {
				if asked.Add(1) == 2 {
					point.stop()
				}
				failing(rw, page)
			})
		},
		"after it has taken back": func(w *world, point *frozen) {
			var written atomic.Int64
			w.machine.hook(nil, func(string, string) {
				if written.Add(1) == 2 {
					point.stop()
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, hours, func(w *world) {
				point := newFrozen()
				w.serve(failing)
				at(w, point)
				w.enable(Autopilot, "")
				r := w.begin("Change the hours")
				stopDead := w.work(w.replica(play(w.T, hours)))
				<-point.reached
				w.Clock.Advance(leaseFor)
				w.work(w.Service)
				if a := w.until(r.id, Failed); a.EndReason != SiteBroken || w.file("/public_html/index.html") != homePage {
					w.T.Errorf("%+v, the page is %q", a, w.file("/public_html/index.html"))
				}
				w.whole()
				close(point.thaw)
				stopDead()
				if w.file("/public_html/index.html") != homePage {
					w.T.Errorf("the page is %q", w.file("/public_html/index.html"))
				}
			})
		})
	}
}
