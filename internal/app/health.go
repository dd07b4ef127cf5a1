package app

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// healthy answers whether the process is alive. It checks nothing that the process depends on: restarting it would not
// bring a lost database back.
func healthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
}

// readiness is a condition that must hold before requests are sent to this replica.
type readiness struct {
	Name string
	OK   func(ctx context.Context) bool
}

// ready tells a load balancer whether to send requests to this replica.
func ready(checks []readiness) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		answer := struct {
			Status string            `json:"status"`
			Checks map[string]string `json:"checks"`
		}{"ok", map[string]string{}}
		status := http.StatusOK
		for _, c := range checks {
			answer.Checks[c.Name] = "ok"
			if !c.OK(ctx) {
				answer.Checks[c.Name], answer.Status = "failing", "unavailable"
				status = http.StatusServiceUnavailable
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // a prober that went away is nobody's error
	}
}

// mostApart is how much a replica's clock may differ from the database's: with a clock of its own it would end sessions and
// judge machines too early or too late, for all others too.
const mostApart = 5 * time.Second

// inTime reports whether the clock of this machine is that of a shared database, give or take.
func (a *App) inTime(ctx context.Context) bool {
	if !a.db.Shared() || a.machine == nil {
		return true
	}
	before := a.machine.Now()
	database, err := a.db.ServerTime(ctx)
	after := a.machine.Now()
	// Whatever the question took, the database answered in between.
	return err == nil && before.Sub(database) <= mostApart && database.Sub(after) <= mostApart
}
