package app

import (
	"net/http"
	"regexp"
	"strings"
)

// snapshot is everything that the owner can read. What tells of the reading
// itself (sessions, last uses) is left out.
func (w *world) snapshot() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, op := range w.Operations() {
		if op.Method != http.MethodGet || strings.HasPrefix(op.Path, "/api/v1/me/") || growing[op.ID] {
			continue
		}
		r := w.do(w.t, w.example(op, w.tokenFor(op, w.owner)))
		if r.status != http.StatusOK {
			w.t.Errorf("%s as the owner: %s", op.ID, r)
		}
		all[op.ID] = r.lasting()
	}
	return all
}

// growing lists tell what happened, and jobs go on happening; the status has a history that a job writes every minute.
var growing = map[string]bool{"claims.list": true, "content.status": true, "events.stream": true, "services.events": true, "notifications.list": true, "reseller.events.list": true, "reseller.events.get": true, "reseller.audit_log": true, "reseller.clock": true, "templates.installed": true, "templates.list": true}

var changesByItself = regexp.MustCompile(`"(dns|charge|credit)":\{(?:[^{}]|\{[^{}]*\})*\}|"(?:last_used|checked|next_check|measured)_at":(?:"[^"]*"|null)`)

// lasting is the body without what changes by itself: what the server saw in the DNS, where it looks whenever it likes, when
// it last looked at or measured something, and what is left of a period's price.
func (a answer) lasting() string { return changesByItself.ReplaceAllString(string(a.body), "") }

// unchanged compares snapshots.
func (w *world) unchanged(before map[string]string, what string) {
	w.t.Helper()
	after := w.snapshot()
	for id, body := range before {
		if after[id] != body {
			w.t.Errorf("%s: %s changed\nfrom %.600s\nto   %.600s", what, id, body, after[id])
		}
	}
}
