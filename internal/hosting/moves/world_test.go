package moves

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// world is two machines with one store of backups, and a service on the first.
type world struct {
	T        *testing.T
	db       *db.DB
	clock    *clock.Fake
	machines map[string]*machine.Machine
	dead     map[string]bool
	draining map[string]bool
	gone     map[string]bool
	full     bool
	busy     bool // the machines make other backups
	unsuited bool // no node has what the service needs
	copies   []Copy
	passport map[int64]panel.Passport
	newest   *time.Time
	behind   map[string]bool // what LeftBehind heard
	ended    int             // calls of Moved
	kept     time.Duration   // by caches of the DNS
	planned  []time.Duration // what owners were told
	lowered  bool            // the DNS says for a short time only where the service is
	*Service
}

const (
	first  = "node:1"
	second = "node:2"
	ref    = "7"
)

func engines(t *testing.T, f func(w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		shared := filepath.Join(t.TempDir(), "shared")
		f(newWorld(t, d, clk, shared, shared))
	})
}

// enginesApart is engines with a store for each machine.
func enginesApart(t *testing.T, f func(w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		dir := t.TempDir()
		f(newWorld(t, d, clk, filepath.Join(dir, "one"), filepath.Join(dir, "other")))
	})
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake, stores ...string) *world {
	t.Helper()
	w := &world{
		T: t, db: d, clock: clk, machines: map[string]*machine.Machine{}, dead: map[string]bool{}, draining: map[string]bool{},
		gone: map[string]bool{}, passport: map[int64]panel.Passport{},
	}
	for i, store := range stores {
		m, err := machine.Open(t.Context(), machine.Config{
			Kind: machine.Directories, Dir: t.TempDir(), Now: clk.Now, Log: slog.New(slog.DiscardHandler), IPv4: fmt.Sprintf("192.0.2.%d", i+1),
			Backups: machine.Backups{Repository: store},
		})
		w.must(err)
		t.Cleanup(func() { w.must(m.Close()) })
		w.machines[fmt.Sprintf("node:%d", i+1)] = m
	}
	w.exec(`CREATE TABLE test_services (id BIGINT PRIMARY KEY, account_id BIGINT, panel TEXT, status TEXT, epoch BIGINT, moving BOOLEAN, ipv4 TEXT, room TEXT)`)
	w.exec(`INSERT INTO test_services VALUES (7, 1, 'node:1', 'active', 0, FALSE, '192.0.2.1', 'node:1')`)
	w.Service = New(Config{
		Base: site.Base{DB: d, Queue: queue{}, Services: sites{w}, Panels: w}, Clock: clk, Log: slog.New(slog.DiscardHandler),
	})
	w.Connect(Needs{
		Services: sites{w}, Places: w, Nodes: w, Backups: w, DNS: w, First: []Follower{follower{}}, All: func(context.Context, int64, int64) error { return nil },
		Spec: func(s site.Site) panel.AccountSpec {
			return panel.AccountSpec{Ref: ref, Username: "s7", PrimaryDomain: "shop.test", Epoch: s.Epoch}
		},
	})
	_, err := w.at(first).CreateAccount(t.Context(), panel.AccountSpec{Ref: ref, Username: "s7", PrimaryDomain: "shop.test"})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) exec(statement string, args ...any) {
	w.T.Helper()
	w.must(w.db.InTx(w.T.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	}))
}

func (w *world) at(name string) panelnode.Panel { return panelnode.New(w.machines[name].Node) }

func (w *world) write(name, content string) {
	w.T.Helper()
	_, err := w.at(name).Write(w.T.Context(), ref, "/public_html/index.html", []byte(content), panel.WriteOptions{})
	w.must(err)
}

func (w *world) page(name string) string {
	w.T.Helper()
	f, err := w.at(name).Open(w.T.Context(), ref, "/public_html/index.html")
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text := make([]byte, 100)
	n, _ := f.Read(text)
	return string(text[:n])
}

// backupTime is when the backup of an id was asked for.
func backupTime(id int64) time.Time {
	return time.Date(2026, 11, 1, int(id), 0, 0, 0, time.UTC)
}

// backUp makes a backup on the first machine, which can be had from then on.
func (w *world) backUp(id int64) {
	w.T.Helper()
	p := w.at(first)
	c := Copy{ID: id, Name: fmt.Sprintf("b%d", id), Parts: panel.BackupParts, Bytes: 1, At: backupTime(id)}
	_, err := p.StartBackup(w.T.Context(), ref, panel.BackupRequest{ID: c.Name, Parts: c.Parts})
	w.must(err)
	testkit.Eventually(w.T, time.Minute, func() bool {
		task, err := p.BackupTask(w.T.Context(), ref, c.Name)
		w.must(err)
		return task.Status == panel.TaskCompleted
	}, "the backup is made")
	w.passport[id], err = p.BackupPassport(w.T.Context(), ref, c.Name)
	w.must(err)
	w.copies = append([]Copy{c}, w.copies...)
}

// recover begins a recovery from the first machine, which is dead.
func (w *world) recover(r Recovery) Move {
	w.T.Helper()
	w.dead[first] = true
	r.Node = "first"
	out, err := w.Recover(w.T.Context(), r)
	w.must(err)
	if len(out.Moves) != 1 {
		w.T.Fatalf("begun: %+v", out)
	}
	return out.Moves[0]
}

// until steps until the move is at one of the steps.
func (w *world) until(id int64, steps ...Step) Move {
	w.T.Helper()
	var m Move
	testkit.Eventually(w.T, time.Minute, func() bool {
		var err error
		m, err = w.Get(w.T.Context(), id)
		w.must(err)
		if slices.Contains(steps, m.Step) {
			return true
		}
		_, err = w.Step(w.T.Context(), id)
		w.must(err)
		w.clock.Advance(100 * time.Millisecond)
		return false
	}, fmt.Sprintf("the move is at %v", steps))
	return m
}

// service is the row of the service.
func (w *world) service() (s site.Site, room string) {
	w.T.Helper()
	s, err := sites{w}.Wanted(w.T.Context(), w.db, 7)
	w.must(err)
	w.must(w.db.QueryRow(w.T.Context(), `SELECT room FROM test_services WHERE id = 7`).Scan(&room))
	return s, room
}

func (w *world) served(panelName string, epoch int64) {
	w.T.Helper()
	if s, room := w.service(); s.Panel != panelName || s.Epoch != epoch || s.Moving || room != panelName {
		w.T.Errorf("the service is %+v with room on %s, want %s in epoch %d", s, room, panelName, epoch)
	}
}

// Panel implements site.Panels: a dead machine answers nothing.
func (w *world) Panel(name string) (panel.Panel, bool) {
	if w.dead[name] || w.machines[name] == nil {
		return nil, false
	}
	if w.busy {
		return busyPanel{w.at(name)}, true
	}
	return w.at(name), true
}

// busyPanel is a machine that makes a backup, of which it makes one at a time.
type busyPanel struct{ panelnode.Panel }

func (busyPanel) StartBackup(context.Context, string, panel.BackupRequest) (panel.BackupTask, error) {
	return panel.BackupTask{}, panel.Wrap("backups.start", ref, panel.ErrBusy)
}

// Take implements Places.
func (w *world) Take(ctx context.Context, tx *db.Tx, id int64, t Target, except []string) (string, error) {
	for at, named := range map[string]string{first: "first", second: "second"} {
		if w.means(named, t) && !w.full && !slices.Contains(except, at) {
			return at, w.GiveBack(ctx, tx, id, at)
		}
	}
	return "", fault.OutOfStock.New()
}

// means tells that a target means a machine: both are at their own place, and only the second has the label.
func (*world) means(name string, t Target) bool {
	return (t.Node == "" || t.Node == name) && (t.Location == "" || t.Location == "at-"+name) && (len(t.Labels) == 0 || name == "second" && t.Labels["disk"] == "nvme")
}

// Suited implements Places.
func (w *world) Suited(_ context.Context, _ db.Querier, _ int64, t Target, except []string) (bool, error) {
	for at, named := range map[string]string{first: "first", second: "second"} {
		if w.means(named, t) && !slices.Contains(except, at) {
			return !w.unsuited, nil
		}
	}
	return false, nil
}

// Meant implements Nodes.
func (w *world) Meant(ctx context.Context, q db.Querier, t Target) (all []Node, err error) {
	for _, name := range []string{"first", "second"} {
		n, err := w.Node(ctx, q, name)
		if err != nil {
			return nil, err
		}
		if w.means(name, t) {
			all = append(all, n)
		}
	}
	return all, nil
}

// GiveBack implements Places.
func (*world) GiveBack(ctx context.Context, tx *db.Tx, id int64, panelName string) error {
	_, err := tx.Exec(ctx, `UPDATE test_services SET room = $1 WHERE id = $2`, panelName, id)
	return err
}

// Node implements Nodes.
func (w *world) Node(_ context.Context, _ db.Querier, name string) (Node, error) {
	at := map[string]string{"first": first, "second": second}[name]
	if at == "" {
		return Node{}, fault.NotFound.New()
	}
	return Node{Panel: at, Alive: !w.dead[at], Draining: w.draining[at]}, nil
}

// On implements Nodes.
func (w *world) On(ctx context.Context, q db.Querier, panelName string) (Node, error) {
	return w.Node(ctx, q, map[string]string{first: "first", second: "second"}[panelName])
}

// Gone implements Nodes.
func (w *world) Gone(_ context.Context, _ db.Querier, panelName string) (bool, error) {
	return w.gone[panelName], nil
}

// Portable implements Backups.
func (w *world) Portable(context.Context, db.Querier, int64) ([]Copy, error) { return w.copies, nil }

// Passport implements Backups.
func (w *world) Passport(_ context.Context, _ db.Querier, id int64) (panel.Passport, error) {
	return w.passport[id], nil
}

// Moved implements Backups.
func (w *world) Moved(context.Context, *db.Tx, int64) error {
	w.ended++
	return nil
}

// LeftBehind implements Backups.
func (w *world) LeftBehind(_ context.Context, _ *db.Tx, _ int64, has map[string]bool) error {
	w.behind = has
	return nil
}

// Newest implements Backups.
func (w *world) Newest(context.Context, db.Querier, int64) (*time.Time, error) { return w.newest, nil }

// LowerTTL implements DNS.
func (w *world) LowerTTL(context.Context, *db.Tx, int64) (time.Duration, error) {
	w.lowered = true
	return w.kept, nil
}

// RestoreTTL implements DNS.
func (w *world) RestoreTTL(context.Context, *db.Tx, site.Site) error {
	w.lowered = false
	return nil
}

// sites are the services of the test.
type sites struct{ w *world }

func (sites) read(row db.Row) (s site.Site, err error) {
	err = row.Scan(&s.ServiceID, &s.AccountID, &s.Panel, &s.Status, &s.Epoch, &s.Moving, &s.IPv4)
	s.Ref = ref
	if errors.Is(err, db.ErrNoRows) {
		err = fault.NotFound.New()
	}
	return s, err
}

const siteColumns = `SELECT id, account_id, panel, status, epoch, moving, ipv4 FROM test_services`

func (t sites) Wanted(ctx context.Context, q db.Querier, id int64) (site.Site, error) {
	return t.read(q.QueryRow(ctx, siteColumns+` WHERE id = $1`, id))
}

func (t sites) Site(ctx context.Context, q db.Querier, _, id int64) (site.Site, error) {
	return t.Wanted(ctx, q, id)
}

func (t sites) LockSite(ctx context.Context, tx *db.Tx, _, id int64) (site.Site, error) {
	return t.read(tx.QueryRow(ctx, siteColumns+` WHERE id = $1`+tx.ForUpdate(), id))
}

func (t sites) On(ctx context.Context, q db.Querier, panelName string) ([]site.Site, error) {
	return db.Collect(ctx, q, t.read, siteColumns+` WHERE panel = $1`, panelName)
}

func (sites) SetMoving(ctx context.Context, tx *db.Tx, id int64, moving bool) error {
	_, err := tx.Exec(ctx, `UPDATE test_services SET moving = $1 WHERE id = $2`, moving, id)
	return err
}

func (sites) Relocate(ctx context.Context, tx *db.Tx, id int64, from, to string, a panel.Account, _ int64) (epoch int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE test_services SET panel = $1, epoch = epoch + 1, ipv4 = $2 WHERE id = $3 AND panel = $4 AND status = 'active'
		RETURNING epoch`, to, a.IPv4, id, from).Scan(&epoch)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.Conflict.New()
	}
	return epoch, err
}

func (sites) Former(_ context.Context, _ db.Querier, id int64, since time.Time) ([]string, error) {
	return []string{fmt.Sprintf("former %d since %s", id, since.Format(time.RFC3339))}, nil
}

func (t sites) TellMovePlanned(_ context.Context, _ *db.Tx, _ int64, wait time.Duration) error {
	t.w.planned = append(t.w.planned, wait)
	return nil
}

func (sites) FollowStatus(context.Context, *db.Tx, int64) error { return nil }

// queue keeps no jobs: tests call Step.
type queue struct{}

func (queue) Enqueue(context.Context, *db.Tx, river.JobArgs, *river.InsertOpts) error { return nil }

type follower struct{}

func (follower) Apply(context.Context, int64, int64) error { return nil }

// spoil damages the archive of a backup.
func (w *world) spoil(store, name string) {
	w.T.Helper()
	file := filepath.Join(store, ref, name, "files.tar.gz")
	content, err := os.ReadFile(file)
	w.must(err)
	content[len(content)/2] ^= 0xff
	w.must(os.WriteFile(file, content, 0o600))
}
