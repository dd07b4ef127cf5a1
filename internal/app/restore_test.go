package app

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

func TestAnOwnerBringsAServiceBack(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		ended := w.restorable()
		path := fmt.Sprintf("/api/v1/services/%d", ended)
		var s struct {
			Status  string   `json:"status"`
			Actions []string `json:"available_actions"`
		}
		a.get(t, w.owner.token, path).decode(t, &s)
		if s.Status != "terminated" || !slices.Contains(s.Actions, "restore") {
			t.Fatalf("a service whose final backup is kept: %+v", s)
		}
		if r := a.post(t, w.stranger.token, path+"/restore", ""); r.status != http.StatusNotFound {
			t.Errorf("by a stranger: %s", r)
		}
		if r := a.post(t, w.owner.token, path+"/restore", ""); r.status != http.StatusOK {
			t.Fatalf("restore: %s", r)
		}
		w.rests(fmt.Sprintf("/api/v1/reseller/services/%d", ended), "active")
		if r := a.post(t, w.owner.token, path+"/restore", ""); r.key() != "service_not_active" {
			t.Errorf("of one that is there: %s", r)
		}
	})
}
