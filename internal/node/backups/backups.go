package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/semaphore"
	"stead.dev/stead/internal/port/panel"
)

// Config configures the backups of a machine; Parts and AtOnce are optional.
type Config struct {
	Dir      string // for records and temporary files; root's only
	Accounts facility.Lookup
	Store    Store
	// Parts are the facilities with a part in backups.
	Parts []facility.Backuper
	Now   func() time.Time
	Log   *slog.Logger
	// AtOnce is the number of concurrent tasks; 0 means 2. The others wait.
	AtOnce int
	// Sample is how much of what earlier backups stored is read back with each new one, in bytes; 0 means 1 GiB, less than
	// nothing for none. New data is always read back.
	Sample int64
}

// keepEnded is how long the results of restores, checks and failed backups are kept.
const keepEnded = 7 * 24 * time.Hour

// Driver is the machine's part panel.Backups.
type Driver struct {
	cfg     Config
	slots   chan struct{}
	spare   chan struct{} // the slot of examinations, for which nobody waits
	measure func(ctx context.Context, ref string) error

	stop    context.CancelFunc
	life    context.Context // of all tasks
	working sync.WaitGroup

	downloads semaphore.Keyed[string] // of accounts, by ref

	mu     sync.Mutex
	active map[string]*run // by ref
	closed bool
}

// run is a running task.
type run struct {
	id     string
	cancel context.CancelFunc
	ended  chan struct{}

	examination bool
}

var (
	_ panel.Backups     = (*Driver)(nil)
	_ facility.Facility = (*Driver)(nil)
	_ facility.Starter  = (*Driver)(nil)
	_ facility.Stopper  = (*Driver)(nil)
	_ facility.Writer   = (*Driver)(nil)
)

// New makes the driver; Start continues interrupted tasks.
func New(c Config) (*Driver, error) {
	if c.AtOnce == 0 {
		c.AtOnce = 2
	}
	if c.Sample == 0 {
		c.Sample = 1 << 30
	}
	for _, sub := range []string{"running", "work", "suspected"} {
		if err := os.MkdirAll(filepath.Join(c.Dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("backups: %w", err)
		}
	}
	d := &Driver{
		cfg: c, slots: make(chan struct{}, c.AtOnce), spare: make(chan struct{}, 1), active: map[string]*run{},
		downloads: semaphore.Keyed[string]{Each: downloadsMost, All: downloadsMostAll},
		measure:   func(context.Context, string) error { return nil },
	}
	d.life, d.stop = context.WithCancel(context.Background())
	return d, nil
}

// OnWritten implements facility.Writer.
func (d *Driver) OnWritten(measure func(ctx context.Context, ref string) error) { d.measure = measure }

// Capability implements facility.Facility.
func (*Driver) Capability() panel.Capability { return panel.CapBackups }

// Apply implements facility.Facility: backups are made when they are asked for. An examination that could not be ended, because
// the store was out of reach, is taken up.
func (d *Driver) Apply(_ context.Context, a accounts.Account) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.examineSuspected(a.Ref)
	return nil
}

// Remove implements facility.Facility. It ends what is running; backups that are complete stay, for
// they are what an account that ended can be restored from. Who asked for them deletes them.
func (d *Driver) Remove(_ context.Context, a accounts.Account) error {
	d.interrupt(a.Ref)
	if a.Left > 0 {
		return nil // the other machine may have them in the same store
	}
	all, err := d.tasks(a.Ref)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, task.restorable) {
		return nil
	}
	return d.forget(context.WithoutCancel(d.life), a.Ref)
}

// interrupt ends the running task of ref and waits for it. It is not continued.
func (d *Driver) interrupt(ref string) {
	d.mu.Lock()
	r := d.active[ref]
	d.mu.Unlock()
	if r == nil {
		return
	}
	r.cancel()
	<-r.ended
}

// Start implements facility.Starter: tasks that were interrupted begin anew.
func (d *Driver) Start(context.Context) error {
	if err := emptyDir(filepath.Join(d.cfg.Dir, "work")); err != nil {
		return fmt.Errorf("backups: %w", err)
	}
	entries, err := os.ReadDir(filepath.Join(d.cfg.Dir, "running"))
	if err != nil {
		return fmt.Errorf("backups: %w", err)
	}
	for _, e := range entries {
		ref := e.Name()
		if strings.HasSuffix(ref, ".tmp") {
			if err := os.Remove(filepath.Join(d.cfg.Dir, "running", ref)); err != nil {
				return fmt.Errorf("backups: %w", err)
			}
			continue
		}
		id, err := os.ReadFile(d.marker(ref))
		if err != nil {
			return fmt.Errorf("backups: %w", err)
		}
		t, err := d.task(ref, string(id))
		if err != nil || t.Status != panel.TaskRunning { // the crash was before the record, or after the end
			if err := os.Remove(d.marker(ref)); err != nil {
				return fmt.Errorf("backups: %w", err)
			}
			continue
		}
		d.mu.Lock()
		d.launch(t)
		d.mu.Unlock()
	}
	suspected, err := os.ReadDir(filepath.Join(d.cfg.Dir, "suspected"))
	if err != nil {
		return fmt.Errorf("backups: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range suspected {
		d.examineSuspected(e.Name())
	}
	return nil
}

// Stop implements facility.Stopper: it ends the tasks, which a later Start takes up.
func (d *Driver) Stop(context.Context) error { return d.Close() }

// Close interrupts the tasks of this process; the next process continues them.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.working.Wait()
	return nil
}

func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// known returns an error unless there is, or was, an account of that ref with backups.
func (d *Driver) known(ref string) error {
	if !nameForm.MatchString(ref) {
		return fmt.Errorf("%w: account", panel.ErrNotFound)
	}
	if _, err := d.cfg.Accounts(ref); err == nil {
		return nil
	}
	if _, err := os.Stat(d.dir(ref)); err != nil {
		return fmt.Errorf("%w: account", panel.ErrNotFound)
	}
	return nil
}

// The prefix distinguishes refs from the driver's own names.
func (d *Driver) dir(ref string) string      { return filepath.Join(d.cfg.Dir, "of-"+ref) }
func (d *Driver) file(ref, id string) string { return filepath.Join(d.dir(ref), id+".json") }
func (d *Driver) marker(ref string) string   { return filepath.Join(d.cfg.Dir, "running", ref) }
func (d *Driver) work(ref, id string) string { return filepath.Join(d.cfg.Dir, "work", ref+"-"+id) }
func (d *Driver) part(p panel.BackupPart) facility.Backuper {
	for _, b := range d.cfg.Parts {
		if b.BackupPart() == p {
			return b
		}
	}
	return nil
}

// begin starts a task, or returns the existing one.
func (d *Driver) begin(t task) (panel.BackupTask, error) {
	d.pauseExamination(t.Ref)
	d.mu.Lock()
	defer d.mu.Unlock()
	old, err := d.task(t.Ref, t.ID)
	if err == nil {
		if old.Job != t.Job {
			return panel.BackupTask{}, fmt.Errorf("%w: %s is a %s", panel.ErrExists, t.ID, old.Job)
		}
		if t = old; t.Status != panel.TaskRunning || d.active[t.Ref] != nil && d.active[t.Ref].id == t.ID {
			return t.answer(), nil
		}
	} else if !errors.Is(err, panel.ErrNotFound) {
		return panel.BackupTask{}, err
	}
	if d.closed || d.active[t.Ref] != nil {
		return panel.BackupTask{}, fmt.Errorf("%w: another task is running", panel.ErrBusy)
	}
	if err := d.forgetEnded(t.Ref); err != nil {
		return panel.BackupTask{}, err
	}
	t.Status, t.StartedAt = panel.TaskRunning, d.cfg.Now().UTC()
	if err := os.MkdirAll(d.dir(t.Ref), 0o700); err != nil {
		return panel.BackupTask{}, err
	}
	if err := d.write(t); err != nil {
		return panel.BackupTask{}, err
	}
	if err := atomicfile.Write(d.marker(t.Ref), []byte(t.ID), 0o600); err != nil {
		return panel.BackupTask{}, err
	}
	d.launch(t)
	return t.answer(), nil
}

// launch runs the task in the background; the caller holds mu.
func (d *Driver) launch(t task) {
	ctx, cancel := context.WithCancel(d.life)
	t.Parts = slices.Clone(t.Parts) // the caller's slice is returned meanwhile
	r := &run{id: t.ID, cancel: cancel, ended: make(chan struct{}), examination: t.Job == examines}
	d.active[t.Ref] = r
	d.working.Go(func() {
		defer close(r.ended)
		defer cancel()
		d.run(ctx, &t)
		// In one step, so that whoever reads that it has ended can start the next.
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.active, t.Ref)
		if t.Status == panel.TaskRunning || t.Job == examines {
			return
		}
		defer d.examineSuspected(t.Ref)
		if err := errors.Join(d.write(t), os.Remove(d.marker(t.Ref))); err != nil {
			d.cfg.Log.Error("outcome of a task of backups cannot be written", "account", t.Ref, "id", t.ID, "error", err)
		}
	})
}

// run executes the task and stores its result. When the machine stops, the task still counts as running, and the next
// start continues it.
func (d *Driver) run(ctx context.Context, t *task) {
	slots := d.slots
	if t.Job == examines {
		slots = d.spare
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
	}
	err := ctx.Err()
	if err == nil {
		switch t.Job {
		case makes:
			err = d.make(ctx, t)
		case restores:
			err = d.restore(ctx, t)
		case checks:
			err = d.check(ctx, t)
		case examines:
			err = d.examine(ctx, t.Ref)
		}
	}
	if d.life.Err() != nil || t.Job == examines && ctx.Err() != nil {
		return
	}
	if errors.Is(err, errDamaged) && (t.Job == restores || t.Job == checks) {
		d.foundDamaged(t.Ref, t.Backup, err)
	}
	t.Status, t.FinishedAt, t.Documents = panel.TaskCompleted, d.cfg.Now().UTC(), nil
	if err != nil {
		d.cfg.Log.Error("task of backups failed", "account", t.Ref, "job", string(t.Job), "id", t.ID, "error", err)
		t.Status, t.Failure = panel.TaskFailed, failure(err)
		for i := range t.Parts {
			if t.Parts[i].Status == panel.TaskRunning {
				t.Parts[i].Status = panel.TaskFailed
			}
		}
		if t.Job == makes {
			if err := d.deleteStreams(d.life, t.Ref, t.ID); err != nil {
				d.cfg.Log.Warn("what is left of a failed backup cannot be removed", "account", t.Ref, "id", t.ID, "error", err)
			}
		}
	}
}

// failure classifies a task's error, including those of the operating system.
func failure(err error) panel.Kind {
	var known panel.Kind
	if errors.As(err, &known) {
		return known
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return panel.ErrDiskFull
	case errors.Is(err, fs.ErrPermission):
		return panel.ErrPathNotAllowed
	}
	return panel.ErrInternal
}

// StartBackup implements panel.Backups.
func (d *Driver) StartBackup(_ context.Context, ref string, in panel.BackupRequest) (panel.BackupTask, error) {
	t, err := d.startBackup(ref, in)
	return t, panel.Wrap("backups.start", ref, err)
}

func (d *Driver) startBackup(ref string, in panel.BackupRequest) (panel.BackupTask, error) {
	if _, err := d.cfg.Accounts(ref); err != nil {
		return panel.BackupTask{}, err
	}
	parts, err := sorted(in.Parts)
	if err != nil {
		return panel.BackupTask{}, err
	}
	if err := checkID(in.ID); err != nil {
		return panel.BackupTask{}, err
	}
	t := task{ID: in.ID, Ref: ref, Job: makes, Storage: d.cfg.Store.Name(), Documents: map[panel.BackupPart]json.RawMessage{}}
	for _, p := range parts {
		t.Parts = append(t.Parts, part{Part: p, Status: panel.TaskRunning})
		if doc := in.Documents[p]; len(doc) > 0 {
			if !json.Valid(doc) {
				return panel.BackupTask{}, fmt.Errorf("%w: the document of %s", panel.ErrInvalid, p)
			}
			t.Documents[p] = doc
		}
	}
	return d.begin(t)
}

// knownParts are all parts in their fixed order.
var knownParts = append(slices.Clone(panel.BackupParts), panel.PartLogs)

// sorted returns the parts in their fixed order.
func sorted(parts []panel.BackupPart) ([]panel.BackupPart, error) {
	var all []panel.BackupPart
	for _, p := range knownParts {
		if slices.Contains(parts, p) {
			all = append(all, p)
		}
	}
	if len(all) == 0 || len(all) != len(parts) {
		return nil, fmt.Errorf("%w: parts %q", panel.ErrInvalid, parts)
	}
	return all, nil
}

func checkID(id string) error {
	if !nameForm.MatchString(id) {
		return fmt.Errorf("%w: id %q", panel.ErrInvalid, id)
	}
	return nil
}

// StartRestore implements panel.Backups.
func (d *Driver) StartRestore(_ context.Context, ref string, in panel.RestoreRequest) (panel.BackupTask, error) {
	t, err := d.startRestore(ref, in)
	return t, panel.Wrap("backups.restore", ref, err)
}

func (d *Driver) startRestore(ref string, in panel.RestoreRequest) (panel.BackupTask, error) {
	a, err := d.cfg.Accounts(ref)
	if err != nil {
		return panel.BackupTask{}, err
	}
	if err := checkID(in.ID); err != nil {
		return panel.BackupTask{}, err
	}
	if a.Suspended {
		return panel.BackupTask{}, panel.ErrSuspended
	}
	parts, err := sorted(in.Parts)
	if err != nil {
		return panel.BackupTask{}, err
	}
	b, err := d.backup(ref, in.Backup)
	if err != nil {
		return panel.BackupTask{}, err
	}
	t := task{ID: in.ID, Ref: ref, Job: restores, Backup: in.Backup, Items: in.Items}
	for _, p := range parts {
		had := b.find(p)
		if had == nil {
			return panel.BackupTask{}, fmt.Errorf("%w: the backup has no %s", panel.ErrInvalid, p)
		}
		t.Parts = append(t.Parts, part{Part: p, Status: panel.TaskRunning, Bytes: had.Bytes, Count: had.Count})
	}
	if slices.Contains(parts, panel.PartFiles) {
		if _, err := paths(in.Items); err != nil {
			return panel.BackupTask{}, err
		}
	}
	if in.Target != "" {
		if t.Target, err = target(in.Target); err != nil {
			return panel.BackupTask{}, err
		}
	}
	return d.begin(t)
}

// paths are the items that are files.
func paths(items []string) ([]string, error) {
	var clean []string
	for _, item := range items {
		name, err := files.CleanPath(item)
		if err != nil {
			return nil, err
		}
		if passing[strings.SplitN(name, "/", 2)[0]] {
			return nil, fmt.Errorf("%w: %s is in no backup", panel.ErrPathNotAllowed, item)
		}
		if name == "." {
			return nil, nil
		}
		clean = append(clean, name)
	}
	return clean, nil
}

// target returns the directory into which files are restored.
func target(dir string) (string, error) {
	name, err := files.CleanPath(dir)
	if err == nil && (name == "." || passing[strings.SplitN(name, "/", 2)[0]]) {
		err = fmt.Errorf("%w: %s", panel.ErrPathNotAllowed, dir)
	}
	return name, err
}

// StartBackupCheck implements panel.Backups.
func (d *Driver) StartBackupCheck(_ context.Context, ref string, in panel.CheckRequest) (panel.BackupTask, error) {
	t, err := d.startCheck(ref, in)
	return t, panel.Wrap("backups.check", ref, err)
}

func (d *Driver) startCheck(ref string, in panel.CheckRequest) (panel.BackupTask, error) {
	if err := d.known(ref); err != nil {
		return panel.BackupTask{}, err
	}
	if err := checkID(in.ID); err != nil {
		return panel.BackupTask{}, err
	}
	b, err := d.backup(ref, in.Backup)
	if err != nil {
		return panel.BackupTask{}, err
	}
	t := task{ID: in.ID, Ref: ref, Job: checks, Backup: in.Backup, Thorough: in.Thorough}
	for _, p := range b.Parts {
		t.Parts = append(t.Parts, part{Part: p.Part, Status: panel.TaskRunning, Bytes: p.Bytes, Count: p.Count})
	}
	return d.begin(t)
}

// BackupTask implements panel.Backups.
func (d *Driver) BackupTask(_ context.Context, ref, id string) (panel.BackupTask, error) {
	err := d.known(ref)
	var t task
	if err == nil {
		t, err = d.task(ref, id)
	}
	if err != nil {
		return panel.BackupTask{}, panel.Wrap("backups.task", ref, err)
	}
	return t.answer(), nil
}

// ListBackups implements panel.Backups.
func (d *Driver) ListBackups(_ context.Context, ref string) ([]panel.Backup, error) {
	err := d.known(ref)
	var all []task
	if err == nil {
		all, err = d.tasks(ref)
	}
	if err != nil {
		return nil, panel.Wrap("backups.list", ref, err)
	}
	suspected, err := d.suspectedAt(ref)
	if err != nil {
		return nil, panel.Wrap("backups.list", ref, err)
	}
	complete := []panel.Backup{}
	for _, t := range all {
		if t.restorable() {
			b := panel.Backup{ID: t.ID, Parts: t.states(), Storage: t.Storage, CreatedAt: t.StartedAt, Condition: t.condition(suspected)}
			for _, p := range t.Parts {
				b.Bytes += p.Bytes
			}
			complete = append(complete, b)
		}
	}
	return complete, nil
}

// DeleteBackup implements panel.Backups.
func (d *Driver) DeleteBackup(ctx context.Context, ref, id string) error {
	return panel.Wrap("backups.delete", ref, d.deleteBackup(ctx, ref, id))
}

func (d *Driver) deleteBackup(ctx context.Context, ref, id string) error {
	if err := d.known(ref); err != nil {
		return err
	}
	if err := checkID(id); err != nil {
		return err
	}
	d.pauseExamination(ref)
	d.mu.Lock()
	running := d.active[ref]
	d.mu.Unlock()
	if running != nil {
		if running.id != id {
			return fmt.Errorf("%w: another task is running", panel.ErrBusy)
		}
		d.interrupt(ref)
	}
	// Occupies the account's task, so that none starts while the store works.
	d.mu.Lock()
	if d.closed || d.active[ref] != nil {
		d.mu.Unlock()
		return fmt.Errorf("%w: another task is running", panel.ErrBusy)
	}
	here := &run{cancel: func() {}, ended: make(chan struct{})}
	d.active[ref] = here
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.active, ref)
		d.examineSuspected(ref)
		d.mu.Unlock()
		close(here.ended)
	}()

	t, err := d.task(ref, id)
	if errors.Is(err, panel.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if t.Job != makes {
		return fmt.Errorf("%w: %s is no backup", panel.ErrInvalid, id)
	}
	all, err := d.tasks(ref)
	if err != nil {
		return err
	}
	_, err = d.cfg.Accounts(ref)
	last := !slices.ContainsFunc(all, func(o task) bool { return o.restorable() && o.ID != id })
	if errors.Is(err, panel.ErrNotFound) && last {
		return d.forget(ctx, ref)
	}
	err = d.deleteStreams(ctx, ref, id)
	if errors.Is(err, errDamaged) {
		// What is damaged goes as a whole, when no backup needs it any more.
		d.suspect(ref, t.handle(), err)
		err = d.deleteStreams(ctx, ref, id)
	}
	if err != nil {
		return err
	}
	if err := os.Remove(d.file(ref, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncDir(d.dir(ref))
}

// forget removes all backups of an account, the records last.
func (d *Driver) forget(ctx context.Context, ref string) error {
	if _, err := os.Stat(d.dir(ref)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := d.cfg.Store.Drop(ctx, ref); err != nil {
		return err
	}
	if err := os.Remove(d.suspicion(ref)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(d.dir(ref))
}
