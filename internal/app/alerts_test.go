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

func contains(r answer, text string) bool { return strings.Contains(string(r.body), text) }
