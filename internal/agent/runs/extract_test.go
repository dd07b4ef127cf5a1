package runs

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
)

// packed is a zip file of files, by name; a name that ends with @ is a link.
func packed(t testing.TB, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		h := &zip.FileHeader{Name: strings.TrimSuffix(name, "@"), Method: zip.Deflate}
		h.SetMode(0o644)
		if strings.HasSuffix(name, "@") {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		f, err := z.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// unpacking is a task that extracts an archive.
func unpacking(arguments string) string {
	return "turns:\n  - expect: {role: user}\n    calls: [{id: c1, tool: extract_archive, args: " + arguments + "}]\n  - text: \"Done.\"\n"
}

var theme = map[string]string{"index.html": "new home", "theme/a.css": "a", "theme/img/b.svg": "b", "old/c.txt": "new c"}

const replacing = `{path: public_html/theme.zip, target: public_html, replace: true}`

// themed checks that the site is as it is after the theme was extracted, or as it was before.
func (w *world) themed(extracted bool) {
	w.T.Helper()
	want := map[string]string{
		"/public_html/index.html": homePage, "/public_html/theme/a.css": "not_found", "/public_html/theme/img/b.svg": "not_found", "/public_html/old/c.txt": "old c",
	}
	if extracted {
		want = map[string]string{}
		for name, content := range theme {
			want["/public_html/"+name] = content
		}
	}
	want["/public_html/old/d.txt"] = "d"
	for name, content := range want {
		if got := w.file(name); got != content {
			w.T.Errorf("%s is %q, want %q", name, got, content)
		}
	}
}

func (w *world) putTheme() {
	w.T.Helper()
	w.put("/public_html/old/c.txt", "old c")
	w.put("/public_html/old/d.txt", "d")
	w.put("/public_html/theme.zip", packed(w.T, theme))
}

// TestAnArchiveOfFoldersThatAreThereEndsItsCall: nothing is left to move once it is unpacked.
func TestAnArchiveOfFoldersThatAreThereEndsItsCall(t *testing.T) {
	t.Parallel()
	engines(t, unpacking(`{path: public_html/folders.zip, target: public_html}`), func(w *world) {
		w.put("/public_html/old/c.txt", "old c")
		w.put("/public_html/folders.zip", packed(w.T, map[string]string{"old/": ""}))
		w.work(w.Service)
		w.enable(Autopilot, "")
		a := w.task("Extract the folders")
		if r := w.decides(w.question().ID, true); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		if a = w.until(a.ID, Completed); len(a.Changes) != 1 || w.file("/public_html/old/c.txt") != "old c" {
			w.T.Errorf("%+v", a)
		}
	})
}

func TestAnArchiveIsExtractedAsApprovedAndUndone(t *testing.T) {
	t.Parallel()
	engines(t, unpacking(replacing), func(w *world) {
		w.putTheme()
		w.work(w.Service)
		w.enable(Autopilot, "")
		a := w.task("Extract the theme")
		q := w.question()
		var actions []string
		for _, c := range q.Changes {
			actions = append(actions, c.Action+" "+c.Path)
		}
		slices.Sort(actions)
		if got := strings.Join(actions, ", "); got != "delete /public_html/index.html, delete /public_html/old/c.txt, extract /public_html/theme.zip" {
			w.T.Errorf("asked for %s", got)
		}
		if !strings.Contains(q.Changes[0].Diff, "/public_html/theme/img/b.svg 1 bytes") {
			w.T.Errorf("what is in it: %s", q.Changes[0].Diff)
		}
		w.themed(false)
		if r := w.decides(q.ID, true); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		if a = w.until(a.ID, Completed); a.EndReason != Done {
			w.T.Errorf("%+v", a)
		}
		w.themed(true)
		var undone, redone answer
		w.Read(http.StatusOK, "POST", fmt.Sprintf("/%d/ai/runs/%d/undo", mine, a.ID), `{}`, &undone)
		w.themed(false)
		w.Read(http.StatusOK, "POST", fmt.Sprintf("/%d/ai/runs/%d/undo", mine, undone.ID), `{}`, &redone)
		w.themed(true)
		// The customer has changed a file since: nothing is undone.
		w.put("/public_html/old/c.txt", "mine")
		w.Refused(sitetest.Refusal{Method: "POST", Target: fmt.Sprintf("/%d/ai/runs/%d/undo", mine, redone.ID), Token: "own", Body: `{}`, Code: 409, Key: "ai_undo_conflict"})
		if w.file("/public_html/index.html") != "new home" || w.file("/public_html/old/c.txt") != "mine" {
			w.T.Error("a part was undone")
		}
		w.whole()
	})
}

func TestWhatIsInTheWaySinceTheApprovalStays(t *testing.T) {
	t.Parallel()
	engines(t, unpacking(replacing), func(w *world) {
		w.putTheme()
		w.work(w.Service)
		w.enable(Autopilot, "")
		a := w.task("Extract the theme")
		q := w.question()
		w.machine.hook(nil, func(operation, _ string) { // while it is unpacked
			if operation == "extract" {
				w.put("/public_html/theme/a.css", "mine")
			}
		})
		if r := w.decides(q.ID, true); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		w.until(a.ID, Completed)
		if w.file("/public_html/theme/a.css") != "mine" || w.file("/public_html/index.html") != homePage {
			w.T.Error("something was replaced that nobody had approved")
		}
		if !strings.Contains(w.everything(), "etag_mismatch") {
			w.T.Error("the model was not told")
		}
		w.whole()
	})
}

func TestAKilledExtractionIsCompleted(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(w *world, point *frozen){
		"before it is unpacked": func(w *world, point *frozen) {
			w.machine.hook(func(operation, _ string) error {
				if operation == "extract" {
					point.stop()
				}
				return nil
			}, nil)
		},
		"after it was unpacked": func(w *world, point *frozen) {
			w.machine.hook(nil, func(operation, _ string) {
				if operation == "extract" {
					point.stop()
				}
			})
		},
		"after it was whole": func(w *world, point *frozen) {
			w.machine.hook(nil, func(operation, path string) {
				if operation == "move" && strings.HasSuffix(path, ".part") {
					point.stop()
				}
			})
		},
		"after a file was replaced": func(w *world, point *frozen) {
			w.machine.hook(nil, func(operation, path string) {
				if operation == "move" && path == "/public_html/index.html" {
					point.stop()
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, unpacking(replacing), func(w *world) {
				w.putTheme()
				point := newFrozen()
				at(w, point)
				w.enable(Autopilot, "")
				r := w.begin("Extract the theme")
				stopDead := w.work(w.replica(play(w.T, unpacking(replacing))))
				w.until(r.id, Waiting)
				if r := w.decides(w.question().ID, true); r.Code != http.StatusOK {
					w.T.Fatal(r)
				}
				<-point.reached
				w.Clock.Advance(leaseFor)
				w.work(w.Service)
				a := w.until(r.id, Completed)
				w.themed(true)
				for _, c := range a.Changes {
					if c.Status != applied {
						w.T.Errorf("%+v", c)
					}
				}
				w.whole()
				close(point.thaw)
				stopDead()
				w.themed(true)
			})
		})
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range mostUnpacked + 1 {
		many[fmt.Sprint("f", i)] = ""
	}
	for name, c := range map[string]struct {
		files     map[string]string
		arguments string
		key       string
	}{
		"a link":           {map[string]string{"a": "a", "l@": "a"}, `{path: public_html/x.zip, target: public_html/x}`, "archive_has_links"},
		"out of it":        {map[string]string{"../../a": "a"}, `{path: public_html/x.zip, target: public_html/x}`, "path_not_allowed"},
		"too many":         {many, `{path: public_html/x.zip, target: public_html/x}`, "archive_too_large"},
		"in the way":       {map[string]string{"index.html": "a"}, `{path: public_html/x.zip, target: public_html}`, "already_exists"},
		"closed":           {map[string]string{"closed/a": "a"}, `{path: public_html/x.zip, target: public_html}`, "path_not_allowed"},
		"outside":          {map[string]string{"a": "a"}, `{path: public_html/x.zip, target: /x}`, "path_not_allowed"},
		"no archive":       {map[string]string{"a": "a"}, `{path: public_html/index.html, target: public_html/x}`, "invalid"},
		"a folder":         {map[string]string{"index.html/a": "a"}, `{path: public_html/x.zip, target: public_html, replace: true}`, "already_exists"},
		"not there":        {nil, `{path: public_html/y.zip, target: public_html/x}`, "not_found"},
		"a sensitive file": {map[string]string{".env": "a"}, `{path: public_html/x.zip, target: public_html, replace: true}`, "sensitive_file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, unpacking(c.arguments), func(w *world) {
				w.put("/public_html/.env", "APP=x")
				w.put("/public_html/x.zip", packed(w.T, c.files))
				w.work(w.Service)
				w.enable(Autopilot, `, "denied_paths": ["/public_html/closed"]`)
				if a := w.task("Extract it"); a.Status != Completed || len(a.Changes) != 0 || !strings.Contains(w.everything(), c.key) {
					w.T.Errorf("%+v: %s", a, w.everything())
				}
				if w.file("/public_html/index.html") != homePage || w.file("/public_html/.env") != "APP=x" {
					w.T.Error("the site was changed")
				}
			})
		})
	}
}
