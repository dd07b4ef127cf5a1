package account

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/idempotency"
	"stead.dev/stead/internal/platform/throttle"
)

// tokens are the principals that requests of a test come from.
type tokens map[string]auth.Principal

func (v tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	if p, ok := v[token]; ok {
		return p, nil
	}
	return auth.Principal{}, fault.Unauthenticated.New()
}

// serve mounts the operations on a real edge.
func (w *world) serve(t *testing.T, off everySection, v tokens) func(method, path, token, body string) (int, map[string]any) {
	t.Helper()
	w.Modules = off
	edge := api.NewEdge(api.Config{
		DB: w.DB, Verifier: v, Switches: off, Limiter: throttle.New(w.DB, w.clk), Answers: idempotency.NewStore(w.DB),
		Default: throttle.Policy{Name: "default", Limit: 1000, Window: time.Minute}, MaxBody: 1 << 16, Timeout: time.Minute,
		Language: "en", BaseURL: "https://stead.test", Version: "test",
		ClientAddr: func(*http.Request) netip.Addr { return home.Address },
	})
	if err := edge.Mount(w.Operations()...); err != nil {
		t.Fatal(err)
	}
	handler := api.Outer(slog.New(slog.DiscardHandler), w.clk, nil, edge)
	return func(method, path, token, body string) (int, map[string]any) {
		t.Helper()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		var answer map[string]any
		if rec.Body.Len() > 0 {
			if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%s %s: %v in %s", method, path, err, rec.Body)
			}
		}
		return rec.Code, answer
	}
}

func profileToken(account int64) auth.Principal {
	return auth.Principal{AccountID: account, ApplicationID: 1, Scopes: []string{auth.ScopeProfile}}
}

func TestMeShowsTheAccountAndChangesItsPreferences(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		id := w.anna(t).Session.Account.ID
		call := w.serve(t, everySection{api.Monitors: true}, tokens{"t": profileToken(id)})
		status, me := call("GET", "/api/v1/me", "t", "")
		if status != 200 || me["email"] != "anna@example.com" || me["locale"] != "en" || me["currency"] != "USD" || me["two_factor"] != false ||
			me["email_verified"] != false || me["created_at"] != "2026-03-02T09:00:00Z" || me["id"] != float64(id) {
			t.Errorf("%d %v", status, me)
		}
		modules, _ := me["modules"].([]any)
		if len(modules) != len(api.Sections())-1 || modules[0] != "oauth" {
			t.Errorf("modules %v", modules)
		}
		for _, m := range modules {
			if m == "monitors" {
				t.Error("a section that is switched off is listed")
			}
		}
		status, me = call("PATCH", "/api/v1/me", "t", `{"locale":"uz","currency":"uzs"}`)
		if status != 200 || me["locale"] != "uz" || me["currency"] != "UZS" || me["name"] != "Anna" {
			t.Errorf("%d %v", status, me)
		}
		if len(*w.told) != 1 || (*w.told)[0] != strconv.FormatInt(id, 10) {
			t.Errorf("signals %v", *w.told)
		}
		if status, me = call("PATCH", "/api/v1/me", "t", `{}`); status != 200 || me["locale"] != "uz" {
			t.Errorf("%d %v", status, me)
		}
	})
}

func TestWhatMeRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		id := w.anna(t).Session.Account.ID
		sandbox, other := profileToken(id), auth.Principal{AccountID: id, Scopes: []string{auth.ScopeOrdersRead}}
		sandbox.Sandbox = true
		call := w.serve(t, everySection{}, tokens{"t": profileToken(id), "sandbox": sandbox, "other": other})
		for _, c := range []struct {
			method, path, token, body string
			status                    int
			key                       string
		}{
			{"GET", "/api/v1/me", "none", "", 401, "unauthenticated"},
			{"GET", "/api/v1/me", "other", "", 403, "insufficient_scope"},
			{"PATCH", "/api/v1/me", "sandbox", `{"locale":"ru"}`, 403, "sandbox_read_only"},
			{"PATCH", "/api/v1/me", "t", `{"locale":"de"}`, 422, "validation_failed"},
			{"PATCH", "/api/v1/me", "t", `{"currency":"DOGE"}`, 422, "validation_failed"},
			{"PATCH", "/api/v1/me", "t", `{"currency":7}`, 422, "validation_failed"},
			{"PATCH", "/api/v1/me", "t", `{`, 400, "malformed_json"},
			{"GET", "/api/v1/me/sessions", "t", "", 403, "forbidden"},
			{"DELETE", "/api/v1/me/sessions/1", "t", "", 403, "forbidden"},
		} {
			if status, answer := call(c.method, c.path, c.token, c.body); status != c.status || answer["error"] != c.key {
				t.Errorf("%s %s %s as %s: %d %v", c.method, c.path, c.body, c.token, status, answer)
			}
		}
	})
}

func TestThePanelListsAndEndsSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		eve, err := w.SignUp(t.Context(), Registration{Name: "Eve", Email: "eve@example.com", Password: goodPassword}, home)
		if err != nil {
			t.Fatal(err)
		}
		panel := profileToken(anna.Session.Account.ID)
		panel.FirstParty = true
		call := w.serve(t, everySection{}, tokens{"panel": panel})
		status, list := call("GET", "/api/v1/me/sessions", "panel", "")
		rows, _ := list["data"].([]any)
		if status != 200 || len(rows) != 1 {
			t.Fatalf("%d %v", status, list)
		}
		row, _ := rows[0].(map[string]any)
		if row["user_agent"] != home.UserAgent || row["address"] != "203.0.113.7" || row["method"] != "password" || row["token_hash"] != nil {
			t.Errorf("%v", row)
		}
		path := func(id int64) string { return "/api/v1/me/sessions/" + strconv.FormatInt(id, 10) }
		if status, _ := call("DELETE", path(eve.Session.ID), "panel", ""); status != 404 || !w.alive(t, eve.Token) {
			t.Errorf("a stranger's: %d", status)
		}
		if status, _ := call("DELETE", path(anna.Session.ID), "panel", ""); status != 200 || w.alive(t, anna.Token) {
			t.Errorf("one's own: %d", status)
		}
	})
}
