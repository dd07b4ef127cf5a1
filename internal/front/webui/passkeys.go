package webui

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
)

// challengeCookie holds the ceremony of a browser's authenticator.
const challengeCookie = "stead_challenge"

// passkeys reports whether passkeys work at the address of the page: they are bound to a name.
func (ui *UI) passkeys(r *http.Request) bool {
	origin := ui.Accounts.PasskeyOrigin()
	// Behind a proxy that rewrites Host, the public address decides.
	return origin != "" && (origin == ui.BaseURL || strings.HasSuffix(origin, "://"+r.Host))
}

// passkeyBody is the request of passkey.js.
type passkeyBody struct {
	// Step is "code" when the passkey completes a sign-in by password.
	Step       string          `json:"step"`
	Next       string          `json:"next"`
	Credential json.RawMessage `json:"credential"`
}

func readPasskey(r *http.Request) (b passkeyBody, err error) {
	err = readJSON(r, &b)
	return b, err
}

// readJSON parses what a script of ours sends; other sites cannot send it without a preflight, and the guard has checked
// the request.
func readJSON(r *http.Request, into any) error {
	if r.Header.Get("Content-Type") != "application/json" {
		return fault.UnsupportedMediaType.With(fault.Fields{"expected": "application/json"})
	}
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return fault.MalformedJSON.Wrap(err)
	}
	return nil
}

// say answers a script of ours.
func (ui *UI) say(w http.ResponseWriter, r *http.Request, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		ui.internal(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// refuse tells a script of ours which text to show.
func (ui *UI) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := api.Fault(err)
	switch f.Def {
	case fault.Internal:
		ui.Log.ErrorContext(r.Context(), "page failed", "page", r.Pattern, "error", err)
	case fault.Unavailable:
		ui.Log.ErrorContext(r.Context(), "page unavailable", "page", r.Pattern, "error", err)
		w.Header().Set("Retry-After", api.RetryUnavailable)
	}
	if seconds, ok := f.Fields["retry_after"].(int); ok {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	lang := i18n.Lang(r.Context())
	ui.say(w, r, f.Def.Kind.Status(), map[string]any{
		"error": f.Def.Key, "message": i18n.T(lang, f.TextID(), f.Fields), "errors": invalidTexts(lang, f),
	})
}

func (ui *UI) ask(w http.ResponseWriter, r *http.Request, c account.Challenge) {
	ui.setCookie(w, challengeCookie, c.Token, 600)
	ui.say(w, r, http.StatusOK, c.Options)
}

func (ui *UI) pendingFor(r *http.Request, b passkeyBody) string {
	if b.Step != "code" {
		return ""
	}
	return ui.cookie(r, pendingCookie)
}

func (ui *UI) passkeySignInOptions(w http.ResponseWriter, r *http.Request) {
	b, err := readPasskey(r)
	if err != nil {
		ui.refuse(w, r, err)
		return
	}
	c, err := ui.Accounts.BeginPasskeySignIn(r.Context(), ui.pendingFor(r, b), ui.client(r))
	if err != nil {
		ui.refuse(w, r, err)
		return
	}
	ui.ask(w, r, c)
}

func (ui *UI) passkeySignIn(w http.ResponseWriter, r *http.Request) {
	b, err := readPasskey(r)
	if err != nil {
		ui.refuse(w, r, err)
		return
	}
	out, err := ui.Accounts.FinishPasskeySignIn(r.Context(), ui.cookie(r, challengeCookie), ui.pendingFor(r, b), b.Credential, ui.client(r))
	ui.dropCookie(w, challengeCookie)
	if err != nil {
		ui.refuse(w, r, err)
		return
	}
	ui.enter(w, r, out)
	ui.say(w, r, http.StatusOK, map[string]string{"next": safeNext(b.Next)})
}

// pathID parses an id of the address; an invalid one names nothing.
func pathID(r *http.Request, name string) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		return 0, fault.NotFound.Wrap(err)
	}
	return id, nil
}
