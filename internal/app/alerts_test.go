package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/sdk/go/webhook"
)

// alertReceiver is a webhook that is told of monitors.
type alertReceiver struct {
	mu     sync.Mutex
	secret string
	fails  int // so many times it answers an error
	got    []received
	wrong  []error
}

type received struct {
	ID, Type, Code, Text string
	Monitor              *struct{ Status string }
}

func (a *alertReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fails > 0 {
		a.fails--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var m received
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err == nil && a.secret != "" {
		err = webhook.Verifier{Secrets: []string{a.secret}}.Verify(r.Header, body)
	}
	if err != nil {
		a.wrong = append(a.wrong, err)
	}
	a.got = append(a.got, m)
}

func (a *alertReceiver) all() []received {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]received{}, a.got...)
}

// TestAChannelIsToldInOrder: once its owner has shown the code; also by a receiver that fails at first.
func TestAChannelIsToldInOrder(t *testing.T) {
	engines(t, watching, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		rc := &alertReceiver{}
		hook := httptest.NewServer(rc)
		defer hook.Close()
		var made struct {
			ID     int64
			Secret string
		}
		r := w.post(t, w.owner.token, "/api/v1/alert-channels", fmt.Sprintf(`{"type": "webhook", "target": "%s/hook?key=hidden"}`, hook.URL))
		r.decode(t, &made)
		if made.Secret == "" || len(rc.all()) != 1 || rc.all()[0].Code == "" {
			t.Fatalf("%s, %+v", r, rc.all())
		}
		rc.mu.Lock()
		rc.secret = made.Secret
		rc.mu.Unlock()
		path := fmt.Sprintf("/api/v1/alert-channels/%d", made.ID)
		if r := a.post(t, w.owner.token, path+"/verify", `{"code": "nothing"}`); r.status != http.StatusUnprocessableEntity {
			t.Error(r)
		}
		if r := a.post(t, w.owner.token, path+"/verify", fmt.Sprintf(`{"code": %q}`, rc.all()[0].Code)); r.status != http.StatusOK {
			t.Error(r)
		}
		if r := a.get(t, w.owner.token, "/api/v1/alert-channels"); !contains(r, `"verified":true`) || contains(r, "hidden") || contains(r, made.Secret) {
			t.Error(r)
		}
		if r := a.post(t, w.owner.token, path+"/test", ""); r.status != http.StatusOK {
			t.Error(r)
		}
		if r := a.post(t, w.owner.token, "/api/v1/monitors", `{"type": "heartbeat", "channels": [999]}`); r.status != http.StatusUnprocessableEntity {
			t.Error(r)
		}
		id := w.id(w.post(t, w.owner.token, "/api/v1/monitors", fmt.Sprintf(`{"type": "heartbeat", "channels": [%d], "name": "Nightly"}`, made.ID)))
		m := w.monitorIs(id, "pending")
		beat := (*m.PushURL)[len(a.cfg.BaseURL):]
		rc.mu.Lock()
		rc.fails = 1
		rc.mu.Unlock()
		for _, call := range []string{"", "/1", ""} { // up, down, up
			if r := a.get(t, "", beat+call); r.status != http.StatusOK {
				t.Fatal(r)
			}
		}
		testkit.Eventually(t, 40*time.Second, func() bool { return len(rc.all()) >= 4 }, "the channel is told")
		got := rc.all()
		if got[1].Type != "channel.test" || got[2].Type != "monitor.down" || got[3].Type != "monitor.up" || got[2].ID == got[3].ID || len(got) != 4 ||
			got[2].Monitor == nil || got[2].Monitor.Status != "down" {
			t.Errorf("%+v", got)
		}
		rc.mu.Lock()
		defer rc.mu.Unlock()
		for _, err := range rc.wrong {
			t.Error(err)
		}
	})
}

// TestOnesDevicesAreAChannel: they need no code, show each alert once, and no notification beside it.
func TestOnesDevicesAreAChannel(t *testing.T) {
	engines(t, watching, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		pushed := make(chan string, 20)
		service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { pushed <- r.Header.Get("Topic") }))
		t.Cleanup(service.Close)
		add := func(body string) answer { return a.post(t, w.owner.token, "/api/v1/alert-channels", body) }
		for _, body := range []string{`{"type": "push", "target": "somebody"}`, `{"type": "push", "token": "1"}`, `{"type": "slack"}`} {
			if r := add(body); r.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %s", body, r)
			}
		}
		r := add(`{"type": "push"}`)
		if r.status != http.StatusCreated || !contains(r, `"verified":true`) {
			t.Fatal(r)
		}
		channel := w.id(r)
		if r := add(`{"type": "push"}`); r.key() != "already_exists" {
			t.Error(r)
		}
		test := fmt.Sprintf("/api/v1/alert-channels/%d/test", channel)
		if r := a.post(t, w.owner.token, test, ""); r.status != http.StatusOK || !contains(r, `"last_error_key":"no_device"`) {
			t.Error(r)
		}
		a.browser(t, w.owner.token, service.URL)
		if r := a.post(t, w.owner.token, test, ""); r.status != http.StatusOK || !contains(r, `"last_error_key":null`) {
			t.Error(r)
		}
		next := func() string {
			t.Helper()
			select {
			case topic := <-pushed:
				return topic
			case <-time.After(time.Minute):
				t.Fatal("nothing was pushed")
				return ""
			}
		}
		if topic := next(); !strings.HasPrefix(topic, "test-") {
			t.Error(topic)
		}
		id := w.id(w.post(t, w.owner.token, "/api/v1/monitors", fmt.Sprintf(`{"type": "heartbeat", "channels": [%d], "name": "Nightly"}`, channel)))
		m := w.monitorIs(id, "pending")
		beat := (*m.PushURL)[len(a.cfg.BaseURL):]
		for _, call := range []string{"", "/1", ""} {
			if r := a.get(t, "", beat+call); r.status != http.StatusOK {
				t.Fatal(r)
			}
		}
		one, other := next(), next()
		if !strings.HasPrefix(one, "alert-") || !strings.HasPrefix(other, "alert-") || one == other {
			t.Error(one, other)
		}
		testkit.Eventually(t, 30*time.Second, func() bool {
			return strings.Contains(string(a.get(t, w.owner.token, "/api/v1/notifications").body), "monitor_up")
		}, "the notifications are there")
		a.topupFails(t, w.owner.id, 1) // something else, which is pushed
		if topic := next(); !strings.HasPrefix(topic, "notification-") || len(pushed) != 0 {
			t.Error(topic, len(pushed))
		}
	})
}

func contains(r answer, text string) bool { return strings.Contains(string(r.body), text) }
