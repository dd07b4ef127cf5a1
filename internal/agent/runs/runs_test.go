package runs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// hours is a task that reads the page and edits it.
const hours = `
turns:
  - expect: {role: user, contains: "hours"}
    text: "I will read the page."
    calls: [{id: c1, tool: read_file, args: {path: public_html/index.html}}]
    usage: {input: 1000, output: 100}
  - expect: {tool: c1, ok: true}
    calls: [{id: c2, tool: edit_file, args: {path: public_html/index.html, etag: "${c1.etag}", edits: [{old: "9-17", new: "9-19"}]}}]
    usage: {input: 1000, output: 100}
  - text: "The shop is open until 19."
    usage: {input: 1000, output: 100}
`

const changedPage = "<h1>Shop</h1>\n<p>Open 9-19</p>\n"

func TestTheAgentChangesAPageAndItIsUndoneAndRedone(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.work(w.Service)
		w.enable(Autopilot, "")
		a := w.task("Change the hours")
		if a.Status != Completed || a.EndReason != Done || a.Message != "The shop is open until 19." || a.Steps != 3 || len(a.Changes) != 1 {
			w.T.Fatalf("%+v", a)
		}
		if got := w.file("/public_html/index.html"); got != changedPage {
			w.T.Errorf("the page is %q", got)
		}
		if c := a.Changes[0]; c.Action != edit || c.Status != applied || !strings.Contains(c.Diff, "-<p>Open 9-17</p>\n+<p>Open 9-19</p>") {
			w.T.Errorf("the change: %+v", c)
		}
		w.whole()
		if w.purse.revenue() != 2 { // three answers of 0.45 cents, rounded up once
			w.T.Errorf("revenue %d", w.purse.revenue())
		}
		const told = "run.started step.started usage tool.started tool.finished step.started usage tool.started change.recorded tool.finished step.started usage run.completed"
		if got := w.kinds(a.ID); got != told {
			w.T.Errorf("events: %s", got)
		}
		if got := strings.Join(w.EventTypes(), " "); got != "ai.run_completed" {
			w.T.Errorf("told to integrators: %s", got)
		}

		var undone, redone answer
		w.Read(http.StatusOK, "POST", fmt.Sprintf("/%d/ai/runs/%d/undo", mine, a.ID), `{}`, &undone)
		if undone.Status != Completed || w.file("/public_html/index.html") != homePage {
			w.T.Fatalf("the undo: %+v, the page is %q", undone, w.file("/public_html/index.html"))
		}
		w.Refused(sitetest.Refusal{Method: "POST", Target: fmt.Sprintf("/%d/ai/runs/%d/undo", mine, a.ID), Token: "own", Body: `{}`, Code: 422, Key: "ai_nothing_to_undo"})
		w.Read(http.StatusOK, "POST", fmt.Sprintf("/%d/ai/runs/%d/undo", mine, undone.ID), `{}`, &redone)
		if redone.Status != Completed || w.file("/public_html/index.html") != changedPage {
			w.T.Errorf("the undo of the undo: %+v, the page is %q", redone, w.file("/public_html/index.html"))
		}
		w.whole()
	})
}

func TestAChangeWaitsForAPerson(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.work(w.Service)
		w.enable(AskBeforeWrite, "")
		a := w.task("Change the hours")
		if a.Status != Waiting || w.file("/public_html/index.html") != homePage {
			w.T.Fatalf("%+v, the page is %q", a, w.file("/public_html/index.html"))
		}
		q := w.question()
		if q.Tool != "edit_file" || len(q.Changes) != 1 || !strings.Contains(q.Changes[0].Diff, "+<p>Open 9-19</p>") {
			w.T.Errorf("%+v", q)
		}
		decide := fmt.Sprintf("/%d/ai/approvals/%d/decide", mine, q.ID)
		w.Refused(
			sitetest.Refusal{Method: "POST", Target: decide, Token: "client", Body: `{"approve": true}`, Code: 403, Key: "forbidden"}, // it may be a model itself
			sitetest.Refusal{Method: "POST", Target: decide, Token: "other", Body: `{"approve": true}`, Code: 404, Key: "not_found"},
			sitetest.Refusal{Method: "POST", Target: fmt.Sprintf("/%d/ai/run", mine), Token: "own", Body: `{"message": "hours"}`, Code: 422, Key: "ai_run_in_progress"},
		)
		if r := w.decides(q.ID, true); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		w.until(a.ID, Completed)
		if got := w.file("/public_html/index.html"); got != changedPage {
			w.T.Errorf("the page is %q", got)
		}
		w.Refused(sitetest.Refusal{Method: "POST", Target: decide, Token: "own", Body: `{"approve": true}`, Code: 409, Key: "ai_approval_decided"})
		if got := strings.Join(w.EventTypes(), " "); got != "ai.approval_required ai.run_completed" {
			w.T.Errorf("told to integrators: %s", got)
		}
		w.whole()
	})
}

// Who approves the rest of a run is asked again only before what is asked in every mode.
func TestAnApprovalMayReachTheRestOfTheRun(t *testing.T) {
	t.Parallel()
	const task = `
turns:
  - calls: [{id: c1, tool: read_file, args: {path: public_html/index.html}}]
  - calls: [{id: c2, tool: edit_file, args: {path: public_html/index.html, etag: "${c1.etag}", edits: [{old: "9-17", new: "9-19"}]}}]
  - calls: [{id: c3, tool: write_file, args: {path: public_html/hours.html, etag: null, content: "9-19"}}]
  - calls: [{id: c4, tool: delete_path, args: {path: public_html/old.html}}]
  - text: Done.
`
	engines(t, task, func(w *world) {
		w.put("/public_html/old.html", "old")
		w.work(w.Service)
		w.enable(AskBeforeWrite, "")
		a := w.task("Change the hours")
		decide := fmt.Sprintf("/%d/ai/approvals/%d/decide", mine, w.question().ID)
		w.Refused(sitetest.Refusal{Method: "POST", Target: decide, Token: "own", Body: `{"approve": false, "rest": true}`, Code: 422, Key: "validation_failed"})
		if r := w.Do("POST", decide, "own", `{"approve": true, "rest": true}`); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		w.until(a.ID, Waiting)
		if q := w.question(); q.Tool != "delete_path" || w.file("/public_html/hours.html") != "9-19" || w.file("/public_html/old.html") != "old" {
			w.T.Fatalf("asked about %s; the page of the hours is %q", q.Tool, w.file("/public_html/hours.html"))
		}
		if r := w.decides(w.question().ID, true); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		w.until(a.ID, Completed)
		if r := w.api("GET", "/api/v1/ai/settings", "own", ""); !strings.Contains(r.Body, `"mode":"ask_before_write"`) {
			w.T.Errorf("the next run asks too: %s", r.Body)
		}
		w.whole()
	})
}

func TestAFileThatChangesBeforeTheApprovalIsAskedForAnew(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.work(w.Service)
		w.enable(AskBeforeWrite, "")
		a := w.task("Change the hours")
		w.put("/public_html/index.html", "<p>Mine, 9-17</p>")
		if r := w.decides(w.question().ID, true); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		done := w.until(a.ID, Completed) // the model is told etag_mismatch, and what it says next is its last word
		if len(done.Changes) != 0 || w.file("/public_html/index.html") != "<p>Mine, 9-17</p>" {
			w.T.Errorf("%+v, the page is %q", done, w.file("/public_html/index.html"))
		}
		if !strings.Contains(w.everything(), "etag_mismatch") {
			w.T.Error("the model was not told")
		}
		w.whole()
	})
}

func TestARejectionIsToldToTheModel(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.work(w.Service)
		w.enable(AskBeforeWrite, "")
		a := w.task("Change the hours")
		if r := w.Do("POST", fmt.Sprintf("/%d/ai/approvals/%d/decide", mine, w.question().ID), "own", `{"approve": false, "reason": "We close at 18"}`); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		w.until(a.ID, Completed)
		if w.file("/public_html/index.html") != homePage || !strings.Contains(w.everything(), "We close at 18") {
			w.T.Error("the page was changed, or the model was not told")
		}
		var c storyWire
		w.Read(http.StatusOK, "GET", fmt.Sprintf("/%d/ai/conversations/%d", mine, a.ConversationID), "", &c)
		if c.Status != Idle || len(c.Messages) != 6 || c.Messages[3].ToolCalls[0].Status != callRejected {
			w.T.Errorf("%+v", c)
		}
		w.whole()
	})
}

func TestNobodyAnswersForADay(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		stop := w.work(w.Service)
		w.enable(AskBeforeWrite, "")
		a := w.task("Change the hours")
		q := w.question()
		stop()
		w.Clock.Advance(approvalTime)
		w.Must(w.expire(w.T.Context()))
		got := w.until(a.ID, Failed)
		if got.EndReason != ApprovalExpired {
			w.T.Errorf("%+v", got)
		}
		if r := w.decides(q.ID, true); r.Key() != "ai_approval_decided" {
			w.T.Error(r)
		}
		if got := strings.Join(w.EventTypes(), " "); got != "ai.approval_required ai.run_failed" {
			w.T.Errorf("told to integrators: %s", got)
		}
		w.whole()
	})
}

func TestAConversationIsRemovedOrGoesOn(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		ctx := w.T.Context()
		for range 20 {
			var talk int64
			w.Must(w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
				talk, err = insertConversation(ctx, tx, conversation{accountID: sitetest.Owner, serviceID: mine, title: "x", status: Idle})
				return err
			}))
			var both sync.WaitGroup
			both.Go(func() { _ = w.forget(ctx, sitetest.Owner, mine, talk) })
			both.Go(func() { _, _ = w.start(ctx, sitetest.Owner, mine, "say", &talk) })
			both.Wait()
			var lost int
			w.Must(w.DB.QueryRow(ctx, `SELECT COUNT(*) FROM ai_runs WHERE kind = 'agent' AND conversation_id IS NULL`).Scan(&lost))
			if lost > 0 {
				w.T.Fatal("a run has no conversation")
			}
			w.Must(w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return w.endAll(ctx, tx, sitetest.Owner, 0) }))
		}
	})
}

func TestStreamsOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for range streamsMost {
		if _, err := s.openStream(1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.openStream(1); !errors.Is(err, fault.LimitReached) {
		t.Errorf("beyond the bound: %v", err)
	}
	done, err := s.openStream(2)
	if err != nil {
		t.Fatal(err)
	}
	done()
}
