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
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/sandbox"
)

const (
	owner    = sitetest.Owner
	stranger = sitetest.Stranger
	front    = "/public_html/index.html"
)

// world is the section with services on a machine.
type world struct {
	sitetest.World
	queue   *jobs.Queue
	dir     string // of the machine
	machine *machine
	records *records
	*Service
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	sitetest.Engines(t, func(base sitetest.World) {
		w := &world{World: base, queue: sitetest.Queue(base.T, base.DB), dir: base.T.TempDir(), records: &records{}}
		p, err := sandbox.Open(base.T.Context(), w.dir, base.Clock.Now, slog.New(slog.DiscardHandler))
		w.Must(err)
		base.T.Cleanup(func() { w.Must(p.Close()) })
		w.machine = &machine{Panel: p}
		box, err := secret.OpenKeyFile(filepath.Join(base.T.TempDir(), "key"))
		w.Must(err)
		w.Service = New(Config{Base: w.On(w.queue, w.machine), Clock: base.Clock, Events: outbox.New(base.DB), Log: slog.New(slog.DiscardHandler), Box: box})
		w.Connect(Needs{
			Sources: map[panel.BackupPart]Source{panel.PartDNS: w.records}, Names: NoRows{}, Settings: map[string]Source{}, Terms: terms(KeptFinal),
		})
		w.Register(w.queue.Workers())
		w.Exec(`CREATE TABLE test_records (service_id BIGINT NOT NULL, document TEXT NOT NULL)`)
		w.Mount(w.Operations())
		w.service(owner, 10, "active")
		f(base.T, w)
	})
}

// machine makes no backups and opens none while it fails.
type machine struct {
	sandbox.Panel
	sitetest.Failures

	conditions map[string]panel.Condition // of backups by name, in place of what they are
}

// BackupPassport makes the machine a panel.Handover.
func (*machine) BackupPassport(_ context.Context, _, id string) (panel.Passport, error) {
	return panel.Passport("passport of " + id), nil
}

func (*machine) AdoptBackup(context.Context, string, panel.Passport) error { return nil }
func (*machine) KeepApart(context.Context, string) error                   { return nil }
func (*machine) DisownBackups(context.Context, string) error               { return nil }

func (m *machine) ListBackups(ctx context.Context, ref string) ([]panel.Backup, error) {
	all, err := m.Panel.ListBackups(ctx, ref)
	for i := range all {
		if c, ok := m.conditions[all[i].ID]; ok {
			all[i].Condition = c
		}
	}
	return all, err
}

func (m *machine) BackupTask(ctx context.Context, ref, id string) (panel.BackupTask, error) {
	if err := m.Failure("backups.task", ref); err != nil {
		return panel.BackupTask{}, err
	}
	return m.Panel.BackupTask(ctx, ref, id)
}

func (m *machine) OpenBackup(ctx context.Context, ref, id string) (io.ReadCloser, error) {
	if err := m.Failure("backups.open", ref); err != nil {
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
	w.T.Helper()
	w.Sell(w.machine, site.Site{ServiceID: id, AccountID: accountID, Status: status, Limits: site.Limits{"backups": 2}})
}

func (w *world) same(what string, want, got any) {
	w.T.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.T.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// write puts a text into a file of the service.
func (w *world) write(serviceID int64, path, text string) {
	w.T.Helper()
	_, err := w.machine.Write(w.T.Context(), fmt.Sprint(serviceID), path, []byte(text), panel.WriteOptions{Parents: true})
	w.Must(err)
}

// read is the text in a file of the service; empty when there is none.
func (w *world) read(serviceID int64, path string) string {
	w.T.Helper()
	c, err := w.machine.Read(w.T.Context(), fmt.Sprint(serviceID), path, panel.ReadOptions{})
	if errors.Is(err, panel.ErrNotFound) {
		return ""
	}
	w.Must(err)
	return string(c.Data)
}

// refused makes a request that is to be refused.
func (w *world) refused(want, method, target, token, body string) {
	w.T.Helper()
	if r := w.Do(method, target, token, body); fmt.Sprintf("%d %s", r.Code, r.Key()) != want {
		w.T.Errorf("%s %s %s: %d %s, want %s", method, target, body, r.Code, r.Body, want)
	}
}

func (w *world) decode(r sitetest.Reply, code int, into any) {
	w.T.Helper()
	if r.Code != code {
		w.T.Fatalf("status %d: %s", r.Code, r.Body)
	}
	w.Must(json.Unmarshal([]byte(r.Body), into))
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
	w.T.Helper()
	return sitetest.ByKey(&w.World, fmt.Sprintf("/%d/backups?per_page=50", serviceID), func(b shown) int64 { return b.ID })
}

// ask asks for a backup by hand and answers its id.
func (w *world) ask(serviceID int64, body string) int64 {
	w.T.Helper()
	var b shown
	w.decode(w.Do("POST", fmt.Sprintf("/%d/backups", serviceID), "own", body), http.StatusCreated, &b)
	w.same("status", "queued", b.Status)
	return b.ID
}

// keepsFinal makes the final backup of a service that ends.
func (w *world) keepsFinal(serviceID int64) {
	w.T.Helper()
	testkit.Eventually(w.T, time.Minute, func() bool {
		done, err := w.Keep(w.T.Context(), owner, serviceID)
		w.Must(err)
		w.settle()
		return done
	}, "the final backup is made")
}

// settle does what the jobs do, each step twice, until nothing is under way.
func (w *world) settle() {
	w.T.Helper()
	ctx := w.T.Context()
	testkit.Eventually(w.T, time.Minute, func() bool {
		for _, id := range w.ids(`SELECT id FROM backups WHERE status IN ('queued', 'running') ORDER BY id`) {
			for range 2 {
				_, err := w.advance(ctx, id)
				w.Must(err)
			}
		}
		for _, id := range w.ids(`SELECT id FROM backups_restores WHERE status NOT IN ('completed', 'failed') ORDER BY id`) {
			for range 2 {
				_, err := w.advanceRestore(ctx, id)
				w.Must(err)
			}
		}
		for _, id := range w.ids(`SELECT id FROM backups WHERE status = 'deleted' ORDER BY id`) {
			for range 2 {
				_, err := w.forget(ctx, id)
				w.Must(err)
			}
		}
		for _, id := range w.ids(`SELECT DISTINCT service_id FROM backups_schedules UNION SELECT DISTINCT service_id FROM backups`) {
			_, err := w.review(ctx, owner, id)
			w.Must(err)
		}
		return len(w.ids(`SELECT id FROM backups WHERE status IN ('queued', 'running', 'deleted')
			UNION ALL SELECT id FROM backups_restores WHERE status NOT IN ('completed', 'failed')`)) == 0
	}, "all is done")
}

func (w *world) ids(query string, args ...any) []int64 {
	w.T.Helper()
	found, err := db.Collect(w.T.Context(), w.DB, scanID, query, args...)
	w.Must(err)
	return found
}

// made is a backup that is complete.
func (w *world) made(serviceID int64, body string) int64 {
	w.T.Helper()
	id := w.ask(serviceID, body)
	w.settle()
	if b := w.shows(serviceID)[id]; b.Status != "completed" {
		w.T.Fatalf("backup: %+v", b)
	}
	return id
}

// bringBack restores a backup and answers what became of it.
func (w *world) bringBack(serviceID, id int64, body string) shown {
	w.T.Helper()
	var b shown
	w.decode(w.Do("POST", fmt.Sprintf("/%d/backups/%d/restore", serviceID, id), "own", body), http.StatusOK, &b)
	w.same("status", "restoring", b.Status)
	w.settle()
	return w.shows(serviceID)[id]
}

// told are the types of a service's events.
func (w *world) told(serviceID int64) []string {
	w.T.Helper()
	types, err := db.Collect(w.T.Context(), w.DB, func(r db.Row) (s string, err error) {
		err = r.Scan(&s)
		return s, err
	}, `SELECT type FROM outbox_events WHERE subject = 'service' AND subject_id = $1 ORDER BY sequence`, serviceID)
	w.Must(err)
	return types
}

// damage changes the middle half of every file of a backup.
func (w *world) damage(serviceID, id int64) {
	w.T.Helper()
	n := 0
	dir := filepath.Join(w.dir, "backups", "archives", fmt.Sprint(serviceID), fmt.Sprintf("b%d", id))
	w.Must(filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
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
		w.T.Fatal("there is nothing to damage")
	}
}

func (w *world) records10() string {
	w.T.Helper()
	document, err := w.records.Export(w.T.Context(), w.DB, owner, 10)
	w.Must(err)
	return string(bytes.TrimSpace(document))
}
