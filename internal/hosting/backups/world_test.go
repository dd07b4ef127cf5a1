package backups

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/site/sitetest"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const (
	owner    = 1
	stranger = 2
	front    = "/public_html/index.html"
)

// world is the section with services in a table of the test's and a real panel.
type world struct {
	t        *testing.T
	db       *db.DB
	clk      *clock.Fake
	queue    *jobs.Queue
	dir      string // of the panel
	machine  *machine
	records  *records
	services sitetest.Services
	*Service
	edge http.Handler
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		silent := slog.New(slog.DiscardHandler)
		q, err := jobs.New(d, jobs.Config{MaxWorkers: 4, Logger: silent})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, db: d, clk: clk, queue: q, dir: t.TempDir(), services: sitetest.New(t, d), records: &records{}}
		p, err := sandbox.Open(t.Context(), w.dir, clk.Now, silent)
		w.must(err)
		t.Cleanup(func() { w.must(p.Close()) })
		w.machine = &machine{Panel: p}
		w.Service = New(Config{
			DB: d, Clock: clk, Queue: q, Events: outbox.New(d, q), Services: w.services, Panels: sitetest.Panels{"it": w.machine, "bare": bare{}},
		})
		w.Connect(Needs{
			Sources: map[panel.BackupPart]Source{panel.PartDNS: w.records}, Names: NoRows{}, Settings: map[string]Source{}, Terms: terms(KeptFinal),
		})
		w.Register(q.Workers())
		w.exec(`CREATE TABLE test_records (service_id BIGINT NOT NULL, document TEXT NOT NULL)`)
		w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
			"own":   {AccountID: owner, ApplicationID: 1, Scopes: []string{"services:read", "services:write"}},
			"other": {AccountID: stranger, ApplicationID: 1, Scopes: auth.Scopes},
		}, w.Operations())
		w.service(owner, 10, "active")
		f(t, w)
	})
}

// bare is a panel that can do nothing.
type bare struct{}

func (bare) Name() string { return "bare" }

// machine is a panel that fails when it is told to.
type machine struct {
	sandbox.Panel
	mu    sync.Mutex
	fails error
}

func (m *machine) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = err
}

func (m *machine) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails == nil {
		return nil
	}
	return panel.Wrap("backups", "", m.fails)
}

func (m *machine) BackupTask(ctx context.Context, ref, id string) (panel.BackupTask, error) {
	if err := m.failure(); err != nil {
		return panel.BackupTask{}, err
	}
	return m.Panel.BackupTask(ctx, ref, id)
}

// OpenBackup implements panel.Backups.
func (m *machine) OpenBackup(ctx context.Context, ref, id string) (io.ReadCloser, error) {
	if err := m.failure(); err != nil {
		return nil, err
	}
	return m.Panel.OpenBackup(ctx, ref, id)
}

// dying are events that nobody keeps: the transaction that tells of one is lost.
type dying struct{ error }

func (d dying) Emit(context.Context, *db.Tx, outbox.Event) error { return d.error }

// records are a source: a document per service in a table of the test's.
type records struct {
	mu      sync.Mutex
	applied int
	refuses error
}

func (r *records) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	var document string
	err := q.QueryRow(ctx, `SELECT document FROM test_records WHERE service_id = $1`, serviceID).Scan(&document)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	return json.RawMessage(document), err
}

func (r *records) Import(ctx context.Context, tx *db.Tx, _, serviceID int64, document json.RawMessage, _ []string) error {
	if r.refuses != nil {
		return r.refuses
	}
	if _, err := tx.Exec(ctx, `DELETE FROM test_records WHERE service_id = $1`, serviceID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO test_records VALUES ($1, $2)`, serviceID, string(document))
	return err
}

func (r *records) Apply(context.Context, int64, int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applied++
	return nil
}

// service sells a service whose plan has two backups.
func (w *world) service(accountID, id int64, status string) {
	w.t.Helper()
	ref := fmt.Sprint(id)
	_, err := w.machine.CreateAccount(w.t.Context(), panel.AccountSpec{Ref: ref, Username: "s" + ref, PrimaryDomain: "s" + ref + ".example"})
	w.must(err)
	w.services.Add(w.t, site.Site{
		ServiceID: id, AccountID: accountID, Panel: "it", Ref: ref, Username: "s" + ref, Status: status,
		Limits: json.RawMessage(`{"backups":2}`),
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	w.must(w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	}))
}

func (w *world) same(what string, want, got any) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// write puts a text into a file of the service.
func (w *world) write(serviceID int64, path, text string) {
	w.t.Helper()
	_, err := w.machine.Write(w.t.Context(), fmt.Sprint(serviceID), path, []byte(text), panel.WriteOptions{Parents: true})
	w.must(err)
}

// read is the text in a file of the service; empty when there is none.
func (w *world) read(serviceID int64, path string) string {
	w.t.Helper()
	c, err := w.machine.Read(w.t.Context(), fmt.Sprint(serviceID), path, panel.ReadOptions{})
	if errors.Is(err, panel.ErrNotFound) {
		return ""
	}
	w.must(err)
	return string(c.Data)
}

// reply is what a request got.
type reply struct {
	code int
	body []byte
}

func (r reply) key() string {
	var e struct{ Error string }
	_ = json.Unmarshal(r.body, &e) // no object has no key
	return e.Error
}

func (w *world) do(method, target, token, body string) reply {
	rec := apitest.Call(w.edge, token, method, "/api/v1/services"+target, body)
	return reply{rec.Code, rec.Body.Bytes()}
}

// refused makes a request that is to be refused.
func (w *world) refused(want, method, target, token, body string) {
	w.t.Helper()
	if r := w.do(method, target, token, body); fmt.Sprintf("%d %s", r.code, r.key()) != want {
		w.t.Errorf("%s %s %s: %d %s, want %s", method, target, body, r.code, r.body, want)
	}
}

func (w *world) decode(r reply, code int, into any) {
	w.t.Helper()
	if r.code != code {
		w.t.Fatalf("status %d: %s", r.code, r.body)
	}
	w.must(json.Unmarshal(r.body, into))
}

// shown is a backup as the interface shows it.
type shown struct {
	ID     int64
	Kind   string
	Status string
	Parts  []struct {
		Part, Status string
		SizeMB       int64 `json:"size_mb"`
		Count        int64
	}
	SizeMB       int64 `json:"size_mb"`
	Storage      *string
	Note         *string
	ErrorKey     *string    `json:"error_key"`
	ExpiresAt    *time.Time `json:"expires_at"`
	Downloadable bool
	Restore      *struct {
		Status   string
		ErrorKey *string `json:"error_key"`
	}
}

// shows is the list of a service's backups, by id.
func (w *world) shows(serviceID int64) map[int64]shown {
	w.t.Helper()
	var l struct{ Data []shown }
	w.decode(w.do("GET", fmt.Sprintf("/%d/backups?per_page=50", serviceID), "own", ""), http.StatusOK, &l)
	all := map[int64]shown{}
	for _, b := range l.Data {
		all[b.ID] = b
	}
	return all
}

// ask asks for a backup by hand and answers its id.
func (w *world) ask(serviceID int64, body string) int64 {
	w.t.Helper()
	var b shown
	w.decode(w.do("POST", fmt.Sprintf("/%d/backups", serviceID), "own", body), http.StatusCreated, &b)
	w.same("status", "queued", b.Status)
	return b.ID
}

// settle does what the jobs do, each step twice, until nothing is under way.
func (w *world) settle() {
	w.t.Helper()
	ctx := w.t.Context()
	testkit.Eventually(w.t, time.Minute, func() bool {
		for _, id := range w.ids(`SELECT id FROM backups WHERE status IN ('queued', 'running') ORDER BY id`) {
			for range 2 {
				_, err := w.advance(ctx, id)
				w.must(err)
			}
		}
		for _, id := range w.ids(`SELECT id FROM backups_restores WHERE status NOT IN ('completed', 'failed') ORDER BY id`) {
			for range 2 {
				_, err := w.advanceRestore(ctx, id)
				w.must(err)
			}
		}
		for _, id := range w.ids(`SELECT id FROM backups WHERE status = 'deleted' ORDER BY id`) {
			for range 2 {
				_, err := w.forget(ctx, id)
				w.must(err)
			}
		}
		return len(w.ids(`SELECT id FROM backups WHERE status IN ('queued', 'running', 'deleted')
			UNION ALL SELECT id FROM backups_restores WHERE status NOT IN ('completed', 'failed')`)) == 0
	}, "all is done")
}

func (w *world) ids(query string, args ...any) []int64 {
	w.t.Helper()
	found, err := db.Collect(w.t.Context(), w.db, scanID, query, args...)
	w.must(err)
	return found
}

// made is a backup that is complete.
func (w *world) made(serviceID int64, body string) int64 {
	w.t.Helper()
	id := w.ask(serviceID, body)
	w.settle()
	if b := w.shows(serviceID)[id]; b.Status != "completed" {
		w.t.Fatalf("backup: %+v", b)
	}
	return id
}

// bringBack restores a backup and answers what became of it.
func (w *world) bringBack(serviceID, id int64, body string) shown {
	w.t.Helper()
	var b shown
	w.decode(w.do("POST", fmt.Sprintf("/%d/backups/%d/restore", serviceID, id), "own", body), http.StatusOK, &b)
	w.same("status", "restoring", b.Status)
	w.settle()
	return w.shows(serviceID)[id]
}

// told are the types of a service's events.
func (w *world) told(serviceID int64) []string {
	w.t.Helper()
	types, err := db.Collect(w.t.Context(), w.db, func(r db.Row) (s string, err error) {
		err = r.Scan(&s)
		return s, err
	}, `SELECT type FROM outbox_events WHERE subject = 'service' AND subject_id = $1 ORDER BY sequence`, serviceID)
	w.must(err)
	return types
}

// damage changes the middle half of every file of a backup.
func (w *world) damage(serviceID, id int64) {
	w.t.Helper()
	n := 0
	dir := filepath.Join(w.dir, "backups", "archives", fmt.Sprint(serviceID), fmt.Sprintf("b%d", id))
	w.must(filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for i := len(b) / 4; i <= 3*len(b)/4 && i < len(b); i++ { // one bit may be that of padding, or the case of a hexadecimal digit
			b[i] ^= 0xff
		}
		n++
		return os.WriteFile(p, b, 0o600)
	}))
	if n == 0 {
		w.t.Fatal("there is nothing to damage")
	}
}

func (w *world) records10() string {
	w.t.Helper()
	document, err := w.records.Export(w.t.Context(), w.db, owner, 10)
	w.must(err)
	return string(bytes.TrimSpace(document))
}
