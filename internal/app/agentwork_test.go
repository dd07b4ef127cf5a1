package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// agentWork is a run of the AI agent that is over, with what belongs to it.
type agentWork struct{ run, conversation, change, approval int64 }

// newAgentWork lets the agent change a file of the service, as the owner has approved.
func (w *world) newAgentWork() (a agentWork) {
	w.t.Helper()
	a.approval = w.newQuestion()
	r := w.do(w.t, request{
		method: http.MethodPost, path: fmt.Sprintf("/api/v1/services/%d/ai/approvals/%d/decide", w.service, a.approval), token: w.ownersPanel,
		body: `{"approve": true}`,
	})
	var decided struct {
		RunID int64 `json:"run_id"`
	}
	r.decode(w.t, &decided)
	a.run = decided.RunID
	testkit.Eventually(w.t, time.Minute, func() bool {
		var run struct {
			Status         string
			ConversationID int64 `json:"conversation_id"`
			Changes        []struct{ ID int64 }
		}
		w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ai/runs/%d", w.service, a.run)).decode(w.t, &run)
		if run.Status != "completed" || len(run.Changes) != 1 {
			return false
		}
		a.conversation, a.change = run.ConversationID, run.Changes[0].ID
		return true
	}, "the agent is done")
	return a
}

// newQuestion lets the agent begin to change a file, and returns its question.
func (w *world) newQuestion() int64 {
	w.t.Helper()
	w.agentRests()
	for _, r := range []request{
		{method: http.MethodPut, path: fmt.Sprintf("/api/v1/services/%d/files/content", w.service), body: `{"path": "/public_html/note.txt", "content": "the old note"}`},
		{method: http.MethodPut, path: "/api/v1/ai/settings", body: `{"enabled": true, "mode": "ask_before_write"}`},
		{method: http.MethodPost, path: fmt.Sprintf("/api/v1/services/%d/ai/run", w.service), body: `{"message": "Renew the note"}`},
	} {
		r.token = w.owner.token
		if got := w.do(w.t, r); got.status != http.StatusOK {
			w.t.Fatal(got)
		}
	}
	var open struct{ Data []struct{ ID int64 } }
	testkit.Eventually(w.t, time.Minute, func() bool {
		w.get(w.t, w.ownersPanel, fmt.Sprintf("/api/v1/services/%d/ai/approvals?status=pending", w.service)).decode(w.t, &open)
		return len(open.Data) == 1
	}, "the agent asks")
	return open.Data[0].ID
}

// agentRests waits until the agent does not work on the service, and cancels what waits for the owner.
func (w *world) agentRests() {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() bool {
		var id int64
		err := w.db.QueryRow(w.t.Context(), `SELECT COALESCE(MAX(id), 0) FROM ai_runs WHERE service_id = $1 AND finished_at IS NULL`, w.service).Scan(&id)
		if err != nil || id == 0 {
			return err == nil
		}
		w.post(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ai/runs/%d/cancel", w.service, id), "{}")
		return false
	}, "no run is open")
}

func TestTheAgentWorksOnAPaidService(t *testing.T) {
	engines(t, demo, func(t *testing.T, a *App) {
		w := newWorld(t, a) // a run with an approval is among what it makes
		file := func() string {
			var content struct{ Content string }
			a.get(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/files/content?path=/public_html/note.txt", w.service)).decode(t, &content)
			return content.Content
		}
		if got := file(); got != "the new note" {
			t.Errorf("after the run: %q", got)
		}
		held := a.number(t, `SELECT balance FROM wallet_ledger_accounts WHERE owner_id = $1 AND kind = 'held'`, w.owner.id)
		charged := a.number(t, `SELECT charged FROM ai_runs WHERE id = $1`, w.agent.run)
		spent := a.number(t, `SELECT -SUM(amount) FROM wallet_transactions WHERE reference_type = 'ai_run' AND reference_id = $1 AND type IN ('charge', 'refund')`, w.agent.run)
		if charged != 2 || spent != 2 { // three answers of 0.45 cents
			t.Errorf("charged %d, taken from the balance %d", charged, spent)
		}
		r := a.post(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/ai/runs/%d/undo", w.service, w.agent.run), "{}")
		if r.status != http.StatusOK || file() != "the old note" {
			t.Errorf("the undo: %s, the file is %q", r, file())
		}
		w.looksAround()
		if found, err := a.wallet.Recompute(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the books: %v, %v; held %d", found, err, held)
		}
	})
}

// looksAround has the agent use every tool about the service on the embedded machine, whose site no DNS knows.
func (w *world) looksAround() {
	w.t.Helper()
	for _, r := range []request{
		{method: http.MethodPut, path: "/api/v1/ai/settings", body: `{"enabled": true, "mode": "autopilot", "model": "tools"}`},
		{method: http.MethodPost, path: fmt.Sprintf("/api/v1/services/%d/ai/run", w.service), body: `{"message": "Look around"}`},
	} {
		r.token = w.owner.token
		if got := w.do(w.t, r); got.status != http.StatusOK {
			w.t.Fatal(got)
		}
	}
	results, err := db.Collect(w.t.Context(), w.db, func(r db.Row) (s string, err error) { return s, r.Scan(&s) },
		`SELECT m.content FROM ai_messages m JOIN ai_runs r ON r.id = m.run_id WHERE m.role = 'tool' AND r.service_id = $1 ORDER BY m.id`, w.service)
	if err != nil {
		w.t.Fatal(err)
	}
	all := strings.Join(results, "\n")
	for _, want := range []string{
		`"source":"dns"`, "www 3600 A", `"source":"certificate"`, `"source":"page","path":"http://` + w.domain + `/"`, "<h1>mine</h1>", `"status":200`, `"backup":`,
		"unsupported_operation", // this machine has neither PHP nor logs
	} {
		if !strings.Contains(all, want) {
			w.t.Errorf("%s is not among what the agent was told:\n%s", want, all)
		}
	}
	if n := w.number(w.t, `SELECT COUNT(*) FROM backups WHERE service_id = $1 AND note LIKE 'AI agent, run %'`, w.service); n != 1 {
		w.t.Errorf("%d backups", n)
	}
}
