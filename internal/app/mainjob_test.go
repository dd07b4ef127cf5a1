package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	mainjob "stead.dev/stead/internal/front/demo"
)

// TestTheMainJob is the end-to-end test: a customer and an integrator who know nothing but the public
// interface, throttles on, buy hosting and publish a real site.
func TestTheMainJob(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "throttle": "true", "llm_models_file": "", "monitors": "true"}, func(t *testing.T, a *App) {
		t.Run("with a new customer", func(t *testing.T) {
			var out bytes.Buffer
			if err := mainjob.Run(t.Context(), mainjob.Options{URL: a.URL(), Out: &out}); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if !strings.Contains(out.String(), "+<!doctype html>") || !strings.Contains(out.String(), "the agent was here") {
				t.Errorf("the agent has not worked:\n%s", &out)
			}
		})
		t.Run("with the demonstration's, as JSON", func(t *testing.T) {
			var out bytes.Buffer
			err := mainjob.Run(t.Context(), mainjob.Options{
				URL: a.URL(), Out: &out, JSON: true, Email: DemoEmail, Password: DemoPassword, ClientID: DemoClientID,
				SiteDir: "../front/demo/site", // a small one: the large one was published by the new customer
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			for line := range strings.Lines(out.String()) {
				var step struct {
					OK bool `json:"ok"`
				}
				if err := json.Unmarshal([]byte(line), &step); err != nil || !step.OK || strings.Contains(line, DemoPassword) {
					t.Errorf("%v in %s", err, line)
				}
			}
		})
		t.Run("and says which step failed", func(t *testing.T) {
			err := mainjob.Run(t.Context(), mainjob.Options{
				URL: a.URL(), Out: &bytes.Buffer{}, Email: DemoEmail, Password: "another password", ClientID: DemoClientID,
			})
			if err == nil || !strings.Contains(err.Error(), `step "authorize"`) {
				t.Errorf("a wrong password: %v", err)
			}
		})
	})
}
