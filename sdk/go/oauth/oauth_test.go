package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	stead "stead.dev/stead/sdk/go"
	"stead.dev/stead/sdk/go/oauth"
)

// server gives tokens, each refresh token once.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	refresh  string
	access   string
	verifier string
	asked    int
	life     int
	told     []string // what polls are told after the first of them
}

func newServer(t *testing.T) *server {
	s := &server{refresh: "r0", access: "a0", life: 3600}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		right := r.FormValue("client_id") == "app"
		switch r.FormValue("grant_type") {
		case "refresh_token":
			right = right && r.FormValue("refresh_token") == s.refresh
			s.asked++
		case "urn:ietf:params:oauth:grant-type:device_code":
			if s.told = s.told[min(1, len(s.told)):]; len(s.told) > 0 && r.FormValue("device_code") == "std_device" {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"error": "` + s.told[0] + `"}`))
				return
			}
			right = right && r.FormValue("device_code") == "std_device"
		case "authorization_code":
			right = right && r.FormValue("code") == "code"
			s.verifier = r.FormValue("code_verifier")
		}
		if !right {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error": "invalid_grant", "error_description": "no"}`))
			return
		}
		s.refresh, s.access = s.refresh+"+", s.access+"+"
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": s.access, "refresh_token": s.refresh, "expires_in": s.life, "scope": "profile"})
	})
	mux.HandleFunc("POST /oauth/device_authorization", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"device_code": "std_device", "user_code": "WDJB-MJHT", "verification_uri": "http://x/oauth/device",
			"verification_uri_complete": "http://x/oauth/device?user_code=WDJB-MJHT", "expires_in": 4, "interval": 1}`))
	})
	mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+s.access {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error": "token_expired"}`))
			return
		}
		_, _ = w.Write([]byte(`{"id": 1}`))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestATokenIsRefreshedOnce(t *testing.T) {
	for name, token := range map[string]oauth.Token{
		"before it expires":             {Access: "a0", Refresh: "r0", Expires: time.Now().Add(time.Second)},
		"when the server does not take": {Access: "revoked", Refresh: "r0", Expires: time.Now().Add(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			var saved oauth.Token
			source := oauth.NewSource(oauth.Config{Server: s.URL, ClientID: "app"}, token, func(t oauth.Token) error { saved = t; return nil })
			c, err := stead.New(s.URL, stead.WithTokenSource(source))
			if err != nil {
				t.Fatal(err)
			}
			var calls sync.WaitGroup
			for range 8 {
				calls.Go(func() {
					if _, err := c.Account.Get(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if s.asked != 1 || saved.Refresh != "r0+" || saved.Access != "a0+" || time.Until(saved.Expires) < time.Minute {
				t.Errorf("refreshed %d times; saved %+v", s.asked, saved)
			}
		})
	}
}

// lossy gives each refresh token's successor, the same again to who asks again, as a server does for some seconds.
func lossy(t *testing.T, meanwhile func(r *http.Request, asked int64)) (s *httptest.Server, asked *atomic.Int64) {
	asked = &atomic.Int64{}
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		used := r.FormValue("refresh_token")
		meanwhile(r, asked.Add(1))
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "a+", "refresh_token": used + "+", "expires_in": 3600})
	}))
	t.Cleanup(s.Close)
	return s, asked
}

func TestNewTokensAreKeptByACallerWhoEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, _ := lossy(t, func(*http.Request, int64) {
		cancel()
		<-time.After(50 * time.Millisecond) // sleeps: so that a refresh that heeds it has ended
	})
	var saved oauth.Token
	source := oauth.NewSource(oauth.Config{Server: s.URL, ClientID: "app"}, oauth.Token{Refresh: "r0"}, func(t oauth.Token) error { saved = t; return nil })
	c, err := stead.New(s.URL, stead.WithTokenSource(source))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Account.Get(ctx); !errors.Is(err, context.Canceled) || saved.Refresh != "r0+" {
		t.Errorf("%v; saved %+v", err, saved)
	}
}

func TestTokensWhoseAnswerWasLostAreAskedForOnceMore(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(r *http.Request){
		"the connection broke": func(*http.Request) { panic(http.ErrAbortHandler) },
		"the answer hangs":     func(r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, asked := lossy(t, func(r *http.Request, n int64) {
				if n == 1 {
					fail(r)
				}
			})
			begun := time.Now()
			token, err := oauth.Config{Server: s.URL, ClientID: "app"}.Refresh(t.Context(), "r0")
			if err != nil || token.Refresh != "r0+" || asked.Load() != 2 || time.Since(begun) > 9*time.Second {
				t.Errorf("%+v, %v after %d tries in %v", token, err, asked.Load(), time.Since(begun))
			}
		})
	}
}

func TestAnEndedSignInIsAnErrorWithAKey(t *testing.T) {
	s := newServer(t)
	source := oauth.NewSource(oauth.Config{Server: s.URL, ClientID: "app"}, oauth.Token{Access: "x", Refresh: "used"}, nil)
	c, err := stead.New(s.URL, stead.WithTokenSource(source))
	if err != nil {
		t.Fatal(err)
	}
	var refused *oauth.Error
	if _, err := c.Account.Get(t.Context()); !errors.As(err, &refused) || refused.Key != "invalid_grant" || s.asked != 1 {
		t.Errorf("%v after %d tries", err, s.asked)
	}
}

func TestSigningInByABrowserHere(t *testing.T) {
	s := newServer(t)
	config := oauth.Config{Server: s.URL, ClientID: "app", Scopes: []string{"profile", "services:read"}}
	visit := func(redirect string, q url.Values) int {
		r, err := http.Get(redirect + "?" + q.Encode())
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	ask := func(answer url.Values) (oauth.Token, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return config.Login(ctx, func(address string) error {
			u, err := url.Parse(address)
			if err != nil {
				return err
			}
			q := u.Query()
			if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("scope") != "profile services:read" {
				t.Errorf("asked for %s", address)
			}
			if code := visit(q.Get("redirect_uri"), url.Values{"code": {"code"}, "state": {"of somebody else"}}); code != http.StatusBadRequest {
				t.Errorf("the answer to another sign-in: %d", code)
			}
			answer.Set("state", q.Get("state"))
			visit(q.Get("redirect_uri"), answer)
			return nil
		})
	}
	if token, err := ask(url.Values{"code": {"code"}}); err != nil || token.Access != "a0+" || len(s.verifier) < 43 {
		t.Errorf("%+v, %v", token, err)
	}
	if _, err := ask(url.Values{"error": {"access_denied"}}); !errors.Is(err, oauth.ErrDenied) {
		t.Error(err)
	}
}

func TestSigningInByABrowserElsewhere(t *testing.T) {
	s := newServer(t)
	config := oauth.Config{Server: s.URL, ClientID: "app"}
	token, err := config.LoginElsewhere(t.Context(), func(address string) (string, error) {
		u, err := url.Parse(address)
		return " http://127.0.0.1/callback?code=code&state=" + u.Query().Get("state") + "\n", err
	})
	if err != nil || token.Access != "a0+" {
		t.Errorf("%+v, %v", token, err)
	}
	if _, err := config.LoginElsewhere(t.Context(), func(string) (string, error) { return "http://127.0.0.1/callback?code=code&state=old", nil }); err == nil {
		t.Error("the answer to another sign-in is taken")
	}
}

func TestSigningInOnADevice(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	config := oauth.Config{Server: s.URL, ClientID: "app"}
	login := func(told ...string) (oauth.Token, error) {
		s.mu.Lock()
		s.told = append([]string{""}, told...)
		s.mu.Unlock()
		return config.LoginDevice(t.Context(), func(d oauth.DeviceCode) error {
			if d.UserCode != "WDJB-MJHT" || d.Address != "http://x/oauth/device" || d.Complete != d.Address+"?user_code="+d.UserCode {
				t.Errorf("shown: %+v", d)
			}
			return nil
		})
	}
	if token, err := login("authorization_pending"); err != nil || token.Access != "a0+" {
		t.Errorf("allowed: %+v, %v", token, err)
	}
	if _, err := login("access_denied"); !errors.Is(err, oauth.ErrDenied) {
		t.Errorf("refused: %v", err)
	}
	var refused *oauth.Error
	if _, err := login("expired_token"); !errors.As(err, &refused) || refused.Key != "expired_token" {
		t.Errorf("expired: %v", err)
	}
	if _, err := login("slow_down", "authorization_pending"); !errors.As(err, &refused) || refused.Key != "expired_token" {
		t.Errorf("nobody decides: %v", err)
	}
}
