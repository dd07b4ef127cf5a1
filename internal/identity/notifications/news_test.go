package notifications_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
)

func TestNewsAreToldOnceAsEachAccountHasChosen(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		devices := &pushes{}
		w.Connect(notifications.Needs{Pushes: devices})
		tell := func(n notifications.News, accounts ...int64) (told int) {
			t.Helper()
			err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				told, err = w.Tell(ctx, tx, n, accounts)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return told
		}
		if status, p := w.preferences("own", "PUT", `{"preferences":[{"topic":"news","mail":false,"push":false}]}`); status != http.StatusOK {
			t.Fatalf("%d %+v", status, p)
		}
		disks := notifications.News{
			Key: "announcement-3", ID: 3, Severity: notifications.Info, Title: i18n.Text{"en": "Disks", "ru": "Диски"},
			Text: i18n.Text{"en": "{{.Tonight}}", "ru": "Ночью."}, Link: "/status", Mail: true,
		}
		if n := tell(disks, 1, 2); n != 2 || devices.n != 1 || w.mails() != 1 {
			t.Errorf("%d told, %d pushes, %d mails", n, devices.n, w.mails())
		}
		if n := tell(disks, 1, 2, 3); n != 1 || devices.n != 2 || w.mails() != 2 {
			t.Errorf("again: %d told, %d pushes, %d mails", n, devices.n, w.mails())
		}
		disks.Key, disks.Mail = "announcement-4", false
		if n := tell(disks, 2); n != 1 || w.mails() != 2 {
			t.Errorf("without mail: %d told, %d mails", n, w.mails())
		}
		rec := apitest.Call(w.edge, "own", http.MethodGet, "/api/v1/notifications", "", "Accept-Language", "en")
		for _, part := range []string{`"announcement"`, `"/status"`, `"title":"Disks"`, `"body":"{{.Tonight}}"`} {
			if !strings.Contains(rec.Body.String(), part) {
				t.Errorf("no %s in %s", part, rec.Body)
			}
		}
	})
}
