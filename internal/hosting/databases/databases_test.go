package databases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const owner, stranger = sitetest.Owner, sitetest.Stranger

// world is the section with services on a machine.
type world struct {
	sitetest.World
	machine *machine
	secrets *sitetest.Vault
	events  *events
	*Service
}

// machine has databases, which it refuses when the test says so.
type machine struct {
	sandbox.Panel
	sitetest.Failures
}

func (m *machine) SetDatabase(ctx context.Context, ref string, d panel.Database) (panel.Database, error) {
	if err := m.Change("databases.set", ref); err != nil {
		return panel.Database{}, err
	}
	return m.Panel.SetDatabase(ctx, ref, d)
}

func (m *machine) ListDatabases(ctx context.Context, ref string) ([]panel.Database, error) {
	if err := m.Failure("databases.list", ref); errors.Is(err, panel.ErrUnreachable) {
		return nil, err
	}
	return m.Panel.ListDatabases(ctx, ref)
}

// OpenDatabase implements panel.Adminer, which the simulated machine has not.
func (m *machine) OpenDatabase(ctx context.Context, ref, name string) (panel.OpenedDatabase, error) {
	if err := m.Failure("adminer.open", ref); err != nil {
		return panel.OpenedDatabase{}, err
	}
	_, err := m.DumpDatabase(ctx, ref, name) // whether it is there
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	return panel.OpenedDatabase{URL: "https://node.example/" + ref + "/" + name, ExpiresAt: at, EndsAt: at.Add(time.Hour)}, err
}

// events keeps the events that the section emits.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) Emit(_ context.Context, _ *db.Tx, o outbox.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	data, err := json.Marshal(o.Data)
	e.all = append(e.all, o.Type+" "+string(data))
	return err
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) {
		w := &world{
			World: base, machine: &machine{Panel: sitetest.Open(base.T, base.Clock.Now, sandbox.Open)}, secrets: &sitetest.Vault{}, events: &events{},
		}
		q := sitetest.Queue(base.T, base.DB)
		w.Service = New(Config{Base: w.On(q, w.machine), Events: w.events, Secrets: w.secrets})
		w.Register(q.Workers())
		w.Mount(w.Operations())
		f(base.T, w)
	})
}

// service sells a service whose plan has three databases.
func (w *world) service(accountID, id int64) {
	w.T.Helper()
	w.Sell(w.machine, site.Site{ServiceID: id, AccountID: accountID, Limits: site.Limits{"databases": 3, "disk_mb": 100}})
}

func (w *world) add(service int64, body string) int64 {
	w.T.Helper()
	var d struct{ ID int64 }
	w.Read(http.StatusCreated, "POST", fmt.Sprintf("/%d/databases", service), body, &d)
	return d.ID
}

func (w *world) apply(service int64) {
	w.T.Helper()
	w.Must(w.Apply(w.T.Context(), owner, service))
}

func (w *world) shows(service int64) map[string]databaseWire {
	w.T.Helper()
	target := fmt.Sprintf("/%d/databases", service)
	if r := w.Do("GET", target, "own", ""); strings.Contains(r.Body, "secret") || strings.Contains(r.Body, "password") {
		w.T.Errorf("a password is shown: %s", r.Body)
	}
	return sitetest.ByKey(&w.World, target, func(d databaseWire) string { return d.Name })
}

func TestADatabaseIsCreatedShownAndDeleted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		id := w.add(10, `{"name":"shop","engine":"mysql"}`)
		w.add(10, `{"name":"s10_more","engine":"postgresql","charset":"utf8"}`)
		if d := w.shows(10)["s10_shop"]; d.Status != Creating || d.Charset != "utf8mb4" || d.SizeMB != nil || d.Users == nil {
			t.Errorf("before the panel follows: %+v", d)
		}
		w.apply(10)
		d := w.shows(10)["s10_shop"]
		if d.Status != Active || d.SizeMB == nil || len(d.Users) != 1 || d.Users[0].Name != "s10_shop" || *d.Host != "127.0.0.1" || *d.Port != 3306 ||
			*d.MaxSizeMB != 100 || *d.Version == "" {
			t.Errorf("after: %+v", d)
		}
		want := fmt.Sprintf(`database.created {"id":%d,"service_id":10,"name":"s10_shop","engine":"mysql"}`, id)
		if len(w.events.all) != 2 || w.events.all[0] != want {
			t.Errorf("told: %v", w.events.all)
		}
		changes := w.machine.Changes()
		w.apply(10)
		if w.machine.Changes() != changes || len(w.events.all) != 2 {
			t.Error("what is as it should be was changed")
		}
		// Another password is told to the panel, once.
		w.secrets.Renew(id)
		w.Tx(func(ctx context.Context, tx *db.Tx) error { return w.PasswordReplaced(ctx, tx, owner, 10, id) })
		if s := w.shows(10)["s10_shop"].Status; s != Active {
			t.Errorf("while the password changes: %s", s)
		}
		w.apply(10)
		w.apply(10)
		if have, err := w.machine.ListDatabases(t.Context(), "10"); err != nil || have[1].PasswordVersion != "v3" || w.machine.Changes() != changes+1 {
			t.Errorf("%+v, %v, %d changes", have, err, w.machine.Changes()-changes)
		}
		used := map[string]int64{}
		if err := w.Count(t.Context(), w.DB, 10, used); err != nil || used["databases"] != 2 {
			t.Errorf("count: %v, %v", used, err)
		}
		for range 2 {
			if r := w.Do("DELETE", fmt.Sprintf("/10/databases/%d", id), "own", ""); r.Code != http.StatusOK {
				t.Errorf("%+v", r)
			}
		}
		if s := w.shows(10)["s10_shop"].Status; s != Removing {
			t.Errorf("while it goes: %s", s)
		}
		if r := w.Do("POST", "/10/databases", "own", `{"name":"shop","engine":"mysql"}`); r.Key() != "job_running" {
			t.Errorf("its name while it goes: %+v", r)
		}
		w.apply(10)
		if all := w.shows(10); len(all) != 1 || w.secrets.Count() != 1 {
			t.Errorf("after: %+v, %d passwords", all, w.secrets.Count())
		}
		w.add(10, `{"name":"shop","engine":"mysql"}`)
	})
}

func TestADatabaseIsOpenedInABrowser(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		w.service(stranger, 11)
		id := w.add(10, `{"name":"shop","engine":"mysql"}`)
		open := fmt.Sprintf("/10/databases/%d/open", id)
		if w.shows(10)["s10_shop"].CanOpen {
			t.Error("one that is not there yet can be opened")
		}
		w.Refused(sitetest.Refusal{Method: "POST", Target: open, Token: "own", Code: 404, Key: "not_found"}) // the panel does not have it
		w.apply(10)
		if !w.shows(10)["s10_shop"].CanOpen {
			t.Error("it cannot be opened")
		}
		var o openedWire
		w.Read(http.StatusOK, "POST", open, "", &o)
		if o.URL != "https://node.example/10/s10_shop" || !o.EndsAt.After(o.ExpiresAt) {
			t.Errorf("%+v", o)
		}
		w.Refused(
			sitetest.Refusal{Method: "POST", Target: open, Token: "other", Code: 404, Key: "not_found"},
			sitetest.Refusal{Method: "POST", Target: fmt.Sprintf("/11/databases/%d/open", id), Token: "other", Code: 404, Key: "not_found"},
			sitetest.Refusal{Method: "POST", Target: "/10/databases/999/open", Token: "own", Code: 404, Key: "not_found"},
		)
		for failure, want := range map[error]sitetest.Refusal{
			panel.ErrUnreachable: {Code: 502, Key: "panel_unreachable"}, panel.ErrUnsupported: {Code: 422, Key: "unsupported_operation"},
			panel.ErrBusy: {Code: 503, Key: "panel_busy"}, panel.ErrSuspended: {Code: 422, Key: "service_suspended"},
		} {
			w.machine.Fail(failure)
			if r := w.Do("POST", open, "own", ""); r.Code != want.Code || r.Key() != want.Key {
				t.Errorf("%v: %+v", failure, r)
			}
		}
		w.machine.Fail(nil)
		w.Services.SetStatus(t, 10, "suspended")
		w.Refused(sitetest.Refusal{Method: "POST", Target: open, Token: "own", Code: 422, Key: "service_suspended"})
		if w.shows(10)["s10_shop"].CanOpen {
			t.Error("one of a suspended service can be opened")
		}
		w.Services.SetStatus(t, 10, "active")
		w.Exec(`UPDATE test_services SET panel = 'bare' WHERE id = 10`)
		w.Refused(sitetest.Refusal{Method: "POST", Target: open, Token: "own", Code: 422, Key: "unsupported_operation"})
		if w.shows(10)["s10_shop"].CanOpen {
			t.Error("a panel without Adminer opens it")
		}
		w.Exec(`UPDATE test_services SET panel = 'it' WHERE id = 10`)
		w.Do("DELETE", fmt.Sprintf("/10/databases/%d", id), "own", "")
		w.Refused(sitetest.Refusal{Method: "POST", Target: open, Token: "own", Code: 404, Key: "not_found"})
	})
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		w.service(stranger, 11)
		for id, s := range map[int64][2]string{12: {"bare", "active"}, 13: {"it", "suspended"}, 14: {"it", "provisioning"}} {
			w.Services.Add(t, site.Site{ServiceID: id, AccountID: owner, Panel: s[0], Ref: "x", Username: "x", Status: s[1]})
		}
		id := w.add(10, `{"name":"shop","engine":"mariadb"}`)
		before := fmt.Sprint(w.shows(10))
		w.Refused([]sitetest.Refusal{
			{"POST", "/10/databases", "own", `{"name":"shop","engine":"postgresql"}`, 422, "already_exists"},
			{"POST", "/10/databases", "own", `{"name":"a b","engine":"mysql"}`, 422, "validation_failed"},
			{"POST", "/10/databases", "own", `{"name":"a;DROP","engine":"mysql"}`, 422, "validation_failed"},
			{"POST", "/10/databases", "own", `{"name":"_a","engine":"mysql"}`, 422, "validation_failed"},
			{"POST", "/10/databases", "own", `{"name":"` + strings.Repeat("a", 25) + `","engine":"mysql"}`, 422, "validation_failed"},
			{"POST", "/10/databases", "own", `{"name":"a","engine":"oracle"}`, 422, "validation_failed"},
			{"POST", "/10/databases", "own", `{"name":"a"}`, 422, "validation_failed"},
			{"POST", "/10/databases", "own", `{"name":"a","engine":"mysql","charset":"klingon"}`, 422, "validation_failed"},
			{"POST", "/11/databases", "own", `{"name":"a","engine":"mysql"}`, 404, "not_found"},
			{"POST", "/10/databases", "other", `{"name":"a","engine":"mysql"}`, 404, "not_found"},
			{"POST", "/12/databases", "own", `{"name":"a","engine":"mysql"}`, 422, "unsupported_operation"},
			{"POST", "/13/databases", "own", `{"name":"a","engine":"mysql"}`, 422, "service_suspended"},
			{"POST", "/14/databases", "own", `{"name":"a","engine":"mysql"}`, 422, "service_not_active"},
			{"GET", "/10/databases", "other", "", 404, "not_found"},
			{"DELETE", fmt.Sprintf("/10/databases/%d", id), "other", "", 404, "not_found"},
			{"DELETE", fmt.Sprintf("/13/databases/%d", id), "own", "", 422, "service_suspended"},
			{"DELETE", fmt.Sprintf("/11/databases/%d", id), "other", "", 404, "not_found"},
			{"DELETE", "/10/databases/999", "own", "", 404, "not_found"},
		}...)
		if after := fmt.Sprint(w.shows(10)); len(w.shows(10)) != 1 || w.secrets.Count() != 1 {
			t.Errorf("refused requests changed\n%s\nto\n%s", before, after)
		}
		// Of many at once the limit holds.
		keys := sitetest.AtOnce(6, func(i int) sitetest.Reply {
			return w.Do("POST", "/10/databases", "own", fmt.Sprintf(`{"name":"n%d","engine":"mysql"}`, i))
		})
		if keys["201"] != 2 || keys["422limit_reached"] != 4 {
			t.Errorf("%v", keys)
		}
		err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.PasswordReplaced(ctx, tx, stranger, 10, id) })
		if !errors.Is(err, fault.NotFound) {
			t.Errorf("a stranger's new password: %v", err)
		}
	})
}

func TestAPanelThatFailsAndServicesThatEnd(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		w.add(10, `{"name":"a","engine":"mysql"}`)
		w.machine.Fail(panel.ErrUnreachable)
		if err := w.Apply(t.Context(), owner, 10); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("the job is not tried again: %v", err)
		}
		if d := w.shows(10)["s10_a"]; d.Status != Creating || d.Version != nil {
			t.Errorf("%+v", d)
		}
		w.machine.Fail(panel.ErrUnsupported)
		w.apply(10)
		w.apply(10)
		if d := w.shows(10)["s10_a"]; d.Status != Failed || d.FailureKey == nil || *d.FailureKey != "unsupported_operation" {
			t.Errorf("%+v", d)
		}
		w.machine.Fail(nil)
		// The hourly comparison tries it again.
		w.apply(10)
		if d := w.shows(10)["s10_a"]; d.Status != Active || d.FailureKey != nil {
			t.Errorf("%+v", d)
		}
		// What changes while the panel works is not lost.
		w.add(10, `{"name":"b","engine":"mysql"}`)
		w.machine.Before(func() { w.add(10, `{"name":"late","engine":"mariadb"}`) })
		w.apply(10)
		if d := w.shows(10)["s10_late"]; d.Status != Active {
			t.Errorf("%+v", d)
		}
		// Drift: what nobody wants goes, what is missing comes.
		_, err := w.machine.SetDatabase(t.Context(), "10", panel.Database{Name: "s10_foreign", Engine: panel.MySQL, Password: "x"})
		w.Must(err)
		w.Must(w.machine.RemoveDatabase(t.Context(), "10", "s10_a"))
		w.apply(10)
		have, err := w.machine.ListDatabases(t.Context(), "10")
		if err != nil || len(have) != 3 || have[0].Name != "s10_a" || have[2].Name != "s10_late" {
			t.Errorf("%+v, %v", have, err)
		}
		w.Services.SetStatus(t, 10, "suspended")
		w.apply(10)
		if d := w.shows(10)["s10_a"]; d.Status != Suspended {
			t.Errorf("%+v", d)
		}
		w.Services.SetStatus(t, 10, "terminated")
		w.apply(10)
		if all := w.shows(10); len(all) != 0 || w.secrets.Count() != 0 {
			t.Errorf("after the end: %+v, %d passwords", all, w.secrets.Count())
		}
		w.Services.Add(t, site.Site{ServiceID: 12, AccountID: owner, Panel: "it", Ref: "10", Username: "x", Status: "active"})
		w.add(12, `{"name":"a","engine":"mysql"}`)
		w.Exec(`UPDATE test_services SET panel = 'bare' WHERE id = 12`)
		w.apply(12)
		if d := w.shows(12)["x_a"]; d.Status != Failed || d.MaxSizeMB != nil {
			t.Errorf("on a panel without databases: %+v", d)
		}
		w.Services.SetStatus(t, 12, "active")
	})
}

func TestJobsHaveThePanelFollow(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		w.Start(w.Queue.(*jobs.Queue))
		id := w.add(10, `{"name":"a","engine":"mysql"}`)
		testkit.Eventually(t, time.Minute, func() bool { return w.shows(10)["s10_a"].Status == Active }, "the database is active")
		w.Do("DELETE", fmt.Sprintf("/10/databases/%d", id), "own", "")
		testkit.Eventually(t, time.Minute, func() bool { return len(w.shows(10)) == 0 }, "the database is gone")
	})
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) { sitetest.IndexedCollection(t, w.DB, w.collection(), owner, 10) })
}
