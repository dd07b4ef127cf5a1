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
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const (
	owner    = 1
	stranger = 2
)

// world is the section with services in a table of the test's and the sandbox's panel.
type world struct {
	t        *testing.T
	db       *db.DB
	services sitetest.Services
	machine  *machine
	secrets  *secrets
	events   *events
	*Service
	sitetest.Edge
}

// machine is a panel that fails when it is told to, and counts its changes.
type machine struct {
	sandbox.Panel
	mu      sync.Mutex
	fails   error
	changes int
	before  func() // called before a database is set
}

func (m *machine) SetDatabase(ctx context.Context, ref string, d panel.Database) (panel.Database, error) {
	m.mu.Lock()
	before, err := m.before, m.fails
	m.before = nil
	m.changes++
	m.mu.Unlock()
	if before != nil {
		before()
	}
	if err != nil {
		return panel.Database{}, panel.Wrap("databases.set", ref, err)
	}
	return m.Panel.SetDatabase(ctx, ref, d)
}

func (m *machine) ListDatabases(ctx context.Context, ref string) ([]panel.Database, error) {
	m.mu.Lock()
	err := m.fails
	m.mu.Unlock()
	if errors.Is(err, panel.ErrUnreachable) {
		return nil, panel.Wrap("databases.list", ref, err)
	}
	return m.Panel.ListDatabases(ctx, ref)
}

func (m *machine) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = err
}

// secrets keeps passwords in memory.
type secrets struct {
	mu  sync.Mutex
	all map[int64][2]string // password and version
}

func (s *secrets) Put(_ context.Context, _ *db.Tx, _, _ int64, kind string, id int64, label string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind != SecretKind || label == "" {
		return errors.New("a password of nothing")
	}
	if _, ok := s.all[id]; !ok {
		s.all[id] = [2]string{fmt.Sprint("very-secret-", id), "1"}
	}
	return nil
}

func (s *secrets) Secret(_ context.Context, _ db.Querier, _ string, id int64) (password, version string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.all[id]
	if !ok {
		return "", "", fault.NotFound.New()
	}
	return p[0], p[1], nil
}

func (s *secrets) Delete(_ context.Context, _ *db.Tx, _ string, id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
	return nil
}

// events counts what was told.
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
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		p := sitetest.Open(t, clk.Now, sandbox.Open)
		q := sitetest.Queue(t, d)
		w := &world{
			t: t, db: d, services: sitetest.New(t, d), machine: &machine{Panel: p}, secrets: &secrets{all: map[int64][2]string{}}, events: &events{},
		}
		w.Service = New(Config{
			DB: d, Queue: q, Events: w.events, Services: w.services, Secrets: w.secrets,
			Panels: sitetest.Panels{"it": w.machine, "bare": sitetest.Bare{}},
		})
		w.Register(q.Workers())
		w.Edge = sitetest.NewEdge(t, d, clk, w.Operations())
		f(t, w)
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// service sells a service.
func (w *world) service(accountID, id int64) {
	w.t.Helper()
	name := fmt.Sprintf("s%d", id)
	_, err := w.machine.CreateAccount(w.t.Context(), panel.AccountSpec{Ref: fmt.Sprint(id), Username: name, PrimaryDomain: name + ".example"})
	w.must(err)
	w.services.Add(w.t, site.Site{
		ServiceID: id, AccountID: accountID, Panel: "it", Ref: fmt.Sprint(id), Username: name, Status: "active",
		Limits: json.RawMessage(`{"databases":3,"disk_mb":100}`),
	})
}

func (w *world) add(service int64, body string) int64 {
	w.t.Helper()
	r := w.Do("POST", fmt.Sprintf("/%d/databases", service), "own", body)
	var d struct{ ID int64 }
	if err := json.Unmarshal([]byte(r.Body), &d); err != nil || r.Code != http.StatusCreated {
		w.t.Fatalf("add %s: %+v", body, r)
	}
	return d.ID
}

func (w *world) apply(service int64) {
	w.t.Helper()
	w.must(w.Apply(w.t.Context(), owner, service))
}

func (w *world) shows(service int64) map[string]databaseWire {
	w.t.Helper()
	r := w.Do("GET", fmt.Sprintf("/%d/databases", service), "own", "")
	var l struct{ Data []databaseWire }
	if err := json.Unmarshal([]byte(r.Body), &l); err != nil || r.Code != http.StatusOK {
		w.t.Fatalf("list: %+v", r)
	}
	if strings.Contains(r.Body, "secret") || strings.Contains(r.Body, "password") {
		w.t.Errorf("a password is shown: %s", r.Body)
	}
	all := map[string]databaseWire{}
	for _, d := range l.Data {
		all[d.Name] = d
	}
	return all
}

func TestADatabaseIsCreatedShownAndDeleted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		id := w.add(10, `{"name":"shop","engine":"mysql","password":"chosen"}`)
		if w.secrets.all[id][0] != fmt.Sprint("very-secret-", id) {
			t.Error("a password was chosen by the interface")
		}
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
		changes := w.machine.changes
		w.apply(10)
		if w.machine.changes != changes || len(w.events.all) != 2 {
			t.Error("what is as it should be was changed")
		}
		// Another password is told to the panel, once.
		w.secrets.all[id] = [2]string{"new-secret", "2"}
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Replaced(ctx, tx, owner, 10, id) }))
		if s := w.shows(10)["s10_shop"].Status; s != Active {
			t.Errorf("while the password changes: %s", s)
		}
		w.apply(10)
		w.apply(10)
		if have, err := w.machine.ListDatabases(t.Context(), "10"); err != nil || have[1].PasswordVersion != "2" || w.machine.changes != changes+1 {
			t.Errorf("%+v, %v, %d changes", have, err, w.machine.changes-changes)
		}
		used := map[string]int64{}
		if err := w.Count(t.Context(), w.db, 10, used); err != nil || used["databases"] != 2 {
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
		if all := w.shows(10); len(all) != 1 || len(w.secrets.all) != 1 {
			t.Errorf("after: %+v, %d passwords", all, len(w.secrets.all))
		}
		w.add(10, `{"name":"shop","engine":"mysql"}`)
	})
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		w.service(stranger, 11)
		for id, s := range map[int64][2]string{12: {"bare", "active"}, 13: {"it", "suspended"}, 14: {"it", "provisioning"}} {
			w.services.Add(t, site.Site{ServiceID: id, AccountID: owner, Panel: s[0], Ref: "x", Username: "x", Status: s[1]})
		}
		id := w.add(10, `{"name":"shop","engine":"mariadb"}`)
		before := fmt.Sprint(w.shows(10))
		for _, c := range []struct {
			method, target, token, body string
			code                        int
			key                         string
		}{
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
		} {
			if r := w.Do(c.method, c.target, c.token, c.body); r.Code != c.code || r.Key() != c.key {
				t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.target, c.body, r.Code, r.Body, c.code, c.key)
			}
		}
		if after := fmt.Sprint(w.shows(10)); len(w.shows(10)) != 1 || len(w.secrets.all) != 1 {
			t.Errorf("refused requests changed\n%s\nto\n%s", before, after)
		}
		// Of many at once the limit holds.
		var wg sync.WaitGroup
		var mu sync.Mutex
		keys := map[string]int{}
		for i := range 6 {
			wg.Go(func() {
				r := w.Do("POST", "/10/databases", "own", fmt.Sprintf(`{"name":"n%d","engine":"mysql"}`, i))
				mu.Lock()
				defer mu.Unlock()
				keys[fmt.Sprint(r.Code, r.Key())]++
			})
		}
		wg.Wait()
		if keys["201"] != 2 || keys["422limit_reached"] != 4 {
			t.Errorf("%v", keys)
		}
		err := w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Replaced(ctx, tx, stranger, 10, id) })
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
		w.machine.fail(panel.ErrUnreachable)
		if err := w.Apply(t.Context(), owner, 10); !errors.Is(err, panel.ErrUnreachable) {
			t.Errorf("the job is not tried again: %v", err)
		}
		if d := w.shows(10)["s10_a"]; d.Status != Creating || d.Version != nil {
			t.Errorf("%+v", d)
		}
		w.machine.fail(panel.ErrUnsupported)
		w.apply(10)
		w.apply(10)
		if d := w.shows(10)["s10_a"]; d.Status != Failed || d.FailureKey == nil || *d.FailureKey != "unsupported_operation" {
			t.Errorf("%+v", d)
		}
		w.machine.fail(nil)
		// The hourly comparison tries it again.
		w.apply(10)
		if d := w.shows(10)["s10_a"]; d.Status != Active || d.FailureKey != nil {
			t.Errorf("%+v", d)
		}
		// What changes while the panel works is not lost.
		w.add(10, `{"name":"b","engine":"mysql"}`)
		w.machine.before = func() { w.add(10, `{"name":"late","engine":"mariadb"}`) }
		w.apply(10)
		if d := w.shows(10)["s10_late"]; d.Status != Active {
			t.Errorf("%+v", d)
		}
		// Drift: what nobody wants goes, what is missing comes.
		_, err := w.machine.SetDatabase(t.Context(), "10", panel.Database{Name: "s10_foreign", Engine: panel.MySQL, Password: "x"})
		w.must(err)
		w.must(w.machine.RemoveDatabase(t.Context(), "10", "s10_a"))
		w.apply(10)
		have, err := w.machine.ListDatabases(t.Context(), "10")
		if err != nil || len(have) != 3 || have[0].Name != "s10_a" || have[2].Name != "s10_late" {
			t.Errorf("%+v, %v", have, err)
		}
		w.services.SetStatus(t, 10, "suspended")
		w.apply(10)
		if d := w.shows(10)["s10_a"]; d.Status != Suspended {
			t.Errorf("%+v", d)
		}
		w.services.SetStatus(t, 10, "terminated")
		w.apply(10)
		if all := w.shows(10); len(all) != 0 || len(w.secrets.all) != 0 {
			t.Errorf("after the end: %+v, %d passwords", all, len(w.secrets.all))
		}
		w.services.Add(t, site.Site{ServiceID: 12, AccountID: owner, Panel: "it", Ref: "10", Username: "x", Status: "active"})
		w.add(12, `{"name":"a","engine":"mysql"}`)
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE test_services SET panel = 'bare' WHERE id = 12`)
			return err
		}))
		w.apply(12)
		if d := w.shows(12)["x_a"]; d.Status != Failed || d.MaxSizeMB != nil {
			t.Errorf("on a panel without databases: %+v", d)
		}
		w.services.SetStatus(t, 12, "active")
	})
}

func TestJobsHaveThePanelFollow(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.service(owner, 10)
		q, ok := w.Queue.(*jobs.Queue)
		if !ok {
			t.Fatal("no queue")
		}
		w.must(q.Start(context.WithoutCancel(t.Context())))
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			if err := q.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
		id := w.add(10, `{"name":"a","engine":"mysql"}`)
		testkit.Eventually(t, time.Minute, func() bool { return w.shows(10)["s10_a"].Status == Active }, "the database is active")
		w.Do("DELETE", fmt.Sprintf("/10/databases/%d", id), "own", "")
		testkit.Eventually(t, time.Minute, func() bool { return len(w.shows(10)) == 0 }, "the database is gone")
	})
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) { sitetest.IndexedCollection(t, w.db, w.collection(), owner, 10) })
}
