package runs

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"stead.dev/stead/internal/port/llm"
)

// overheard is a model whose provider keeps all that it is sent.
type overheard struct {
	llm.Client

	mu   sync.Mutex
	sent strings.Builder
}

func (o *overheard) Ask(ctx context.Context, r llm.Request, onText func(string)) (llm.Answer, error) {
	o.mu.Lock()
	for _, m := range r.Messages {
		o.sent.WriteString(m.Text + "\n")
		for _, c := range m.Calls {
			o.sent.WriteString(c.Arguments + "\n")
		}
	}
	o.mu.Unlock()
	return o.Client.Ask(ctx, r, onText)
}

// heard is all that the provider was sent.
func (o *overheard) heard() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent.String()
}

// TestNoModelSeesWhatThePlatformHasIssued has the password of a database everywhere where a model looks, under names that no
// rule knows: the customer's message, a file, a log, the DNS, and what a person says to a question.
func TestNoModelSeesWhatThePlatformHasIssued(t *testing.T) {
	t.Parallel()
	const password = "Qm7wXzR4tLkPn9Yd2VbHs6Cf"
	const task = `
turns:
  - expect: {role: user}
    text: "I read Qm7wXzR4tLkPn9Yd2VbHs6Cf aloud."
    calls:
      - {id: c1, tool: read_file, args: {path: public_html/connect.inc}}
      - {id: c2, tool: search_files, args: {path: public_html, q: mysqli}}
      - {id: c3, tool: read_logs, args: {type: php}}
      - {id: c4, tool: get_dns, args: {}}
  - expect: {tool: c1, ok: true}
    calls: [{id: c5, tool: write_file, args: {path: public_html/connect.inc, etag: "${c1.etag}", content: "<?php // nothing"}}]
  - calls: [{id: c6, tool: edit_file, args: {path: public_html/connect.inc, etag: "${c1.etag}", edits: [{old: "shop", new: "Qm7wXzR4tLkPn9Yd2VbHs6Cf"}]}}]
  - calls: [{id: c7, tool: delete_path, args: {path: public_html/index.html}}]
  - expect: {tool: c7, ok: false}
    text: "It stays."
`
	const file = "<?php new mysqli('localhost', 'shop', 'Qm7wXzR4tLkPn9Yd2VbHs6Cf');\n"
	engines(t, task, func(w *world) {
		w.shelf.set(func() {
			w.shelf.secrets = []Secret{{"database_password", password}}
			w.shelf.answers["logs.list"] = `{"data": [{"at": "2026-11-25T10:00:00Z", "level": "error", "message": "using Qm7wXzR4tLkPn9Yd2VbHs6Cf"}], "meta": {"next_cursor": null}}`
			w.shelf.answers["dns.list"] = `{"data": [{"name": "@", "type": "TXT", "ttl": 300, "value": "` + base64.StdEncoding.EncodeToString([]byte(password)) + `"}], "meta": {"last_page": 1}}`
		})
		w.put("/public_html/connect.inc", file)
		model := &overheard{Client: play(w.T, task)}
		w.work(w.replica(model))
		w.enable(Autopilot, "")
		a := w.task("The password is " + password)
		for a.Status == Waiting {
			if r := w.Do("POST", fmt.Sprintf("/%d/ai/approvals/%d/decide", mine, w.question().ID), "own", `{"approve": false, "reason": "No, and not `+password+`"}`); r.Code != http.StatusOK {
				w.T.Fatal(r)
			}
			a = w.rests(a.ID)
		}
		if a.Status != Completed || len(a.Changes) != 0 || w.file("/public_html/connect.inc") != file {
			w.T.Errorf("%+v, the file is %q", a, w.file("/public_html/connect.inc"))
		}
		for what, text := range map[string]string{"sent": model.heard(), "kept": w.everything()} {
			if strings.Contains(text, password) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(password))) {
				w.T.Errorf("the password is among what was %s: %s", what, text)
			}
			if !strings.Contains(text, "⟦secret:database_password⟧") {
				w.T.Errorf("nothing of it is among what was %s: %s", what, text)
			}
		}
	})
}
