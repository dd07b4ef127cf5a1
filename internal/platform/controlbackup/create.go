package controlbackup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/schema"
	"stead.dev/stead/internal/platform/secret"
)

// Source is the installation that is backed up.
type Source struct {
	DB *db.DB
	// Address is that of the database where it is PostgreSQL.
	Address string
	// Key is the content of the key file, Settings that of a configuration file with all settings that are not defaults.
	Key, Settings []byte
	Version       string
	Clock         clock.Clock
	Ledger        Ledger
	// Dir is where the copies are made before they are encrypted: on the disk of the database, which is as protected.
	Dir string
}

// Result is a backup that was made.
type Result struct {
	Archive string        `json:"archive"`
	Size    int64         `json:"size"`
	Took    time.Duration `json:"took_ns"`
	Proven  bool          `json:"proven"`
	// Unproven says why it was due to be proven and is not.
	Unproven string   `json:"unproven,omitempty"`
	Removed  []string `json:"removed"`
}

// provenEvery is how long a proof lasts.
const provenEvery = 24 * time.Hour

// Create makes a backup, reads it back, and removes those that are not kept any longer.
func Create(ctx context.Context, from Source, place Place, keys Keys) (r Result, err error) {
	began := from.Clock.Now()
	to, back, err := keys.recipients()
	if err != nil {
		return r, err
	}
	s, err := openStore(place)
	if err != nil {
		return r, err
	}
	// Before anything is copied: a store that cannot be listed takes no backup either.
	before, _, err := contents(ctx, s)
	if err != nil {
		return r, fmt.Errorf("the store of backups cannot be read: %w", err)
	}
	key, err := secret.Fingerprint(from.Key)
	if err != nil {
		return r, err
	}
	dir, remove, err := staging(from.Dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, remove()) }()

	m := Manifest{Format: Format, Archive: newName(began), MadeAt: began.UTC().Truncate(time.Second), Version: from.Version, Engine: from.DB.Engine(), Key: key}
	if err := collect(ctx, from, dir, &m); err != nil {
		return r, err
	}
	archive := filepath.Join(dir, m.Archive+archiveSuffix)
	c, err := seal(archive, m, dir, to)
	if err != nil {
		return r, fmt.Errorf("write the archive: %w", err)
	}
	// What is not encrypted lies about no longer than it must.
	for _, e := range m.Entries {
		if err := os.Remove(filepath.Join(dir, filepath.Base(e.Name))); err != nil {
			return r, err
		}
	}
	if err := upload(ctx, s, archive, c); err != nil {
		return r, fmt.Errorf("the backup could not be stored; the older ones are as they were: %w", err)
	}
	due := provenDue(before, key, began)
	extracted := ""
	if due {
		extracted = filepath.Join(dir, "back")
		if err := os.Mkdir(extracted, 0o700); err != nil {
			return r, err
		}
	}
	if err := readBack(ctx, s, c, back, extracted); err != nil {
		return r, errors.Join(fmt.Errorf("the backup cannot be read back: %w", err), s.remove(context.WithoutCancel(ctx), c.Archive+archiveSuffix))
	}
	var trial error
	if due {
		trial = tryOut(ctx, m, extracted, from.Address, from.Ledger)
		c.Proven = trial == nil
	}
	if err := putSidecar(ctx, s, dir, c); err != nil {
		return r, fmt.Errorf("the backup could not be stored: %w", err)
	}
	if err := recordGood(ctx, from.DB, c); err != nil {
		return r, err
	}
	r = Result{Archive: c.Archive, Size: c.Size, Proven: c.Proven, Removed: []string{}}
	if trial != nil {
		r.Unproven = trial.Error()
	}
	if r.Removed, err = removeOld(ctx, s, key, began); err != nil {
		return r, fmt.Errorf("the backup %s is good, but old ones could not be removed: %w", c.Archive, err)
	}
	r.Took = from.Clock.Now().Sub(began)
	return r, nil
}

// provenDue reports whether the last proof of this installation is a day old.
func provenDue(all []Sidecar, key string, now time.Time) bool {
	for _, b := range all {
		if b.Key == key && b.Proven && now.Sub(b.MadeAt) < provenEvery {
			return false
		}
	}
	return true
}

// staging makes a folder of its own below dir, and removes what a killed run has left there.
func staging(dir string) (_ string, remove func() error, err error) {
	const pattern = "control-backup-*"
	left, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return "", nil, err
	}
	for _, old := range left {
		// One that is in use is locked.
		if release, err := atomicfile.LockDir(old); err == nil {
			err = errors.Join(os.RemoveAll(old), release())
			if err != nil {
				return "", nil, fmt.Errorf("remove what an interrupted backup has left: %w", err)
			}
		}
	}
	const tries = 10
	for try := 1; ; try++ {
		made, err := os.MkdirTemp(dir, pattern)
		if err != nil {
			return "", nil, fmt.Errorf("make room for copies: %w", err)
		}
		release, err := atomicfile.LockDir(made)
		if err == nil {
			if _, err = os.Stat(made); err == nil {
				return made, func() error { return errors.Join(os.RemoveAll(made), release()) }, nil
			}
			err = errors.Join(err, release())
		}
		// Another backup that begins now took the folder for one that was left, before it was locked.
		if try == tries {
			return "", nil, errors.Join(fmt.Errorf("make room for copies: %w", err), os.RemoveAll(made))
		}
	}
}

// spare is the space that is left on the disk for the running server.
const spare = 256 << 20

// roomFor refuses to fill the disk of a folder.
func roomFor(dir string, bytes int64) error {
	if free := freeOn(dir); free < bytes+spare {
		return fmt.Errorf("%s has %d MiB free, and this needs %d: free space there, or name another folder with --staging: %w",
			dir, free>>20, (bytes+spare)>>20, syscall.ENOSPC)
	}
	return nil
}

// freeOn is how many bytes are free on the disk of a folder. What cannot be measured is tried.
func freeOn(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return math.MaxInt64
	}
	return int64(s.Bavail) * s.Bsize //nolint:gosec // no disk has 2^63 bytes
}

// sizeOf is about how large a copy of the database is.
func sizeOf(ctx context.Context, d *db.DB) (n int64, err error) {
	query := `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`
	if d.Shared() {
		query = `SELECT pg_database_size(current_database())`
	}
	err = d.QueryRow(ctx, query).Scan(&n)
	return n, err
}

// collect copies what is backed up into dir, and describes it in m.
func collect(ctx context.Context, from Source, dir string, m *Manifest) error {
	size, err := sizeOf(ctx, from.DB)
	if err != nil {
		return err
	}
	if err := roomFor(dir, 2*size); err != nil { // the copy, and the archive of it
		return err
	}
	all, err := schema.Status(ctx, from.DB)
	if err != nil {
		return err
	}
	for _, one := range all {
		if !one.Applied {
			return errors.New("the database is of an older version than this program: run stead migrate, or stead backup of the server's version")
		}
		m.Schema = max(m.Schema, one.Version)
	}
	entry, f, err := dump(ctx, from.DB, from.Address, dir)
	if err != nil {
		return err
	}
	m.Rows, m.LedgerCents = f.rows, f.ledgerCents
	for _, file := range []struct {
		name    string
		content []byte
	}{{keyEntry, from.Key}, {settingsEntry, from.Settings}} {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file.name)), file.content, 0o600); err != nil {
			return err
		}
	}
	for _, name := range []string{entry, keyEntry, settingsEntry} {
		e, err := describe(name, filepath.Join(dir, filepath.Base(name)))
		if err != nil {
			return err
		}
		m.Entries = append(m.Entries, e)
	}
	return nil
}

// seal writes an archive to a file, and describes it.
func seal(file string, m Manifest, dir string, to []age.Recipient) (Sidecar, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Sidecar{}, err
	}
	h := sha256.New()
	err = write(io.MultiWriter(f, h), m, dir, to)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return Sidecar{}, err
	}
	return Sidecar{
		Format: Format, Archive: m.Archive, MadeAt: m.MadeAt, Version: m.Version, Schema: m.Schema, Engine: m.Engine, Key: m.Key,
		Size: info.Size(), SHA256: hex.EncodeToString(h.Sum(nil)),
	}, nil
}

func upload(ctx context.Context, s store, file string, c Sidecar) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.put(ctx, c.Archive+archiveSuffix, f, c.Size)
}

func putSidecar(ctx context.Context, s store, dir string, c Sidecar) error {
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, c.Archive+sidecarSuffix)
	if err := os.WriteFile(file, append(content, '\n'), 0o600); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.put(ctx, c.Archive+sidecarSuffix, f, int64(len(content)+1))
}

// readBack reads an archive from the store to its end, and compares it with what was written.
func readBack(ctx context.Context, s store, c Sidecar, with []age.Identity, dir string) error {
	_, err := fetch(ctx, s, c, with, dir, nil)
	return err
}

// fetch reads an archive from a store, and verifies it by its sidecar and by its own hashes.
func fetch(ctx context.Context, s store, c Sidecar, with []age.Identity, dir string, room func(Manifest) error) (Manifest, error) {
	r, err := s.get(ctx, c.Archive+archiveSuffix)
	if err != nil {
		return Manifest{}, err
	}
	defer r.Close()
	h := sha256.New()
	m, err := read(io.TeeReader(r, h), with, dir, room)
	if err != nil {
		return m, err
	}
	if n, err := io.Copy(h, r); err != nil || n > 0 {
		return m, errors.Join(ErrCut, err)
	}
	if got := h.Sum(nil); hex.EncodeToString(got) != c.SHA256 {
		return m, fmt.Errorf("%w (its hash is not that of its sidecar)", ErrCut)
	}
	if m.Archive != c.Archive || m.Key != c.Key || !bytes.Equal([]byte(m.Engine), []byte(c.Engine)) {
		return m, fmt.Errorf("%w (its sidecar describes another archive)", ErrCut)
	}
	return m, nil
}

// tryOut restores what was extracted into a scratch database.
func tryOut(ctx context.Context, m Manifest, dir, address string, ledger Ledger) (err error) {
	config := db.Config{Path: filepath.Join(dir, filepath.Base(sqliteEntry)), Clock: clock.System(0), MaxConns: 4}
	if m.Engine == "postgres" {
		scratchAddress, drop, err := scratch(ctx, address, "stead_trial_", filepath.Join(dir, filepath.Base(postgresEntry)))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, drop()) }()
		config.URL = scratchAddress
	}
	d, err := db.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return prove(ctx, d, m, ledger)
}

// abandonedAfter is how old an archive without a sidecar is when nobody writes it any longer.
const abandonedAfter = 24 * time.Hour

// removeOld removes the backups of this installation that are not kept any longer, and what interrupted runs have left.
func removeOld(ctx context.Context, s store, key string, now time.Time) ([]string, error) {
	removed := []string{}
	all, unfinished, err := contents(ctx, s)
	if err != nil {
		return removed, err
	}
	var own []Sidecar
	for _, b := range all {
		if b.Key == key {
			own = append(own, b)
		}
	}
	for _, b := range expired(own) {
		// The sidecar first: what is half removed is no backup.
		for _, suffix := range []string{sidecarSuffix, archiveSuffix} {
			if err := s.remove(ctx, b.Archive+suffix); err != nil {
				return removed, err
			}
		}
		removed = append(removed, b.Archive)
	}
	for _, name := range unfinished {
		if at := madeAt(name); !at.IsZero() && now.Sub(at) > abandonedAfter {
			if err := s.remove(ctx, name+archiveSuffix); err != nil {
				return removed, err
			}
			removed = append(removed, name)
		}
	}
	return removed, nil
}
