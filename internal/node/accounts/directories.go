package accounts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/panel"
)

// Directories keeps accounts as directories, which needs nothing of the machine:
//
//	accounts/<name>/      the home, as Layout says
//	state/<name>.json     the record; the account exists when this file does
//	state/lock            held by the process that serves this directory
//	trash/                homes that ended and are being removed
type Directories struct {
	dir string
	now func() time.Time
	log *slog.Logger

	lock     *os.File
	removing sync.WaitGroup // what empties the trash

	// busy serialises the slow part of changes per account, so that one account's fsync does not
	// hold up another's.
	busy [64]sync.Mutex
	seed maphash.Seed

	mu      sync.RWMutex
	records map[string]Record // by ref
	names   map[string]string // user name to ref
	domains map[string]string // domain to ref
}

var _ Accounts = (*Directories)(nil)

// OpenDirectories reads the accounts under dir and finishes what a crash interrupted. One process
// at a time may have a directory open.
func OpenDirectories(dir string, now func() time.Time, log *slog.Logger) (_ *Directories, err error) {
	d := &Directories{
		dir: dir, now: now, log: log, seed: maphash.MakeSeed(),
		records: map[string]Record{}, names: map[string]string{}, domains: map[string]string{},
	}
	for _, sub := range []string{"accounts", "state", "trash"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o711); err != nil {
			return nil, fmt.Errorf("accounts: %w", err)
		}
	}
	if d.lock, err = lockFile(filepath.Join(dir, "state", "lock")); err != nil {
		return nil, fmt.Errorf("accounts: %s is in use by another process: %w", dir, err)
	}
	if err := d.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("accounts: %w", err), d.Close())
	}
	d.removing.Go(d.emptyTrash)
	return d, nil
}

// Close gives the directory free for another process.
func (d *Directories) Close() error {
	d.removing.Wait()
	return d.lock.Close()
}

// lockFile takes the lock that the kernel drops with the process, however it ends.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// load reads every record. A record that cannot be read stops the start: serving some of the
// customers while forgetting others would let their names and domains be taken.
func (d *Directories) load() error {
	entries, err := os.ReadDir(filepath.Join(d.dir, "state"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		file := filepath.Join(d.dir, "state", e.Name())
		switch filepath.Ext(e.Name()) {
		case ".tmp": // a write that a crash cut short; the record before it, if any, stands
			if err := os.Remove(file); err != nil {
				return err
			}
		case ".json":
			rec, err := readRecord(file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if rec.Deleting {
				if err := d.erase(rec); err != nil {
					return err
				}
				continue
			}
			if err := d.claim(rec); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			d.records[rec.Ref] = rec
		}
	}
	return nil
}

func readRecord(file string) (Record, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Record{}, err
	}
	var rec Record
	if err := json.Unmarshal(data, &rec); err != nil {
		return Record{}, err
	}
	if rec.Name+".json" != filepath.Base(file) {
		return Record{}, fmt.Errorf("%w: the record is of %q", panel.ErrInvalid, rec.Name)
	}
	return rec, checkRecord(rec)
}

// Create implements Accounts.
func (d *Directories) Create(_ context.Context, spec panel.AccountSpec) (Record, error) {
	spec, err := check(spec)
	if err != nil {
		return Record{}, err
	}
	defer d.serialise(spec.Ref)()

	rec, err := d.reserve(spec)
	if err != nil || !rec.CreatedAt.IsZero() {
		return rec, err
	}
	rec.CreatedAt = d.now().UTC()
	if err := d.build(rec); err != nil {
		d.mu.Lock()
		d.release(rec)
		d.mu.Unlock()
		return Record{}, err
	}
	d.mu.Lock()
	d.records[rec.Ref] = rec
	d.mu.Unlock()
	return rec.clone(), nil
}

// reserve answers the account that has the ref already, or takes name and domain for a new one,
// which is the one without a time of creation.
func (d *Directories) reserve(spec panel.AccountSpec) (Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rec, ok := d.records[spec.Ref]; ok {
		if rec.Domains[0].Name != spec.PrimaryDomain {
			return Record{}, fmt.Errorf("%w: %s is the account of %s", panel.ErrExists, spec.Ref, rec.Domains[0].Name)
		}
		return rec.clone(), nil
	}
	rec := Record{
		Ref: spec.Ref, Name: spec.Username, Limits: spec.Limits,
		Domains: []Domain{{Name: spec.PrimaryDomain, DocumentRoot: PublicHTML}},
	}
	if rec.Name == "" {
		stem := nameStem(spec.PrimaryDomain)
		rec.Name = stem
		for n := 2; d.names[rec.Name] != ""; n++ {
			rec.Name = stem + strconv.Itoa(n)
		}
	}
	return rec, d.claim(rec)
}

// claim takes the record's name and domains, all or none. The caller holds mu, or is alone.
func (d *Directories) claim(rec Record) error {
	if owner, taken := d.names[rec.Name]; taken && owner != rec.Ref {
		return fmt.Errorf("%w: user name %s", panel.ErrExists, rec.Name)
	}
	for _, dom := range rec.Domains {
		if owner, taken := d.domains[dom.Name]; taken && owner != rec.Ref {
			return fmt.Errorf("%w: domain %s", panel.ErrExists, dom.Name)
		}
	}
	d.names[rec.Name] = rec.Ref
	for _, dom := range rec.Domains {
		d.domains[dom.Name] = rec.Ref
	}
	return nil
}

func (d *Directories) release(rec Record) {
	delete(d.names, rec.Name)
	for _, dom := range rec.Domains {
		delete(d.domains, dom.Name)
	}
}

// build makes the home and then the record. A home without a record is what a crash left of an
// account that never came to be, or was meant to be gone; whatever is in it must not show up in the
// account of the next customer who gets the name.
func (d *Directories) build(rec Record) error {
	home := d.Home(rec)
	if err := d.discard(home); err != nil {
		return err
	}
	if err := os.Mkdir(home, 0o750); err != nil {
		return err
	}
	for _, l := range Layout {
		if err := os.Mkdir(filepath.Join(home, l.Name), fs.FileMode(l.Mode)); err != nil {
			return err
		}
	}
	if err := syncDir(home); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(home)); err != nil {
		return err
	}
	return d.write(rec)
}

// Get implements Accounts.
func (d *Directories) Get(ref string) (Record, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	rec, ok := d.records[ref]
	if !ok {
		return Record{}, fmt.Errorf("%w: account", panel.ErrNotFound)
	}
	return rec.clone(), nil
}

// List implements Accounts.
func (d *Directories) List() []Record {
	d.mu.RLock()
	defer d.mu.RUnlock()
	all := make([]Record, 0, len(d.records))
	for _, rec := range d.records {
		all = append(all, rec.clone())
	}
	return all
}

// Update implements Accounts.
func (d *Directories) Update(_ context.Context, ref string, change func(*Record) error) (Record, error) {
	defer d.serialise(ref)()
	old, err := d.Get(ref)
	if err != nil {
		return Record{}, err
	}
	rec := old.clone()
	if err := change(&rec); err != nil {
		return Record{}, err
	}
	if err := checkRecord(rec); err != nil {
		return Record{}, err
	}
	if rec.Ref != old.Ref || rec.Name != old.Name {
		return Record{}, fmt.Errorf("%w: an account keeps its ref and name", panel.ErrInvalid)
	}
	d.mu.Lock()
	err = d.claim(rec)
	d.mu.Unlock()
	if err != nil {
		return Record{}, err
	}
	if err := d.write(rec); err != nil {
		d.settle(old, rec)
		return Record{}, err
	}
	d.settle(rec, old)
	return rec.clone(), nil
}

// settle makes now the record that stands and frees the domains that only other had.
func (d *Directories) settle(now, other Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dom := range other.Domains {
		if now.Find(dom.Name) < 0 {
			delete(d.domains, dom.Name)
		}
	}
	d.records[now.Ref] = now
}

// Delete implements Accounts.
func (d *Directories) Delete(_ context.Context, ref string) error {
	defer d.serialise(ref)()
	rec, err := d.Get(ref)
	if err != nil {
		return err
	}
	rec.Deleting = true
	if err := d.write(rec); err != nil {
		return err
	}
	if err := d.erase(rec); err != nil {
		return err
	}
	d.mu.Lock()
	delete(d.records, ref)
	d.release(rec)
	d.mu.Unlock()
	d.removing.Go(d.emptyTrash) // the account is gone; how long its bytes take is nobody's concern
	return nil
}

// erase takes home and record out of the way; the bytes are removed from the trash later.
func (d *Directories) erase(rec Record) error {
	if err := d.discard(d.Home(rec)); err != nil {
		return err
	}
	if err := os.Remove(d.stateFile(rec)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Join(d.dir, "state"))
}

// discard moves a home, if there is one, to the trash under a name that nothing else has.
func (d *Directories) discard(home string) error {
	if _, err := os.Lstat(home); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(home, filepath.Join(d.dir, "trash", filepath.Base(home)+"-"+rand.Text())); err != nil {
		return err
	}
	return syncDir(filepath.Dir(home))
}

// emptyTrash removes what it can. What it cannot remove now, such as a directory into which an
// upload is just being written, goes the next time: the account it was of is gone either way.
func (d *Directories) emptyTrash() {
	trash := filepath.Join(d.dir, "trash")
	entries, err := os.ReadDir(trash)
	if err != nil {
		d.log.Warn("trash cannot be read", "error", err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(trash, e.Name())); err != nil {
			d.log.Warn("trash cannot be emptied yet", "entry", e.Name(), "error", err)
		}
	}
}

// Home implements Accounts.
func (d *Directories) Home(rec Record) string { return filepath.Join(d.dir, "accounts", rec.Name) }

func (d *Directories) stateFile(rec Record) string {
	return filepath.Join(d.dir, "state", rec.Name+".json")
}

// serialise waits for the other changes of the account and returns the end of this one.
func (d *Directories) serialise(ref string) (done func()) {
	mu := &d.busy[maphash.String(d.seed, ref)%uint64(len(d.busy))]
	mu.Lock()
	return mu.Unlock
}

// write puts the record on disk so that a crash leaves the old one or the new one.
func (d *Directories) write(rec Record) error {
	data, err := json.MarshalIndent(rec, "", "\t")
	if err != nil {
		return err
	}
	file := d.stateFile(rec)
	tmp := strings.TrimSuffix(file, ".json") + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// syncDir makes the names in a directory last through a loss of power.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
