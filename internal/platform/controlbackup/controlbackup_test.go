package controlbackup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/hold"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/testkit"
)

// anArchive writes an archive of three small files, for a key that is returned.
func anArchive(t *testing.T) (content []byte, m Manifest, with []age.Identity) {
	t.Helper()
	dir := t.TempDir()
	m = Manifest{Format: Format, Archive: "stead-20261126T100000Z-0a1b", MadeAt: time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC), Version: "v1", Engine: "sqlite"}
	for name, text := range map[string]string{sqliteEntry: strings.Repeat("rows ", 40_000), keyEntry: "the key", settingsEntry: "listen: here"} {
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := describe(name, file)
		if err != nil {
			t.Fatal(err)
		}
		m.Entries = append(m.Entries, e)
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := write(&out, m, dir, []age.Recipient{key.Recipient()}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), m, []age.Identity{key}
}

func TestAnArchiveIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	content, want, with := anArchive(t)
	dir := t.TempDir()
	got, err := read(bytes.NewReader(content), with, dir, nil)
	if err != nil || got.Archive != want.Archive || !got.MadeAt.Equal(want.MadeAt) || !slices.Equal(got.Entries, want.Entries) {
		t.Fatalf("read %+v, %v", got, err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "secret.key"))
	if err != nil || string(key) != "the key" {
		t.Errorf("the key is %q, %v", key, err)
	}
	if bytes.Contains(content, []byte("the key")) {
		t.Error("the archive is not encrypted")
	}
}

func TestADamagedArchiveIsRefusedWhereverItIsDamaged(t *testing.T) {
	t.Parallel()
	content, _, with := anArchive(t)
	for at := 0; at < len(content); at += max(1, len(content)/60) {
		if _, err := read(bytes.NewReader(content[:at]), with, "", nil); !errors.Is(err, ErrCut) {
			t.Fatalf("cut at %d of %d: %v", at, len(content), err)
		}
		flipped := bytes.Clone(content)
		flipped[at] ^= 1
		if _, err := read(bytes.NewReader(flipped), with, "", nil); err == nil {
			t.Fatalf("changed at %d of %d: no error", at, len(content))
		}
	}
	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(bytes.NewReader(content), []age.Identity{stranger}, "", nil); !errors.Is(err, ErrPassphrase) {
		t.Errorf("with another key: %v", err)
	}
}

// TestAnArchiveHoldsWhatItsManifestSays and nothing else, however it was made: whoever may write into the store cannot make
// one, but a recipient's public key is known to many.
func TestAnArchiveHoldsWhatItsManifestSays(t *testing.T) {
	t.Parallel()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, e := range map[string]Entry{
		"a path":       {Name: "../stead.db", Size: 3},
		"another file": {Name: "database/authorized_keys", Size: 3},
		"a wrong hash": {Name: keyEntry, Size: 3, SHA256: strings.Repeat("0", 64)},
	} {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(e.Name)), []byte("abc"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := write(&out, Manifest{Format: Format, Entries: []Entry{e}}, dir, []age.Recipient{key.Recipient()}); err != nil {
			t.Fatal(err)
		}
		into := t.TempDir()
		if _, err := read(&out, []age.Identity{key}, into, nil); !errors.Is(err, ErrCut) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(into), "stead.db")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something is outside of the folder: %v", name, err)
		}
	}
	var newer bytes.Buffer
	if err := write(&newer, Manifest{Format: Format + 1, Version: "v9.1"}, dir, []age.Recipient{key.Recipient()}); err != nil {
		t.Fatal(err)
	}
	if _, err := read(&newer, []age.Identity{key}, "", nil); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "v9.1") {
		t.Errorf("of a newer format: %v", err)
	}
}

func TestADiskWithoutRoomIsNoDamagedArchive(t *testing.T) {
	t.Parallel()
	content, _, with := anArchive(t)
	full := errors.New("no room")
	if _, err := read(bytes.NewReader(content), with, "", func(Manifest) error { return full }); !errors.Is(err, full) || errors.Is(err, ErrCut) {
		t.Errorf("it says %v", err)
	}
	if _, err := read(bytes.NewReader(content), with, "/dev/null", nil); err == nil || errors.Is(err, ErrCut) {
		t.Errorf("a folder that cannot be written: %v", err)
	}
}

func TestHoursDaysAndWeeksAreKept(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 10, 30, 0, 0, time.UTC)
	var all []Sidecar
	for h := range 24 * 100 { // hourly for a hundred days
		all = append(all, Sidecar{Archive: fmt.Sprint(h), MadeAt: now.Add(-time.Duration(h) * time.Hour), Proven: h == 24*90})
	}
	gone := expired(all)
	kept := map[string]bool{}
	for _, b := range all {
		kept[b.Archive] = !slices.Contains(gone, b)
	}
	n := 0
	for _, k := range kept {
		if k {
			n++
		}
	}
	if n < 24+12+6 || n > 24+14+8+1 {
		t.Errorf("%d are kept", n)
	}
	for h := range 24 {
		if !kept[fmt.Sprint(h)] {
			t.Errorf("that of %d hours ago is not kept", h)
		}
	}
	if !kept[fmt.Sprint(24*90)] {
		t.Error("the last proven one is not kept")
	}
	if len(expired(nil)) != 0 || len(expired(all[:1])) != 0 {
		t.Error("the only one is not kept")
	}
}

// stores runs f for a folder and for S3.
func stores(t *testing.T, f func(t *testing.T, p Place, s3 *testkit.S3)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) { f(t, Place{To: filepath.Join(t.TempDir(), "backups")}, nil) })
	t.Run("s3", func(t *testing.T) {
		s3 := testkit.NewS3(t)
		f(t, Place{To: "s3:" + s3.URL + "/a/prefix", S3File: testkit.S3CredentialsFile(t), S3Region: "us-east-1"}, s3)
	})
}

func TestAStoreKeepsFiles(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, p Place, s3 *testkit.S3) {
		s, err := openStore(p)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := s.list(t.Context()); err != nil || len(names) != 0 {
			t.Fatalf("at first: %v, %v", names, err)
		}
		put := func(text string) error {
			file := filepath.Join(t.TempDir(), "content")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			return s.put(t.Context(), "one.sbk", f, int64(len(text)))
		}
		if err := put("content"); err != nil {
			t.Fatal(err)
		}
		r, err := s.get(t.Context(), "one.sbk")
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || string(content) != "content" {
			t.Errorf("it holds %q, %v", content, err)
		}
		_ = r.Close()
		if names, err := s.list(t.Context()); err != nil || !slices.Equal(names, []string{"one.sbk"}) {
			t.Errorf("it lists %v, %v", names, err)
		}
		if _, err := s.get(t.Context(), "other.sbk"); !errors.Is(err, errNoFile) {
			t.Errorf("what it does not have: %v", err)
		}
		if s3 != nil {
			s3.SetFull(true)
			if err := put("more"); err == nil || !strings.Contains(err.Error(), "no room") {
				t.Errorf("without room: %v", err)
			}
		}
		for range 2 {
			if err := s.remove(t.Context(), "one.sbk"); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestKeysAreDemanded(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]Keys{
		"none": {}, "a short passphrase": {Passphrase: "short"}, "no key": {Recipients: []string{"age1nothing"}},
		"both": {Passphrase: "long enough it is", Recipients: []string{"age1nothing"}},
	} {
		if _, _, err := k.recipients(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := (Keys{}).recipients(); !errors.Is(err, ErrNoKeys) {
		t.Errorf("none: %v", err)
	}
	if _, err := (Keys{Recipients: []string{"age1nothing"}}).identities(); err == nil {
		t.Error("a public key opens archives")
	}
}

func TestWhatAKilledRunLeftIsRemovedAndWhatRunsIsNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := filepath.Join(dir, "control-backup-left")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	running, remove, err := staging(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, removeOther, err := staging(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left: %v", err)
	}
	if _, err := os.Stat(running); err != nil {
		t.Errorf("what runs: %v", err)
	}
	if err := errors.Join(remove(), removeOther()); err != nil {
		t.Error(err)
	}
}

// TestARestoreThatEndsHalfWayLeavesNoInstallation: no server starts on it, and another attempt begins anew. The user of the
// database may be unable to make a second one.
func TestARestoreThatEndsHalfWayLeavesNoInstallation(t *testing.T) {
	t.Parallel()
	ctx, clk := t.Context(), clock.System(0)
	from, into := testkit.PostgresURL(t), testkit.PostgresURL(t)
	if err := execute(ctx, into, `DROP SCHEMA public CASCADE; CREATE SCHEMA public`); err != nil {
		t.Fatal(err)
	}
	open := func(address string) *db.DB {
		t.Helper()
		d, err := db.Open(ctx, db.Config{URL: address, Clock: clk, MaxConns: 2})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	proven := func(context.Context, *db.DB) error { return nil }
	place, keys := Place{To: filepath.Join(t.TempDir(), "backups")}, Keys{Passphrase: "seven-quiet-otters-swim"}
	keyFile := filepath.Join(t.TempDir(), "secret.key")
	if _, err := secret.OpenKeyFile(keyFile); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	source := open(from)
	_, err = Create(ctx, Source{
		DB: source, Address: from, Key: key, Settings: []byte("listen: here"), Version: "v1", Clock: clk, Ledger: proven, Dir: t.TempDir(),
	}, place, keys)
	if err = errors.Join(err, source.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	restore := func(ledger Ledger) error {
		_, err := Restore(ctx, place, keys, "", Target{
			Address: into, KeyFile: filepath.Join(dir, "secret.key"), SettingsFile: filepath.Join(dir, "restored.yaml"), Clock: clk, Ledger: ledger, Dir: t.TempDir(),
		})
		return err
	}
	cent := errors.New("a cent is missing")
	if err := restore(func(context.Context, *db.DB) error { return cent }); !errors.Is(err, cent) || !strings.Contains(err.Error(), "nothing was restored") {
		t.Errorf("one that does not prove itself: %v", err)
	}
	if empty, again, err := emptyPostgres(ctx, Target{Address: into, Clock: clk}); !empty || again || err != nil {
		t.Errorf("after it the database is empty: %v, unfinished: %v, %v", empty, again, err)
	}
	var killed sync.WaitGroup
	killed.Go(func() {
		_ = restore(func(context.Context, *db.DB) error {
			runtime.Goexit()
			return nil
		})
	})
	killed.Wait()
	d := open(into)
	defer func() { _ = d.Close() }()
	if _, held, err := hold.Look(ctx, d); held || err != nil {
		t.Errorf("it was killed before the hold: %v, %v", held, err)
	}
	if err := CheckFinished(ctx, d); !errors.Is(err, ErrUnfinished) {
		t.Errorf("a server may start on it: %v", err)
	}
	if err := restore(proven); err != nil {
		t.Fatal(err)
	}
	if h, held, err := hold.Look(ctx, d); !held || h.Archive == "" || err != nil {
		t.Errorf("on hold: %v, %v", held, err)
	}
	if err := CheckFinished(ctx, d); err != nil {
		t.Error(err)
	}
	if err := restore(proven); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("into what is restored: %v", err)
	}
}

// TestClientsThatCannotBackUpOrRestoreAreRefused: an older one does not know what to dump, and those from 17 on restore by a setting
// that servers before it refuse.
func TestClientsThatCannotBackUpOrRestoreAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client, server int
		good           bool
	}{
		{15, 15, true}, {16, 15, true}, {14, 15, false}, {17, 16, false}, {18, 15, false}, {16, 17, false}, {17, 17, true}, {18, 17, true},
	} {
		err := suits("pg_restore", c.client, c.server)
		if (err == nil) != c.good {
			t.Errorf("version %d for a server of version %d: %v", c.client, c.server, err)
		}
		if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("postgresql-client-%d", c.server)) {
			t.Errorf("the package is not named: %v", err)
		}
	}
}

// TestARestoreOfAFileReplacesAllOrNothing: the database with its key, also from staging on another disk.
func TestARestoreOfAFileReplacesAllOrNothing(t *testing.T) {
	t.Parallel()
	ctx, clk := t.Context(), clock.System(0)
	proven := func(context.Context, *db.DB) error { return nil }
	place, keys := Place{To: filepath.Join(t.TempDir(), "backups")}, Keys{Passphrase: "seven-quiet-otters-swim"}
	keyFile := filepath.Join(t.TempDir(), "secret.key")
	if _, err := secret.OpenKeyFile(keyFile); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Create(ctx, Source{
		DB: testkit.SQLite(t, clk), Key: key, Settings: []byte("listen: here"), Version: "v1", Clock: clk, Ledger: proven, Dir: t.TempDir(),
	}, place, keys)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := os.MkdirTemp("/dev/shm", "stead-staging-") // where there is memory, it is another disk
	if err != nil {
		elsewhere = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(elsewhere) })
	was := map[string]string{"stead.db": "the old database", "stead.db-wal": "its log", "secret.key": "the old key"}
	for name, staging := range map[string]string{"one disk": "", "two disks": elsewhere} {
		t.Run(name, func(t *testing.T) {
			dir, noKeys := t.TempDir(), filepath.Join(t.TempDir(), "missing")
			if staging == "" {
				staging = dir
			}
			for name, content := range was {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			to := Target{
				DatabaseFile: filepath.Join(dir, "stead.db"), KeyFile: filepath.Join(noKeys, "secret.key"), SettingsFile: filepath.Join(dir, "restored.yaml"),
				Clock: clk, Ledger: proven, Dir: staging, Replace: true,
			}
			if r, err := Restore(ctx, place, keys, "", to); err == nil || len(r.Kept) > 0 || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("where the key cannot be written: %+v, %v", r, err)
			}
			if got := contentsOf(t, dir); !maps.Equal(got, was) {
				t.Errorf("after it there is %q", got)
			}
			to.KeyFile = filepath.Join(dir, "secret.key")
			r, err := Restore(ctx, place, keys, "", to)
			if err != nil || len(r.Kept) != len(was) {
				t.Fatalf("restored: %+v, %v", r, err)
			}
			got := contentsOf(t, dir)
			if got["secret.key"] != string(key) || !strings.HasPrefix(got["stead.db"], "SQLite format 3") || len(got) != len(was)+len(r.Kept) {
				t.Errorf("there are %d files, the key is the old one: %v", len(got), got["secret.key"] != string(key))
			}
			for _, kept := range r.Kept {
				if content := got[filepath.Base(kept)]; !slices.Contains(slices.Collect(maps.Values(was)), content) {
					t.Errorf("%s holds %q", kept, content)
				}
			}
		})
	}
}

func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(content)
	}
	return all
}
