package notifications_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/testkit"
)

// pushes counts what is put on devices.
type pushes struct{ n int }

func (p *pushes) Announce(context.Context, *db.Tx, int64, int64) error {
	p.n++
	return nil
}

type preferences struct {
	Data []struct {
		Topic, Title, Text string
		Kinds              []string
		Mail, Push, Fixed  bool
	}
	Error string
}

func (w *world) preferences(token, method, body string) (int, preferences) {
	w.t.Helper()
	rec := apitest.Call(w.edge, token, method, "/api/v1/notifications/preferences", body, "Accept-Language", "en")
	var p preferences
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		w.t.Fatalf("%s: %v", rec.Body, err)
	}
	return rec.Code, p
}

// mails counts the jobs that mail.
func (w *world) mails() (n int) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'notifications.mail'`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestOwnersChooseHowTheyAreTold(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		devices := &pushes{}
		w.Connect(notifications.Needs{Pushes: devices})
		told := func(uid, typ string, mails, pushes int) {
			t.Helper()
			m, p := w.mails(), devices.n
			w.hear(event(uid, typ, `{"common_name":"a.test"}`))
			if m, p = w.mails()-m, devices.n-p; m != mails || p != pushes {
				t.Errorf("%s: %d mails and %d pushes, not %d and %d", typ, m, p, mails, pushes)
			}
		}
		told("evt_1", "ssl.failed", 1, 1)
		if status, p := w.preferences("own", "PUT", `{"preferences":[{"topic":"sites","mail":false,"push":true},{"topic":"payments","mail":true,"push":false}]}`); status != http.StatusOK || len(p.Data) != 9 {
			t.Fatalf("%d %+v", status, p)
		}
		told("evt_2", "ssl.failed", 0, 1)
		told("evt_3", "wallet.topup_failed", 1, 0)
		told("evt_4", "service.suspended", 1, 1) // essential
		other := event("evt_5", "ssl.failed", `{"common_name":"b.test"}`)
		other.AccountID = 2
		before := w.mails()
		w.hear(other)
		if w.mails() != before+1 {
			t.Error("one customer's choice is another's")
		}

		_, p := w.preferences("own", "GET", "")
		for _, one := range p.Data {
			off := one.Topic == "sites" && !one.Mail && one.Push || one.Topic == "payments" && one.Mail && !one.Push
			if off == (one.Mail && one.Push) || one.Fixed != (one.Topic == "essential") || len(one.Kinds) == 0 {
				t.Errorf("%+v", one)
			}
		}
		for _, body := range []string{
			`{"preferences":[{"topic":"essential","mail":false,"push":false}]}`, `{"preferences":[{"topic":"nothing","mail":true,"push":true}]}`,
			`{"preferences":[{"topic":"sites"}]}`, `{"preferences":[]}`, `{}`,
		} {
			if status, p := w.preferences("own", "PUT", body); status != http.StatusUnprocessableEntity || p.Error != "validation_failed" {
				t.Errorf("%s: %d %s", body, status, p.Error)
			}
		}
		told("evt_6", "service.suspended", 1, 1)
	})
}

// TestAMailEndsByItsLink: one that is not essential, in one click, without signing in, and for the account of the link alone.
func TestAMailEndsByItsLink(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		if err := w.queue.Start(ctx); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.queue.Stop(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		}()
		w.hear(event("evt_1", "service.suspended", `{"domain":"a.test"}`))
		w.hear(event("evt_2", "ssl.failed", `{"common_name":"a.test"}`))
		testkit.Eventually(t, time.Minute, func() bool {
			var n int
			err := w.db.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE kind = 'notifications.mail' AND state = 'completed'`).Scan(&n)
			return err == nil && n == 2
		}, "the mails are sent")
		var link string
		for _, m := range w.post.mails() {
			essential := strings.Contains(m.Text, "/plan")
			if essential != (m.Unsubscribe == "") || m.Unsubscribe != "" && !strings.Contains(m.Text, m.Unsubscribe) {
				t.Errorf("%+v", m)
			}
			if m.Unsubscribe != "" {
				link = m.Unsubscribe
			}
		}
		token, ok := strings.CutPrefix(link, "https://stead.test/notifications/unsubscribe/")
		if !ok {
			t.Fatalf("the link is %q", link)
		}
		m, err := w.Mailing(ctx, token)
		if err != nil || m != (notifications.Mailing{Email: "ann@stead.test", Topic: notifications.Sites, On: true}) {
			t.Fatalf("%+v, %v", m, err)
		}
		for range 2 { // a mail program and then its reader
			if err := w.EndMailing(ctx, token); err != nil {
				t.Fatal(err)
			}
		}
		if m, err := w.Mailing(ctx, token); err != nil || m.On {
			t.Errorf("%+v, %v", m, err)
		}
		if _, p := w.preferences("own", "GET", ""); p.Data[3].Topic != "sites" || p.Data[3].Mail || !p.Data[3].Push {
			t.Errorf("%+v", p.Data[3])
		}
		if _, p := w.preferences("other", "GET", ""); !p.Data[3].Mail {
			t.Error("another account is told less, too")
		}
		flipped := "A" + token[1:]
		if token[0] == 'A' {
			flipped = "B" + token[1:]
		}
		for _, wrong := range []string{"", "!", "AAAA", flipped, token[:len(token)-4]} {
			if err := w.EndMailing(ctx, wrong); err == nil {
				t.Errorf("%q ends something", wrong)
			}
		}
	})
}

func TestEveryKindHasATopicWithItsWords(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		_, p := w.preferences("own", "GET", "")
		of := map[string]string{}
		for _, topic := range p.Data {
			for _, kind := range topic.Kinds {
				of[kind] = topic.Topic
			}
			for _, lang := range i18n.Supported() {
				for _, part := range []string{"title", "text"} {
					if id := "notification.topic." + topic.Topic + "." + part; !i18n.Has(lang, id) {
						t.Errorf("%s is missing in %s", id, lang)
					}
				}
			}
		}
		for _, kind := range notifications.Mails() {
			if name := strings.TrimPrefix(kind.ID, "notification."); of[name] == "" {
				t.Errorf("%s has no topic", name)
			}
		}
	})
}
