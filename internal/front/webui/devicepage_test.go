package webui

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/i18n"
)

// call posts a form to an endpoint of the protocol.
func (s *site) call(path string, form url.Values) (int, map[string]any) {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.endpoints.ServeHTTP(w, r)
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		s.t.Fatal(err)
	}
	return w.Code, body
}

// device begins a sign-in on a device; poll answers what it is told.
func (s *site) device(app oauth.Application) (user string, poll func() string) {
	s.t.Helper()
	_, begun := s.call("/oauth/device_authorization", url.Values{"client_id": {app.ClientID}, "scope": {"profile wallet:write"}})
	user, _ = begun["user_code"].(string)
	device, _ := begun["device_code"].(string)
	return user, func() string {
		status, told := s.call("/oauth/token", url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {app.ClientID}, "device_code": {device},
		})
		if status == http.StatusOK {
			return "tokens"
		}
		key, _ := told["error"].(string)
		return key
	}
}

// TestAUserEntersTheCodeOfADevice: signing in comes first, a link with the code never suffices, and the page names application, account,
// code and scopes, and warns.
func TestAUserEntersTheCodeOfADevice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.visitor("ann@example.com", "en")
	app := ann.register("<b>TV</b>", oauth.Public)
	code, poll := s.device(app)
	link := "/oauth/device?user_code=" + code

	if w := (visitor{site: s}).get(link); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/login?next="+url.QueryEscape(link) {
		t.Errorf("a stranger gets %d to %q", w.Code, w.Header().Get("Location"))
	}
	if w := ann.get("/oauth/device"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `name="user_code"`) {
		t.Errorf("the form: %d", w.Code)
	}
	page := ann.get(link)
	asked := "The device asked on " + i18n.Minute(s.clk.Now())
	for _, want := range []string{"&lt;b&gt;TV&lt;/b&gt;", "ann@example.com", code, "Top up your wallet", asked, "Shop never sends you a code"} {
		if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), want) {
			t.Errorf("the page (%d) lacks %q", page.Code, want)
		}
	}
	if h := page.Header(); !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("Cache-Control") != "no-store" {
		t.Errorf("it can be framed or kept: %v", h)
	}
	if got := poll(); got != "authorization_pending" {
		t.Errorf("before the decision: %s", got)
	}
	form := url.Values{"user_code": {code}, "decision": {"allow"}}
	for name, headers := range map[string][]string{"another origin": {"Origin", fromAnother}, "another site": {"Sec-Fetch-Site", "cross-site", "Origin", fromAnother}} {
		if w := ann.do(http.MethodPost, "/oauth/device", form, headers...); w.Code != http.StatusForbidden {
			t.Errorf("%s decides: %d", name, w.Code)
		}
	}
	if w := ann.do(http.MethodPost, "/oauth/device", url.Values{"user_code": {code}}); w.Code != http.StatusBadRequest {
		t.Errorf("no decision: %d", w.Code)
	}
	if w := ann.do(http.MethodPost, "/oauth/device", form); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "You are signed in on the device") {
		t.Errorf("allowed: %d %s", w.Code, w.Body)
	}
	s.clk.Advance(oauth.DeviceLife / 10)
	if got := poll(); got != "tokens" {
		t.Errorf("after it: %s", got)
	}
	list, _, err := s.oauth.ListConnections(t.Context(), ann.account, 10, 0)
	if err != nil || len(list) != 1 {
		t.Errorf("connected: %v, %v", list, err)
	}

	code, poll = s.device(app)
	if w := ann.get("/oauth/device?user_code=" + code); !strings.Contains(w.Body.String(), "may:") {
		t.Error("a second device is not asked for")
	}
	if w := ann.do(http.MethodPost, "/oauth/device", url.Values{"user_code": {code}, "decision": {"deny"}}); w.Code != http.StatusOK {
		t.Errorf("refused: %d", w.Code)
	}
	if got := poll(); got != "access_denied" {
		t.Errorf("after a refusal: %s", got)
	}
	for _, wrong := range []string{code, "BCDF-GHJK", "<script>", "\x00"} {
		w := ann.get("/oauth/device?user_code=" + url.QueryEscape(wrong))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "No device waits with this code") || strings.Contains(w.Body.String(), "<script") {
			t.Errorf("%q: %d", wrong, w.Code)
		}
	}
	s.busy = true
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if w := ann.do(method, "/oauth/device", form); w.Code != http.StatusTooManyRequests {
			t.Errorf("%s, too often: %d", method, w.Code)
		}
	}
}
