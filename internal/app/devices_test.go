package app

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// browser registers a browser, whose messages a push service takes.
func (a *App) browser(t *testing.T, token, service string) {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	subscription, err := json.Marshal(map[string]any{
		"endpoint": service + "/s/1", "keys": map[string]string{"p256dh": text(key.PublicKey().Bytes()), "auth": text(make([]byte, 16))},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := a.post(t, token, "/api/v1/me/devices", fmt.Sprintf(`{"platform": "web", "token": %q}`, subscription)); r.status != http.StatusCreated {
		t.Fatal(r)
	}
}

// topupFails makes a warning of the account's.
func (a *App) topupFails(t *testing.T, accountID, id int64) {
	t.Helper()
	now := a.clock.Now()
	err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return a.outbox.Emit(ctx, tx, outbox.Event{
			Type: "wallet.topup_failed", AccountID: accountID, Subject: "topup", SubjectID: id,
			Data: map[string]any{
				"id": id, "gateway": "demo", "amount_usd_cents": 500, "fee_usd_cents": 0, "status": "failed", "failure_key": nil,
				"created_at": now, "completed_at": now,
			},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestABrowserIsToldOfWhatHappens(t *testing.T) {
	engines(t, nil, func(t *testing.T, a *App) {
		pushed := make(chan http.Header, 10)
		var gone atomic.Bool
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if gone.Load() { // looked at before the test hears of the push, and changes it
				w.WriteHeader(http.StatusGone)
			}
			pushed <- r.Header.Clone()
		}))
		t.Cleanup(service.Close)
		c := a.customer(t, a.application(t, false), 0)
		a.browser(t, c.token, service.URL)
		var list struct {
			Data []struct{ Reachable bool }
			Key  string `json:"web_push_public_key"`
		}
		a.get(t, c.token, "/api/v1/me/devices").decode(t, &list)
		if len(list.Data) != 1 || !list.Data[0].Reachable {
			t.Fatalf("%+v", list)
		}
		// tell makes a warning, and waits for the push.
		tell := func(id int64) http.Header {
			t.Helper()
			a.topupFails(t, c.id, id)
			select {
			case h := <-pushed:
				return h
			case <-time.After(time.Minute):
				t.Fatal("nothing was pushed")
				return nil
			}
		}
		h := tell(1)
		if !strings.HasSuffix(h.Get("Authorization"), ", k="+list.Key) || h.Get("Content-Encoding") != "aes128gcm" || h.Get("Urgency") != "normal" ||
			!strings.HasPrefix(h.Get("Topic"), "notification-") {
			t.Errorf("%v", h)
		}
		// The browser has unsubscribed.
		gone.Store(true)
		tell(2)
		testkit.Eventually(t, time.Minute, func() bool {
			a.get(t, c.token, "/api/v1/me/devices").decode(t, &list)
			return len(list.Data) == 0
		}, "the device is forgotten")
	})
}

func TestAKeyOfFirebaseThatIsNoneIsSaidAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, []byte(`{"type": "authorized_user", "client_secret": "hunter2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, nil)
	withKey, err := config.Load(config.Input{CommandLine: map[string]string{"data_dir": cfg.DataDir}, Environ: []string{"STEAD_FCM_ACCOUNT_FILE=" + file}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.FCMAccount = withKey.FCMAccount
	a, err := New(t.Context(), cfg, quietly())
	if err == nil {
		_ = a.Close()
		t.Fatal("it starts")
	}
	if !strings.Contains(err.Error(), "service account") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
