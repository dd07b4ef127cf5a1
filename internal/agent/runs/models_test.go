package runs

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/port/llm"
)

// repeated are turns that a model takes one after the other.
func repeated(n int, turn string) string {
	return "turns:\n  - expect: {role: user, contains: \"\"}\n" + strings.Repeat(turn, 1) + strings.Repeat("  -\n"+turn, n-1)
}

func TestWhateverAModelDoesTheRunEndsWithAReason(t *testing.T) {
	t.Parallel()
	list := "    calls: [{id: c1, tool: list_files, args: {path: public_html}}]\n    usage: {input: 1000, output: 100}\n"
	for name, c := range map[string]struct {
		transcript string
		reason     Reason
		revenue    int
	}{
		"unknown tools":           {repeated(4, "    calls: [{id: c1, tool: rm_rf, args: {path: /}}]\n    usage: {input: 1000, output: 100}\n"), ModelGarbage, 2},
		"arguments that are none": {repeated(4, "    calls: [{id: c1, tool: read_file, raw: '{\"path'}]\n    usage: {input: 1000, output: 100}\n"), ModelGarbage, 2},
		"unknown arguments":       {repeated(4, "    calls: [{id: c1, tool: read_file, args: {path: public_html/index.html, service: 11}}]\n"), ModelGarbage, 0},
		"the same again":          {repeated(6, list), LoopDetected, 2},
		"nothing at all":          {"turns: [{text: \"\"}]", ModelGarbage, 0},
		"garbage on the wire":     {"turns: [{fault: {kind: garbage}}]", ModelGarbage, 1},
		"too many requests":       {"turns: [{fault: {kind: \"429\", times: 9}}]", ModelFailed, 0},
		"a broken provider":       {"turns: [{fault: {kind: \"500\", times: 9}}]", ModelFailed, 0},
		"half an answer, then silence": {
			"turns: [{text: \"Let me think about that for a while\", fault: {kind: hang, after_bytes: 20}}]", ModelFailed, 1,
		},
		"half an answer": {"turns: [{text: \"Let me think about that for a while\", fault: {kind: cut, after_bytes: 20}}]", ModelFailed, 1},
		"no transcript":  {"turns: []", ModelFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines(t, c.transcript, func(w *world) {
				w.work(w.Service)
				w.enable(Autopilot, "")
				a := w.task("Do something")
				if a.Status != Failed || a.EndReason != c.reason {
					w.T.Errorf("%+v, want %s", a, c.reason)
				}
				w.whole()
				if w.purse.revenue() != c.revenue {
					w.T.Errorf("charged %d, want %d", w.purse.revenue(), c.revenue)
				}
				if w.file("/public_html/index.html") != homePage {
					w.T.Error("the site was changed")
				}
				if got := strings.Join(w.EventTypes(), " "); got != "ai.run_failed" {
					w.T.Errorf("told to integrators: %s", got)
				}
			})
		})
	}
}

func TestABusyModelIsAskedAgain(t *testing.T) {
	t.Parallel()
	engines(t, "turns:\n  - fault: {kind: \"429\", times: 2}\n  - text: Done.\n    usage: {input: 1000, output: 100}\n", func(w *world) {
		w.work(w.Service)
		w.enable(Suggest, "")
		if a := w.task("Do something"); a.Status != Completed || a.Message != "Done." {
			w.T.Errorf("%+v", a)
		}
		w.whole()
	})
}

func TestALimitOfStepsAndMoneyEndsARun(t *testing.T) {
	t.Parallel()
	turn := "    calls: [{id: c1, tool: search_files, args: {path: public_html, q: %q}}]\n    usage: {input: %d, output: 100}\n"
	var steps, costly strings.Builder
	for i := range 6 {
		head := "  -\n"
		if i == 0 {
			head = "turns:\n  - expect: {role: user}\n"
		}
		fmt.Fprintf(&steps, head+turn, fmt.Sprint("word", i), 1000)
		fmt.Fprintf(&costly, head+turn, fmt.Sprint("word", i), 250_000) // 75 cents and more
	}
	engines(t, steps.String(), func(w *world) {
		w.work(w.Service)
		w.enable(Autopilot, `, "max_steps": 3`)
		if a := w.task("Search"); a.EndReason != StepLimit || a.Steps != 3 {
			w.T.Errorf("%+v", a)
		}
		w.whole()
	})
	engines(t, costly.String(), func(w *world) {
		w.work(w.Service)
		w.enable(Autopilot, `, "monthly_budget_usd_cents": 80`)
		if a := w.task("Search"); a.EndReason != Budget || a.Steps != 1 {
			w.T.Errorf("%+v", a)
		}
		w.whole()
		if w.purse.revenue() != 76 {
			w.T.Errorf("charged %d", w.purse.revenue())
		}
		if a := w.task("Search"); a.EndReason != Budget || a.Steps != 0 { // 4 cents do not cover an answer's worst case
			w.T.Errorf("the second: %+v", a)
		}
		w.whole()
	})
}

func TestWhatIsRefusedBeforeARunBegins(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		run := fmt.Sprintf("/%d/ai/run", mine)
		task := `{"message": "hours"}`
		w.Refused(
			sitetest.Refusal{Method: "POST", Target: run, Token: "own", Body: task, Code: 422, Key: "ai_disabled"},
			sitetest.Refusal{Method: "POST", Target: run, Token: "other", Body: task, Code: 404, Key: "not_found"},
			sitetest.Refusal{Method: "POST", Target: run, Token: "sandbox", Body: task, Code: 403, Key: "sandbox_read_only"},
		)
		w.enable(Autopilot, `, "monthly_budget_usd_cents": 0`)
		w.Refused(sitetest.Refusal{Method: "POST", Target: run, Token: "own", Body: task, Code: 422, Key: "ai_budget_exceeded"})
		w.enable(Autopilot, "")
		w.purse.most = 99
		w.Refused(sitetest.Refusal{Method: "POST", Target: run, Token: "own", Body: task, Code: 422, Key: "insufficient_funds"})
		w.purse.most = startBalance
		w.Services.SetStatus(w.T, mine, "suspended")
		w.Refused(sitetest.Refusal{Method: "POST", Target: run, Token: "own", Body: task, Code: 422, Key: "service_suspended"})
		w.Services.SetStatus(w.T, mine, "active")
		w.Refused(
			sitetest.Refusal{Method: "POST", Target: run, Token: "own", Body: `{"message": ""}`, Code: 422, Key: "validation_failed"},
			sitetest.Refusal{Method: "POST", Target: run, Token: "own", Body: `{"message": "hours", "conversation_id": 99}`, Code: 422, Key: "validation_failed"},
		)
		for _, bad := range []struct{ body, key string }{
			{`{"enabled": true, "mode": "autopilot", "model": "another"}`, "ai_model_unknown"},
			{`{"enabled": true, "mode": "autopilot", "allowed_paths": ["/public_html/../.ssh"]}`, "validation_failed"},
			{`{"enabled": true, "mode": "autopilot", "allowed_tools": ["sudo"]}`, "validation_failed"},
			{`{"enabled": true, "mode": "yolo"}`, "validation_failed"},
			{`{"enabled": true}`, "validation_failed"},
		} {
			if r := w.api("PUT", "/api/v1/ai/settings", "own", bad.body); r.Code != http.StatusUnprocessableEntity || r.Key() != bad.key {
				w.T.Errorf("%s: %v", bad.body, r)
			}
		}
		// A model that the operator has withdrawn.
		w.Exec(`UPDATE ai_settings SET model = 'gone'`)
		w.Refused(sitetest.Refusal{Method: "POST", Target: run, Token: "own", Body: task, Code: 422, Key: "ai_model_unknown"})
		w.whole()
		if n := w.number(`SELECT COUNT(*) FROM ai_runs`) + w.number(`SELECT COUNT(*) FROM ai_conversations`); n != 0 {
			w.T.Errorf("%d rows are left of what was refused", n)
		}
	})
}

func (w *world) number(query string) (n int) {
	w.T.Helper()
	w.Must(w.Service.DB.QueryRow(w.T.Context(), query).Scan(&n))
	return n
}

func TestARunThatIsAskedForManyTimesAtOnceBeginsOnce(t *testing.T) {
	t.Parallel()
	engines(t, hours, func(w *world) {
		w.enable(Suggest, "") // nobody works on it
		counted := map[string]int{}
		for key, n := range sitetest.AtOnce(8, func(int) sitetest.Reply {
			_, err := w.start(w.T.Context(), sitetest.Owner, mine, "hours", nil)
			if err != nil {
				return sitetest.Reply{Code: http.StatusUnprocessableEntity, Body: err.Error()}
			}
			return sitetest.Reply{Code: http.StatusOK}
		}) {
			counted[key[:3]] += n
		}
		if counted["200"] != 1 || w.number(`SELECT COUNT(*) FROM ai_runs`) != 1 || w.number(`SELECT COUNT(*) FROM purse WHERE held > 0`) != 1 {
			w.T.Errorf("%v", counted)
		}
	})
}

func TestTheWorstCaseOfAnAnswerMustFitIntoTheHold(t *testing.T) {
	t.Parallel()
	m := llm.Model{Price: price}
	r := run{held: 10, cost: m.Cost(llm.Usage{Input: 10_000, Output: 1000})} // 4.5 cents
	if !r.affords(m.Cost(llm.Usage{Output: 3000})) || r.affords(m.Cost(llm.Usage{Output: 4000})) || !(run{}).affords(0) {
		t.Error("a hold covers more or less than it has")
	}
	if r.cost *= 3; r.charge() != 10 {
		t.Errorf("more is charged than is held: %d", r.charge())
	}
}
