package fcm_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/port/push"
	"stead.dev/stead/internal/port/push/fcm"
)

const token = "cX9:APA91b-a_token.of-a-phone"

// google is the service and its token server, as documented.
type google struct {
	*httptest.Server
	granted int // access tokens
	sent    []map[string]any
	answer  func(w http.ResponseWriter)
}

func newGoogle(t *testing.T) *google {
	t.Helper()
	g := &google{answer: func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"name": "projects/shop/messages/1"}`) }}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || strings.Count(r.FormValue("assertion"), ".") != 2 {
			t.Errorf("asked for a token with %v", r.Form)
		}
		g.granted++
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token": "let-me", "token_type": "Bearer", "expires_in": 3600}`)
	})
	mux.HandleFunc("POST /v1/projects/shop/messages:send", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer let-me" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("sent with %v", r.Header)
		}
		var m struct{ Message map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		g.sent = append(g.sent, m.Message)
		g.answer(w)
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func accountKey(t *testing.T, tokenURL string) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "shop", "private_key_id": "1", "client_email": "push@shop.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURL,
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestAPhoneGetsTheMessage(t *testing.T) {
	g := newGoogle(t)
	s, err := fcm.New(fcm.Config{Account: accountKey(t, g.URL+"/token"), URL: g.URL})
	if err != nil {
		t.Fatal(err)
	}
	m := push.Message{ID: "notification-7", Kind: "ssl_failed", Title: "Title", Body: strings.Repeat("ж", 2000), Link: "/api/v1/services/7", Urgency: push.High, TTL: time.Hour}
	for range 2 {
		if err := s.Send(t.Context(), token, m); err != nil {
			t.Fatal(err)
		}
	}
	if g.granted != 1 {
		t.Errorf("%d access tokens for two messages", g.granted)
	}
	got := g.sent[0]
	android, _ := got["android"].(map[string]any)
	shown, _ := got["notification"].(map[string]any)
	data, _ := got["data"].(map[string]any)
	body, _ := shown["body"].(string)
	if got["token"] != token || android["priority"] != "high" || android["ttl"] != "3600s" || android["collapse_key"] != m.ID ||
		shown["title"] != "Title" || len(body) > 1500 || !strings.HasSuffix(body, "ж…") || data["id"] != m.ID || data["link"] != m.Link {
		t.Errorf("%v", got)
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	g := newGoogle(t)
	s, err := fcm.New(fcm.Config{Account: accountKey(t, g.URL+"/token"), URL: g.URL})
	if err != nil {
		t.Fatal(err)
	}
	refusal := func(status, detail string) string {
		return `{"error": {"status": "` + status + `", "details": [` + detail + `]}}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   error // nil: may be tried again
	}{
		"unregistered":    {404, refusal("NOT_FOUND", `{"errorCode": "UNREGISTERED"}`), push.ErrGone},
		"another sender":  {403, refusal("PERMISSION_DENIED", `{"errorCode": "SENDER_ID_MISMATCH"}`), push.ErrGone},
		"a broken token":  {400, refusal("INVALID_ARGUMENT", `{"fieldViolations": [{"field": "message.token"}]}, {"errorCode": "INVALID_ARGUMENT"}`), push.ErrGone},
		"a wrong message": {400, refusal("INVALID_ARGUMENT", `{"errorCode": "INVALID_ARGUMENT"}`), push.ErrRejected},
		"no permission":   {403, refusal("PERMISSION_DENIED", ``), nil},
		"no project":      {404, `not even JSON`, nil},
		"an error":        {500, ``, nil},
	} {
		g.answer = func(w http.ResponseWriter) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}
		err := s.Send(t.Context(), token, push.Message{ID: "n"})
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && (err == nil || errors.Is(err, push.ErrGone) || errors.Is(err, push.ErrRejected)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%s tells the token: %v", name, err)
		}
	}
	for _, status := range []int{429, 503} {
		g.answer = func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "99999")
			w.WriteHeader(status)
		}
		var busy *push.Busy
		if err := s.Send(t.Context(), token, push.Message{ID: "n"}); !errors.As(err, &busy) || busy.After != time.Hour {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestKeysThatAreNone(t *testing.T) {
	good := accountKey(t, "https://oauth2.example.com/token")
	for name, content := range map[string]string{
		"nothing": "", "no JSON": "secret-key", "another kind": `{"type": "authorized_user"}`,
		"a broken key": strings.Replace(string(good), "BEGIN PRIVATE", "BEGIN BROKEN", 1),
	} {
		if _, err := fcm.New(fcm.Config{Account: []byte(content)}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := fcm.New(fcm.Config{Account: good})
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{"short": "abc", "long": strings.Repeat("a", 2000), "a space": token + " ", "a line": token + "\n"} {
		if _, err := s.Canonical(bad); !errors.Is(err, push.ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := s.Canonical(token); err != nil || got != token {
		t.Errorf("%q %v", got, err)
	}
}
