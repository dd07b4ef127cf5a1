package accounts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/keylock"
	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/port/panel"
)

// Store keeps the accounts of one machine below a directory:
//
//	accounts/<name>/      what the account has: see the ground
//	state/<name>.json     the record
//	state/lock            held by the process that serves this directory
//	trash/                homes that ended and are being removed
type Store struct {
	dir    string
	now    func() time.Time
	log    *slog.Logger
	ground ground

	lock     *os.File
	removing sync.WaitGroup // jobs that empty the trash

	busy keylock.Locks // one change of an account at a time

	mu      sync.RWMutex
	records map[string]Record // by ref
	left    map[string]bool   // the refs of records of accounts that have left
	names   map[string]string // user name to ref
	domains map[string]string // domain to ref
}

// ground is what an account has on the machine besides its record. Its methods may be repeated.
type ground interface {
	// home is the directory of the account's files.
	home(rec Record) string
	// taken reports whether the name is in use on the machine by something other than an account.
	taken(name string) (bool, error)
	// reserve fills in the parts of the record that must be fixed before anything is created. Calls are serialized.
	reserve(rec *Record) error
	// build creates everything of a new account. What exists already is left from a crash: an account that was never
	// completed, or not fully deleted; the next customer with that name must not get it.
	build(ctx context.Context, rec Record) error
	// settle restores the record's state on the machine.
	settle(ctx context.Context, rec Record) error
	// clear ends the account's processes, until none is left.
	clear(ctx context.Context, rec Record) error
	// erase removes everything of an account; large trees may go to the trash.
	erase(ctx context.Context, rec Record) error
}

var _ Accounts = (*Store)(nil)

// open reads the accounts under dir and removes those whose creation a crash interrupted. One process at a time may
// have a directory open.
func open(dir string, now func() time.Time, log *slog.Logger, prepare func(*Store) (ground, error)) (_ *Store, err error) {
	d := &Store{
		dir: dir, now: now, log: log,
		records: map[string]Record{}, left: map[string]bool{}, names: map[string]string{}, domains: map[string]string{},
	}
	for _, sub := range []string{"accounts", "state", "trash"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o711); err != nil {
			return nil, fmt.Errorf("accounts: %w", err)
		}
	}
	if d.lock, err = lockFile(filepath.Join(dir, "state", "lock")); err != nil {
		return nil, fmt.Errorf("accounts: %s is in use by another process: %w", dir, err)
	}
	if d.ground, err = prepare(d); err == nil {
		err = d.load()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("accounts: %w", err), d.Close())
	}
	d.removing.Go(d.emptyTrash)
	return d, nil
}

// Close releases the directory for another process.
func (d *Store) Close() error {
	d.removing.Wait()
	return d.lock.Close()
}

// lockFile takes a lock that the kernel releases with the process, however it ends.
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

// load reads every record. An unreadable record prevents the start: serving only some customers would let others take
// the names and domains of the rest.
func (d *Store) load() error {
	entries, err := os.ReadDir(filepath.Join(d.dir, "state"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		file := filepath.Join(d.dir, "state", e.Name())
		switch filepath.Ext(e.Name()) {
		case ".tmp": // a write that a crash interrupted; the record before it, if any, is valid
			if err := os.Remove(file); err != nil {
				return err
			}
		case ".json":
			rec, err := readRecord(file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if rec.Making {
				if err := d.erase(context.Background(), rec); err != nil {
					return err
				}
				continue
			}
			if err := d.claim(rec); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			d.put(rec)
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
func (d *Store) Create(ctx context.Context, spec panel.AccountSpec) (Record, error) {
	spec, err := check(spec)
	if err != nil {
		return Record{}, err
	}
	defer d.busy.Lock(spec.Ref)()

	rec, err := d.reserve(spec)
	if err != nil {
		return Record{}, err
	}
	if rec.Making && !rec.CreatedAt.IsZero() { // an attempt that failed and could not be undone
		if err := d.forget(ctx, rec); err != nil {
			return Record{}, err
		}
		if rec, err = d.reserve(spec); err != nil {
			return Record{}, err
		}
	}
	if !rec.CreatedAt.IsZero() {
		return rec, nil
	}
	rec.Making, rec.CreatedAt = true, d.now().UTC()
	// From here on the work is finished or undone, even when the caller leaves.
	ctx = context.WithoutCancel(ctx)
	if err := d.write(rec); err != nil { // nothing was created
		_ = os.Remove(d.stateFile(rec)) // the next start removes the rest
		d.mu.Lock()
		d.release(rec)
		d.mu.Unlock()
		return Record{}, err
	}
	if err := d.build(ctx, rec); err != nil {
		d.set(rec)
		if undo := d.forget(ctx, rec); undo != nil {
			d.log.Error("half an account cannot be removed yet", "account", rec.Ref, "error", undo)
		}
		return Record{}, err
	}
	rec.Making = false
	d.set(rec)
	return rec.clone(), nil
}

// build creates the account and then writes the record that says that it is complete. The present record says that it
// is being created, so a crash leaves nothing unknown.
func (d *Store) build(ctx context.Context, rec Record) error {
	if err := d.ground.build(ctx, rec); err != nil {
		return err
	}
	rec.Making = false
	return d.write(rec)
}

// reserve returns the account that has the ref already, or takes name and domain for a new one, which has no time of
// creation.
func (d *Store) reserve(spec panel.AccountSpec) (Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rec, ok := d.records[spec.Ref]; ok {
		if rec.Deleting {
			return Record{}, fmt.Errorf("%w: %s is being removed", panel.ErrBusy, spec.Ref)
		}
		if rec.Left > 0 {
			return Record{}, fmt.Errorf("%w: %s has left in epoch %d", panel.ErrBusy, spec.Ref, rec.Left)
		}
		if rec.Domains[0].Name != spec.PrimaryDomain && !rec.Making {
			return Record{}, fmt.Errorf("%w: %s is the account of %s", panel.ErrExists, spec.Ref, rec.Domains[0].Name)
		}
		return rec.clone(), nil
	}
	rec := Record{
		Ref: spec.Ref, Name: spec.Username, Limits: spec.Limits, Epoch: spec.Epoch, Arriving: spec.Arriving,
		Domains: []Domain{{Name: spec.PrimaryDomain, DocumentRoot: PublicHTML, NoMail: spec.NoMail}},
	}
	if rec.Name == "" {
		var err error
		if rec.Name, err = d.freeName(nameStem(spec.PrimaryDomain)); err != nil {
			return Record{}, err
		}
	} else if taken, err := d.ground.taken(rec.Name); err != nil || taken {
		if err == nil {
			err = fmt.Errorf("%w: user name %s", panel.ErrExists, rec.Name)
		}
		return Record{}, err
	}
	if err := d.claim(rec); err != nil {
		return Record{}, err
	}
	if err := d.ground.reserve(&rec); err != nil {
		d.release(rec)
		return Record{}, err
	}
	return rec, nil
}

// freeName returns the stem, or the stem with the smallest number that is free.
func (d *Store) freeName(stem string) (string, error) {
	for n := 1; ; n++ {
		name := stem
		if n > 1 {
			name += strconv.Itoa(n)
		}
		if d.names[name] != "" {
			continue
		}
		if taken, err := d.ground.taken(name); err != nil || !taken {
			return name, err
		}
	}
}

func (d *Store) set(rec Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(rec)
}

// put keeps a record. The caller holds mu, or is alone.
func (d *Store) put(rec Record) {
	d.records[rec.Ref] = rec
	if rec.Left > 0 {
		d.left[rec.Ref] = true
	} else {
		delete(d.left, rec.Ref)
	}
}

// claim takes the record's name and domains, all or none. The caller holds mu, or is alone.
func (d *Store) claim(rec Record) error {
	if owner, taken := d.names[rec.Name]; taken && owner != rec.Ref {
		return fmt.Errorf("%w: user name %s", panel.ErrExists, rec.Name)
	}
	if rec.Left == 0 {
		for _, dom := range rec.Domains {
			if owner, taken := d.domains[dom.Name]; taken && owner != rec.Ref {
				return fmt.Errorf("%w: domain %s", panel.ErrExists, dom.Name)
			}
		}
		for _, dom := range rec.Domains {
			d.domains[dom.Name] = rec.Ref
		}
	}
	d.names[rec.Name] = rec.Ref
	return nil
}

func (d *Store) release(rec Record) {
	delete(d.names, rec.Name)
	d.releaseDomains(rec, func(string) bool { return true })
}

// releaseDomains frees domains of an account that it has still.
func (d *Store) releaseDomains(rec Record, which func(name string) bool) {
	for _, dom := range rec.Domains {
		if d.domains[dom.Name] == rec.Ref && which(dom.Name) {
			delete(d.domains, dom.Name)
		}
	}
}

// Get implements Accounts.
func (d *Store) Get(ref string) (Record, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	rec, ok := d.records[ref]
	if !ok || !rec.there() {
		return Record{}, fmt.Errorf("%w: account", panel.ErrNotFound)
	}
	return rec.clone(), nil
}

// List implements Accounts.
func (d *Store) List() []Record {
	return d.Where(func(Record) bool { return true })
}

// Where implements Accounts.
func (d *Store) Where(is func(Record) bool) []Record {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var all []Record
	for _, rec := range d.records {
		if rec.there() && is(rec) {
			all = append(all, rec.clone())
		}
	}
	return all
}

// Left implements Accounts.
func (d *Store) Left() []Record {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var all []Record
	for ref := range d.left {
		if rec := d.records[ref]; rec.there() {
			all = append(all, rec.clone())
		}
	}
	return all
}

// Refs implements Accounts.
func (d *Store) Refs() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var refs []string
	for ref, rec := range d.records {
		if rec.there() {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Deleting implements Accounts.
func (d *Store) Deleting() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var refs []string
	for ref, rec := range d.records {
		if rec.Deleting {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Update implements Accounts.
func (d *Store) Update(ctx context.Context, ref string, change func(*Record) error) (Record, error) {
	defer d.busy.Lock(ref)()
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
	if rec.Ref != old.Ref || rec.Name != old.Name || rec.User != old.User || rec.Making || rec.Deleting {
		return Record{}, fmt.Errorf("%w: an account keeps its ref, name and user", panel.ErrInvalid)
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
	return rec.clone(), d.ground.settle(context.WithoutCancel(ctx), rec)
}

// Settle implements Accounts.
func (d *Store) Settle(ctx context.Context, ref string) error {
	defer d.busy.Lock(ref)()
	rec, err := d.Get(ref)
	if err != nil {
		return err
	}
	err = d.ground.settle(ctx, rec)
	if err == nil && rec.Suspended {
		ctx, cancel := context.WithTimeout(ctx, clearing)
		defer cancel()
		err = d.ground.clear(ctx, rec)
	}
	return err
}

// clearing is how long Settle waits until a suspended account's processes have ended.
const clearing = 30 * time.Second

// settle stores now as the present record, and releases the domains that it does not have, of those that other had.
func (d *Store) settle(now, other Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.releaseDomains(other, func(name string) bool { return now.Left > 0 || now.Find(name) < 0 })
	d.put(now)
}

// Delete implements Accounts.
func (d *Store) Delete(ctx context.Context, ref string, end func(context.Context, Record) error) error {
	return d.end(ctx, ref, end, false)
}

// Finish implements Accounts.
func (d *Store) Finish(ctx context.Context, ref string, end func(context.Context, Record) error) error {
	return d.end(ctx, ref, end, true)
}

func (d *Store) end(ctx context.Context, ref string, end func(context.Context, Record) error, begun bool) error {
	defer d.busy.Lock(ref)()
	d.mu.RLock()
	rec, ok := d.records[ref]
	d.mu.RUnlock()
	if !ok || rec.Making || begun && !rec.Deleting {
		return fmt.Errorf("%w: account", panel.ErrNotFound)
	}
	if !rec.Deleting {
		rec.Deleting = true
		if err := d.write(rec); err != nil {
			return err
		}
		d.set(rec)
	}
	if end != nil {
		if err := end(ctx, rec.clone()); err != nil {
			return err
		}
	}
	return d.forget(ctx, rec)
}

// forget deletes an account and releases its names.
func (d *Store) forget(ctx context.Context, rec Record) error {
	if err := d.erase(ctx, rec); err != nil {
		return err
	}
	d.mu.Lock()
	delete(d.records, rec.Ref)
	delete(d.left, rec.Ref)
	d.release(rec)
	d.mu.Unlock()
	d.removing.Go(d.emptyTrash) // the account is gone; nobody waits for its bytes
	return nil
}

// erase removes the account's things, and then its record.
func (d *Store) erase(ctx context.Context, rec Record) error {
	if err := d.ground.erase(ctx, rec); err != nil {
		return err
	}
	if err := os.Remove(d.stateFile(rec)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncDir(filepath.Join(d.dir, "state"))
}

// discard moves a home, if there is one, to the trash under a unique name.
func (d *Store) discard(home string) error {
	if _, err := os.Lstat(home); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(home, filepath.Join(d.dir, "trash", filepath.Base(home)+"-"+rand.Text())); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(home))
}

// emptyTrash removes what it can. The next run removes the rest, such as a directory into which an upload is being
// written.
func (d *Store) emptyTrash() {
	trash := filepath.Join(d.dir, "trash")
	root, err := os.OpenRoot(trash)
	if err != nil {
		d.log.Warn("trash cannot be opened", "error", err)
		return
	}
	defer root.Close()
	entries, err := os.ReadDir(trash)
	if err != nil {
		d.log.Warn("trash cannot be read", "error", err)
	}
	for _, e := range entries {
		if err := tree.Remove(root, e.Name(), nil); err != nil {
			d.log.Warn("trash cannot be emptied yet", "entry", e.Name(), "error", err)
		}
	}
}

// Home implements Accounts.
func (d *Store) Home(rec Record) string { return d.ground.home(rec) }

// own is the account's directory below accounts.
func (d *Store) own(rec Record) string { return filepath.Join(d.dir, "accounts", rec.Name) }

func (d *Store) stateFile(rec Record) string {
	return filepath.Join(d.dir, "state", rec.Name+".json")
}

// write stores the record so that a crash leaves the old one or the new one.
func (d *Store) write(rec Record) error {
	data, err := json.MarshalIndent(rec, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Write(d.stateFile(rec), append(data, '\n'), 0o600)
}
