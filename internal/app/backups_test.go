package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/hosting/access"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
)

// statusOf is the state of the world's service as its owner sees it.
func (w *world) statusOf() string {
	w.t.Helper()
	var s struct {
		Status string `json:"status"`
	}
	w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/services/%d", w.service)).decode(w.t, &s)
	return s.Status
}

// TestAServiceEndsAndComesBack: an operator ends a service, and changes their mind. The jobs of a
// running server do all of it.
func TestAServiceEndsAndComesBack(t *testing.T) {
	engines(t, demo, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		order := func(f func(ctx context.Context, tx *db.Tx, id int64) error) {
			t.Helper()
			err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return f(ctx, tx, w.service) })
			if err != nil {
				t.Fatal(err)
			}
		}
		order(func(ctx context.Context, tx *db.Tx, id int64) error {
			return a.services.Suspend(ctx, tx, id, services.Manual)
		})
		order(a.services.Terminate)
		testkit.Eventually(t, time.Minute, func() bool { return w.statusOf() == "terminated" }, "the service has ended")
		if r := w.get(t, w.owner.token, w.files("/content?path=/public_html/index.html")); r.status == http.StatusOK {
			t.Errorf("its files are there: %s", r)
		}

		order(a.services.Restore)
		testkit.Eventually(t, time.Minute, func() bool { return w.statusOf() == "active" }, "the service is back")
		testkit.Eventually(t, time.Minute, func() bool {
			r := w.get(t, w.owner.token, w.files("/content?path=/public_html/index.html"))
			return r.status == http.StatusOK
		}, "its files are back")
		var domains struct {
			Data []struct{ Name, Status string } `json:"data"`
		}
		testkit.Eventually(t, time.Minute, func() bool {
			w.get(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/domains", w.service)).decode(t, &domains)
			return len(domains.Data) == 2 && domains.Data[0].Status == "active" && domains.Data[1].Status == "active"
		}, "its domains are back")
		var records struct {
			Data []struct{ Name, Type string } `json:"data"`
		}
		testkit.Eventually(t, time.Minute, func() bool {
			w.get(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d/dns?name=api", w.service)).decode(t, &records)
			return len(records.Data) == 1
		}, "its records are back")
	})
}

// TestAServiceThatIsBackKeepsItsPasswords: the end of a service is told when it has come back already, and what it
// has did not go. Without its password a database or an FTP account would never follow again.
func TestAServiceThatIsBackKeepsItsPasswords(t *testing.T) {
	engines(t, demo, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		told, err := a.outbox.Of(t.Context(), "service", w.service)
		made := slices.IndexFunc(told, func(e outbox.Stored) bool { return e.Type == "service.provisioned" })
		if err != nil || made < 0 {
			t.Fatalf("%+v, %v", told, err)
		}
		err = a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := a.credentials.Put(ctx, tx, w.owner.id, w.service, access.CredentialKind, 1, "anna"); err != nil {
				return err
			}
			return a.outbox.Emit(ctx, tx, outbox.Event{
				Type: "service.terminated", AccountID: w.owner.id, Subject: "service", SubjectID: w.service, Data: told[made].Data,
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			var heard int
			err := a.db.QueryRow(t.Context(), `SELECT count(*) FROM outbox_events WHERE type = 'service.terminated' AND fanned_at IS NOT NULL`).Scan(&heard)
			return err == nil && heard == 1
		}, "everybody has heard of it")
		all, err := a.credentials.List(t.Context(), w.owner.id, w.service)
		if err != nil || len(all) != 1 {
			t.Errorf("passwords: %+v, %v", all, err)
		}
	})
}
