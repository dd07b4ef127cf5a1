package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/page"
)

func TestARunIsWatchedAsItHappensAndAgainLater(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.work(w.Service)
		w.enable(Autopilot, "")
		rec := apitest.Call(w.Handler, "own", "POST", fmt.Sprintf("/api/v1/services/%d/ai/run", mine), `{"message": "hours"}`, "Accept", "text/event-stream")
		if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "text/event-stream" {
			w.T.Fatalf("%d %s", rec.Code, rec.Body)
		}
		whole := rec.Body.String()
		for _, part := range []string{"retry: 3000", "id: 1\nevent: run.started", "event: message.delta", `"text":"The shop is open until 19."`, "event: change.recorded", "event: run.completed"} {
			if !strings.Contains(whole, part) {
				w.T.Errorf("no %q in\n%s", part, whole)
			}
		}
		events := strings.Split(strings.TrimSpace(whole), "\n\n")[1:]
		later := func(last int) string {
			w.T.Helper()
			rec := apitest.Call(w.Handler, "own", "GET", fmt.Sprintf("/api/v1/services/%d/ai/runs/1/events", mine), "", "Last-Event-ID", fmt.Sprint(last))
			if rec.Code != http.StatusOK {
				w.T.Fatalf("%d %s", rec.Code, rec.Body)
			}
			_, rest, _ := strings.Cut(rec.Body.String(), "\n\n")
			return strings.TrimSpace(rest)
		}
		for _, last := range []int{0, 3, len(events) - 1, len(events)} { // after the last one nothing comes, and the stream ends
			if got, want := later(last), strings.Join(events[last:], "\n\n"); got != want {
				w.T.Errorf("after %d:\n%s\nwant\n%s", last, got, want)
			}
		}
		if rec := apitest.Call(w.Handler, "other", "GET", fmt.Sprintf("/api/v1/services/%d/ai/runs/1/events", mine), ""); rec.Code != http.StatusNotFound {
			w.T.Errorf("a stranger: %d %s", rec.Code, rec.Body)
		}
	})
}

func TestAConversationGoesOnAndIsDeleted(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.work(w.Service)
		w.enable(Suggest, "")
		a := w.task("Tell me the hours")
		var second answer
		w.Read(http.StatusOK, "POST", fmt.Sprintf("/%d/ai/run", mine), fmt.Sprintf(`{"message": "And the hours again", "conversation_id": %d}`, a.ConversationID), &second)
		if second.ConversationID != a.ConversationID {
			w.T.Errorf("%+v", second)
		}
		list := sitetest.List[conversationWire](&w.World, fmt.Sprintf("/%d/ai/conversations", mine))
		if len(list) != 1 || list[0].Title != "Tell me the hours" || list[0].Status != Idle {
			w.T.Errorf("%+v", list)
		}
		var c storyWire
		target := fmt.Sprintf("/%d/ai/conversations/%d", mine, a.ConversationID)
		w.Read(http.StatusOK, "GET", target, "", &c)
		if c.Usage.InputTokens != 6000 || c.Messages[0].Content != "Tell me the hours" || c.Messages[len(c.Messages)-1].Role != byAssistant {
			w.T.Errorf("%+v", c)
		}
		w.Refused(
			sitetest.Refusal{Method: "GET", Target: target, Token: "other", Code: 404, Key: "not_found"},
			sitetest.Refusal{Method: "DELETE", Target: target, Token: "other", Code: 404, Key: "not_found"},
		)
		if r := w.Do("DELETE", target, "own", ""); r.Code != http.StatusOK {
			w.T.Fatal(r)
		}
		w.Refused(sitetest.Refusal{Method: "GET", Target: target, Token: "own", Code: 404, Key: "not_found"})
		if n := w.number(`SELECT COUNT(*) FROM ai_messages`) + w.number(`SELECT COUNT(*) FROM ai_calls`) + w.number(`SELECT COUNT(*) FROM ai_events`); n != 0 {
			w.T.Errorf("%d rows are left of it", n)
		}
		if w.number(`SELECT COUNT(*) FROM ai_runs WHERE charged > 0`) != 2 {
			w.T.Error("the runs are gone, and with them what was spent of the budget")
		}
	})
}

func TestInsightsAreToldOnceADayToWhoWantsIt(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		found := func() {
			w.Tx(func(ctx context.Context, tx *db.Tx) error {
				return w.insightFound(ctx, tx, outbox.Stored{AccountID: sitetest.Owner, Subject: "insight", SubjectID: 1, Data: json.RawMessage(`{"service_id": 10}`)})
			})
		}
		found()
		w.enable(Suggest, "")
		found()
		if got := w.EventTypes(); len(got) != 0 {
			w.T.Errorf("told without having been asked to: %v", got)
		}
		w.enable(Suggest, `, "notify_on_insight": true`)
		found()
		found()
		w.Clock.Advance(insightEvery + time.Second)
		found()
		if got := w.EventTypes(); len(got) != 2 {
			w.T.Errorf("%v", got)
		}
	})
}

func TestTheQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		sitetest.Indexed(w.T, w.DB, func(q db.Querier, note func(error)) {
			ctx := w.T.Context()
			keep := func(_ any, err error) { note(err) }
			keep(settingsOf(ctx, q, 1))
			keep(spentSince(ctx, q, 1, w.Clock.Now()))
			keep(runOf(ctx, q, 1, mine, 1))
			keep(expiredRuns(ctx, q, w.Clock.Now(), 10))
			keep(eventsAfter(ctx, q, 1, 0, 10))
			keep(conversationOf(ctx, q, 1, mine, 1))
			keep(conversationsOf(ctx, q, 1, mine, page.Params{}))
			keep(countConversations(ctx, q, 1, mine))
			keep(usageOf(ctx, q, 1))
			keep(silentConversations(ctx, q, w.Clock.Now(), row{}, 10))
			keep(lastMessages(ctx, q, 1, 10))
			keep(lastAnswer(ctx, q, 1, 1))
			keep(callsOf(ctx, q, 1))
			keep(callsSince(ctx, q, 1, 1))
			keep(callOf(ctx, q, 1))
			keep(changesOf(ctx, q, 1))
			keep(changeOf(ctx, q, 1, mine, 1))
			keep(changesFrom(ctx, q, mine, 1, 10))
			keep(listChanges(ctx, q, 1, mine, 0, page.Params{}))
			keep(countChanges(ctx, q, 1, mine, 0))
			keep(blobOf(ctx, q, mine, "x"))
			keep(keptBytes(ctx, q, mine))
			keep(oldTrash(ctx, q, w.Clock.Now(), row{}, 10))
			keep(approvalOf(ctx, q, 1, mine, 1))
			keep(lastApproval(ctx, q, 1))
			keep(approvalsOf(ctx, q, 1, mine, true, page.Params{}))
			keep(countApprovals(ctx, q, 1, mine, true))
		})
	})
}
