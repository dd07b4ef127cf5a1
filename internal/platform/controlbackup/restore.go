package controlbackup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/hold"
	"stead.dev/stead/internal/platform/replicas"
	"stead.dev/stead/internal/platform/schema"
)

// Target is where a backup is restored to.
type Target struct {
	// DatabaseFile is where SQLite's database goes; Address is that of the PostgreSQL database, where it is one.
	DatabaseFile, Address string
	// KeyFile is where the key goes. GivenKey is the key where it is a setting: nothing is written then, and it must be that
	// of the archive.
	KeyFile  string
	GivenKey []byte
	// SettingsFile gets the settings of the archive, for people to compare.
	SettingsFile string
	Clock        clock.Clock
	Ledger       Ledger
	// Dir is where the archive is unpacked.
	Dir string
	// Replace moves aside what is there.
	Replace bool
}

// Restored is what a restore did.
type Restored struct {
	Archive string    `json:"archive"`
	MadeAt  time.Time `json:"made_at"`
	Version string    `json:"version"` // of the program that made it
	// Kept are the names under which what was there before is kept.
	Kept     []string `json:"kept"`
	Settings string   `json:"settings,omitempty"` // the file with the settings of the archive
}

// List lists the backups of a place, the newest first.
func List(ctx context.Context, place Place) ([]Sidecar, error) {
	s, err := openStore(place)
	if err != nil {
		return nil, err
	}
	all, _, err := contents(ctx, s)
	return append([]Sidecar{}, all...), err
}

// choose finds a backup by its name; the newest where name is empty.
func choose(ctx context.Context, s store, place Place, name string) (Sidecar, error) {
	if name == "" {
		all, _, err := contents(ctx, s)
		if err != nil {
			return Sidecar{}, err
		}
		if len(all) == 0 {
			return Sidecar{}, fmt.Errorf("there is no backup in %s", place.To)
		}
		return all[0], nil
	}
	name = trimSuffix(filepath.Base(name))
	if !nameForm.MatchString(name) {
		return Sidecar{}, fmt.Errorf("%q is not the name of a backup; stead restore --list shows them", name)
	}
	c, err := sidecar(ctx, s, name)
	if errors.Is(err, errNoFile) {
		return c, fmt.Errorf("there is no backup %s in %s; stead restore --list shows those that there are", name, place.To)
	}
	return c, err
}

func trimSuffix(name string) string {
	for _, suffix := range []string{archiveSuffix, sidecarSuffix} {
		if len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix {
			return name[:len(name)-len(suffix)]
		}
	}
	return name
}

// unpacked is an archive that was read to its end, in a folder of its own.
type unpacked struct {
	Manifest
	dir    string
	remove func() error
}

func (u unpacked) file(entry string) string { return filepath.Join(u.dir, filepath.Base(entry)) }

// open fetches a backup, decrypts it and verifies all of it.
func open(ctx context.Context, place Place, keys Keys, name, dir string) (u unpacked, err error) {
	s, err := openStore(place)
	if err != nil {
		return u, err
	}
	with, err := keys.identities()
	if err != nil {
		return u, err
	}
	c, err := choose(ctx, s, place, name)
	if err != nil {
		return u, err
	}
	if u.dir, u.remove, err = staging(dir); err != nil {
		return u, err
	}
	u.Manifest, err = fetch(ctx, s, c, with, u.dir, func(m Manifest) error {
		var sum int64
		for _, e := range m.Entries {
			sum += max(0, e.Size)
		}
		if m.Schema > schema.Newest() {
			return fmt.Errorf("%w, %s", ErrNewer, m.Version)
		}
		return roomFor(u.dir, sum)
	})
	if err != nil {
		return u, errors.Join(err, u.remove())
	}
	return u, nil
}

// Check restores a backup into a scratch database, proves it, and leaves nothing behind. Address is that of a PostgreSQL
// server where scratch databases may be made; present, where it is not nil, is the database that notes the proof.
func Check(ctx context.Context, place Place, keys Keys, name, dir, address string, ledger Ledger, present *db.DB) (r Restored, err error) {
	u, err := open(ctx, place, keys, name, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, u.remove()) }()
	if u.Engine == "postgres" && address == "" {
		return r, errors.New("the backup is of PostgreSQL: set STEAD_DATABASE_URL to a server where a scratch database can be made")
	}
	if err := tryOut(ctx, u.Manifest, u.dir, address, ledger); err != nil {
		return r, fmt.Errorf("the backup %s does not prove itself: %w", u.Archive, err)
	}
	if present != nil {
		if err := recordProven(ctx, present, u.Archive); err != nil {
			return r, err
		}
	}
	return Restored{Archive: u.Archive, MadeAt: u.MadeAt, Version: u.Version, Kept: []string{}}, nil
}

// Errors of a target that has something.
var (
	ErrNotEmpty = errors.New("there is an installation already: give an empty place, or --replace, which moves aside what is there and keeps it")
	ErrInUse    = errors.New("servers are running on this database: stop all of them first")
	ErrAtWork   = errors.New("another stead restore is at work on this database: wait until it has ended")
)

// Restore restores a backup. Nothing is changed before the archive was read to its end; what it replaces is kept.
func Restore(ctx context.Context, place Place, keys Keys, name string, to Target) (r Restored, err error) {
	if err := free(ctx, to); err != nil {
		return r, err
	}
	u, err := open(ctx, place, keys, name, to.Dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, u.remove()) }()
	key, err := os.ReadFile(u.file(keyEntry))
	if err != nil {
		return r, err
	}
	switch engine := engineOf(to); {
	case u.Engine != engine && u.Engine == "postgres":
		return r, errors.New("the backup is of PostgreSQL: set STEAD_DATABASE_URL to an empty database")
	case u.Engine != engine:
		return r, errors.New("the backup is of SQLite: leave STEAD_DATABASE_URL unset")
	case to.GivenKey != nil && !sameKeys(to.GivenKey, key):
		return r, errors.New("STEAD_SECRET_KEY is not the key of the backup: unset it, and the key goes to its file in the data directory")
	}
	r = Restored{Archive: u.Archive, MadeAt: u.MadeAt, Version: u.Version, Kept: []string{}, Settings: to.SettingsFile}
	suffix := ".replaced-" + to.Clock.Now().UTC().Format("20060102T150405Z")
	if u.Engine == "postgres" {
		err = u.intoPostgres(ctx, to, suffix, key, &r)
	} else {
		err = u.intoFile(ctx, to, suffix, key, &r)
	}
	if err != nil {
		return r, err
	}
	settings, err := os.ReadFile(u.file(settingsEntry))
	if err == nil {
		err = atomicfile.Write(to.SettingsFile, settings, 0o600)
	}
	return r, err
}

func engineOf(to Target) string {
	if to.Address != "" {
		return "postgres"
	}
	return "sqlite"
}

// sameKeys compares keys as they are written, line ends aside.
func sameKeys(a, b []byte) bool { return bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b)) }

// free refuses a target that has something, unless that is to be replaced.
func free(ctx context.Context, to Target) error {
	if to.Address == "" {
		for _, file := range []string{to.DatabaseFile, to.KeyFile} {
			if _, err := os.Lstat(file); err == nil && !to.Replace {
				return fmt.Errorf("%s: %w", file, ErrNotEmpty)
			}
		}
		return nil
	}
	empty, again, err := emptyPostgres(ctx, to)
	if err != nil || again { // the key, if it is there, is that of the interrupted restore or is moved aside
		return err
	}
	if _, err := os.Lstat(to.KeyFile); err == nil && to.GivenKey == nil && !to.Replace {
		return fmt.Errorf("%s: %w", to.KeyFile, ErrNotEmpty)
	}
	if !empty && !to.Replace {
		return fmt.Errorf("the database: %w", ErrNotEmpty)
	}
	return nil
}

// emptyPostgres reports whether the database has no tables, or again only those of an interrupted restore. Living servers are
// an error.
func emptyPostgres(ctx context.Context, to Target) (empty, again bool, err error) {
	d, err := db.Open(ctx, db.Config{URL: to.Address, Clock: to.Clock, MaxConns: 2})
	if err != nil {
		return false, false, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	switch err := CheckFinished(ctx, d); {
	case errors.Is(err, ErrUnfinished):
		return true, true, nil
	case err != nil:
		return false, false, err
	}
	n, err := one(ctx, asking(d), `SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'v', 'S')`)
	if err != nil || n == 0 {
		return n == 0, false, err
	}
	known, err := one(ctx, asking(d), `SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relname = 'replicas'`)
	if err != nil || known == 0 {
		return false, false, err
	}
	living, err := replicas.Living(ctx, d)
	if err == nil && len(living) > 0 {
		err = ErrInUse
	}
	return false, false, err
}

// putOnHold marks a restored database, after it was proven.
func putOnHold(ctx context.Context, d *db.DB, m Manifest) error {
	return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return hold.Put(ctx, tx, m.Archive, m.MadeAt)
	})
}

// proven opens a restored database, proves it and puts it on hold.
func (u unpacked) proven(ctx context.Context, c db.Config, ledger Ledger) (err error) {
	d, err := db.Open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := prove(ctx, d, u.Manifest, ledger); err != nil {
		return err
	}
	return putOnHold(ctx, d, u.Manifest)
}

func (u unpacked) intoFile(ctx context.Context, to Target, suffix string, key []byte, r *Restored) error {
	file := u.file(sqliteEntry)
	if err := u.proven(ctx, db.Config{Path: file, Clock: to.Clock, MaxConns: 4}, to.Ledger); err != nil {
		return err
	}
	// Before anything there changes: another disk, or a full one, fails here.
	ready := to.DatabaseFile + ".restoring"
	if err := moveOrCopy(file, ready); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	before := len(r.Kept)
	if err := exchangeFiles(to, ready, suffix, key, r); err != nil {
		if back := moveBack(r, before, suffix); back != nil {
			return fmt.Errorf("what was there is kept under other names: %w", errors.Join(err, back))
		}
		return errors.Join(fmt.Errorf("nothing was changed: %w", err), removeFile(ready))
	}
	return syncDir(filepath.Dir(to.DatabaseFile))
}

// exchangeFiles moves aside what is there, and gives the key and the ready database their names.
func exchangeFiles(to Target, ready, suffix string, key []byte, r *Restored) (err error) {
	// The write-ahead log goes with its database: beside another one it would destroy it.
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := moveAside(to.DatabaseFile+end, to.DatabaseFile+suffix+end, r); err != nil {
			return err
		}
	}
	if _, noKey := os.Lstat(to.KeyFile); errors.Is(noKey, fs.ErrNotExist) && to.GivenKey == nil {
		defer func() {
			if err != nil {
				err = errors.Join(err, removeFile(to.KeyFile))
			}
		}()
	}
	if err := placeKey(to, key, suffix, r); err != nil {
		return err
	}
	return os.Rename(ready, to.DatabaseFile)
}

// moveBack undoes what was moved aside since r had so many kept names.
func moveBack(r *Restored, since int, suffix string) error {
	for len(r.Kept) > since {
		last := r.Kept[len(r.Kept)-1]
		if err := os.Rename(last, strings.Replace(last, suffix, "", 1)); err != nil {
			return err
		}
		r.Kept = r.Kept[:len(r.Kept)-1]
	}
	return nil
}

// moveOrCopy gives a file another name, which may be on another disk.
func moveOrCopy(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if free := freeOn(filepath.Dir(to)); free < info.Size()+spare {
		return fmt.Errorf("%s has %d MiB free, and the database needs %d: free space there: %w",
			filepath.Dir(to), free>>20, (info.Size()+spare)>>20, syscall.ENOSPC)
	}
	if err := removeFile(to); err != nil { // what a killed restore has left
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return errors.Join(err, removeFile(to))
	}
	return nil
}

// removeFile removes a file that may not be there.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func placeKey(to Target, key []byte, suffix string, r *Restored) error {
	if to.GivenKey != nil {
		return nil
	}
	present, err := os.ReadFile(to.KeyFile)
	if err == nil && sameKeys(present, key) {
		return nil
	}
	if err := moveAside(to.KeyFile, to.KeyFile+suffix, r); err != nil {
		return err
	}
	return atomicfile.Create(to.KeyFile, key, 0o600)
}

func moveAside(from, to string, r *Restored) error {
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		r.Kept = append(r.Kept, to)
	}
	return err
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (u unpacked) intoPostgres(ctx context.Context, to Target, suffix string, key []byte, r *Restored) (err error) {
	if err := mayRestore(ctx, to.Address); err != nil {
		return err
	}
	release, err := onlyRestore(ctx, to.Address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	empty, _, err := emptyPostgres(ctx, to)
	if err != nil {
		return err
	}
	file := u.file(postgresEntry)
	if !empty && !to.Replace { // somebody else has restored while this archive was read
		return fmt.Errorf("the database: %w", ErrNotEmpty)
	}
	if empty {
		// No server starts on it until it is proven and on hold and has its key, whenever this process ends.
		if err := execute(ctx, to.Address, markUnfinished+dropRestored); err != nil {
			return fmt.Errorf("nothing was restored: %w", err)
		}
		err := load(ctx, to.Address, file)
		if err == nil {
			err = u.proven(ctx, db.Config{URL: to.Address, Clock: to.Clock, MaxConns: 4}, to.Ledger)
		}
		if err == nil {
			err = placeKey(to, key, suffix, r)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("nothing was restored: %w", err), execute(context.WithoutCancel(ctx), to.Address, dropRestored+markFinished))
		}
		return execute(ctx, to.Address, markFinished)
	}
	// Restored and proven beside it, then exchanged by names, for which nobody may be connected to it.
	if err := release(); err != nil {
		return err
	}
	made, drop, err := scratch(ctx, to.Address, "stead_restore_", file)
	if errors.Is(err, ErrMayNotCreate) {
		return fmt.Errorf("%w, or set STEAD_DATABASE_URL to an empty database", err)
	}
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if err := u.proven(ctx, db.Config{URL: made, Clock: to.Clock, MaxConns: 4}, to.Ledger); err != nil {
		return errors.Join(fmt.Errorf("nothing was changed: %w", err), drop())
	}
	kept, err := exchange(ctx, to.Address, made, suffix)
	if err != nil {
		return errors.Join(fmt.Errorf("nothing was changed: %w", err), drop())
	}
	r.Kept = append(r.Kept, "database "+kept)
	return placeKey(to, key, suffix, r)
}
