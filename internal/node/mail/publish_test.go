package mail

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// offline is a driver whose daemons do not run.
func offline(t *testing.T, dir string, here func(ref string) (accounts.Account, error)) *Driver {
	t.Helper()
	d, err := Open(Config{
		Dir: filepath.Join(dir, "m"), Store: filepath.Join(dir, "store"), Hostname: "mx.stead.test", SMTP: "127.0.0.1:25", Submit: "127.0.0.1:10587",
		Postmaster: "post@stead.test", Program: []string{"/bin/true"}, Accounts: here, Supervisor: noDaemons{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = d.prepare()
	}
	d.dovecot.gid, d.postfix.gid = d.ids.dovecotGID, d.ids.postfixGID
	if err = errors.Join(err, d.open(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

type noDaemons struct{ daemon.Supervisor }

// contents are all rows of a driver's databases.
func contents(t *testing.T, d *Driver) []string {
	t.Helper()
	var all []string
	for _, base := range []*database{d.dovecot, d.postfix} {
		for _, table := range append(base.schema.names(), ofAccounts) {
			rows, err := base.db.QueryContext(t.Context(), "SELECT * FROM "+table)
			must(t, err)
			defer rows.Close()
			names, err := rows.Columns()
			must(t, err)
			for rows.Next() {
				values := make([]string, len(names))
				into := make([]any, len(names))
				for i := range values {
					into[i] = &values[i]
				}
				must(t, rows.Scan(into...))
				all = append(all, fmt.Sprintf("%s %q", table, values))
			}
			must(t, rows.Err())
		}
	}
	slices.Sort(all)
	return all
}

// TestChangesWriteWhatAllRecordsSay: whatever the order of changes, the databases are those that would be made of all
// records at once; forwards lead through several accounts, and domains move between them.
func TestChangesWriteWhatAllRecordsSay(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 7))
	d := offline(t, t.TempDir(), nobody)
	k, err := newKey()
	must(t, err)
	const many = 6
	domain := func(n int) string { return fmt.Sprintf("d%d.example", n) }
	address := func() string {
		return fmt.Sprintf("%s@%s", []string{"info", "post", "postmaster", "away+x"}[random.IntN(4)], domain(random.IntN(many+1)))
	}
	for step := range 150 {
		var changed []string
		for range 1 + random.IntN(3) {
			n := random.IntN(many)
			name := fmt.Sprintf("a%d", n)
			changed = append(changed, name)
			if random.IntN(12) == 0 {
				_, err := d.store.Update(name, func(s *state) error { *s = state{Ref: s.Ref}; return nil })
				must(t, err)
				continue
			}
			_, err := d.store.Update(name, func(s *state) error {
				*s = state{
					Ref: name, UID: 61000 + n, GID: 61000 + n, Secret: "s", Domains: []string{domain(n)}, Suspended: random.IntN(8) == 0,
					Keys: map[string]key{domain(n): k}, Elsewhere: map[string]bool{domain(n): random.IntN(4) == 0},
				}
				if random.IntN(6) == 0 { // one of another's, too
					s.Domains = append(s.Domains, domain(random.IntN(many)))
				}
				for _, local := range []string{"info", "post", "postmaster"}[:random.IntN(4)] {
					m := box(local+"@"+s.Domains[random.IntN(len(s.Domains))], func(m *panel.Mailbox) {
						m.CatchAll, m.KeepCopy, m.Suspended = local == "info", random.IntN(2) == 0, random.IntN(8) == 0
						m.Autoresponder.Enabled = random.IntN(4) == 0
						for range random.IntN(3) {
							m.ForwardTo = append(m.ForwardTo, address())
						}
					})
					s.Boxes = append(s.Boxes, m)
				}
				return nil
			})
			must(t, err)
		}
		must(t, d.publishRows(t.Context(), changed...))
		if step%10 != 9 {
			continue
		}
		got := contents(t, d)
		must(t, d.writeAll(t.Context()))
		if want := contents(t, d); !slices.Equal(got, want) {
			t.Fatalf("step %d: too much %q\nmissing %q", step, difference(got, want), difference(want, got))
		}
	}
}

func nobody(string) (accounts.Account, error) { return accounts.Account{}, panel.ErrNotFound }

func difference(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
}

// TestDatabasesAreMadeAnew: whatever became of them while no agent ran, the next one makes them of the records.
func TestDatabasesAreMadeAnew(t *testing.T) {
	dir := t.TempDir()
	d := offline(t, dir, nobody)
	_, err := d.store.Update("alice", func(s *state) error {
		*s = state{Ref: "1", UID: 61001, GID: 61001, Secret: "s", Domains: []string{"alice.example"}, Boxes: []panel.Mailbox{box("info@alice.example")}}
		return nil
	})
	must(t, err)
	must(t, d.publishRows(t.Context(), "alice"))
	want := contents(t, d)
	must(t, d.Close())
	change := func(statement string) func(file string) error {
		return func(file string) error {
			db, err := sql.Open("sqlite", file)
			if err == nil {
				_, err = db.Exec(statement)
			}
			return errors.Join(err, db.Close())
		}
	}
	for name, damage := range map[string]func(file string) error{
		"nothing":            func(string) error { return nil },
		"missing":            os.Remove,
		"empty":              func(file string) error { return os.Truncate(file, 0) },
		"cut short":          func(file string) error { return os.Truncate(file, 5000) },
		"no database":        func(file string) error { return os.WriteFile(file, []byte("what is this"), 0o600) },
		"zeros in it":        func(file string) error { return overwrite(file, 4096, make([]byte, 8192)) },
		"of another start":   change("UPDATE made_with SET boot = 'before'"),
		"of another program": change("UPDATE made_with SET schema = 'other'"),
		"an account of none": change("INSERT INTO accounts VALUES ('gone', randomblob(32))"),
		"an account missing": change("DELETE FROM accounts"),
		"another's journal": func(file string) error {
			return errors.Join(os.Remove(file), os.WriteFile(file+"-journal", []byte("x"), 0o600))
		},
	} {
		for _, file := range []string{d.cfg.dovecotDatabase(), d.cfg.postfixDatabase()} {
			before, err := stampOf(file)
			must(t, err)
			must(t, damage(file))
			again := offline(t, dir, nobody)
			if got := contents(t, again); !slices.Equal(got, want) {
				t.Errorf("%s, %s: too much %q\nmissing %q", name, filepath.Base(file), difference(got, want), difference(want, got))
			}
			info, err := os.Stat(file)
			must(t, err)
			if info.Mode().Perm() != 0o640 {
				t.Errorf("%s: mode %v", name, info.Mode())
			}
			if after, err := stampOf(file); name == "nothing" && (err != nil || after != before) {
				t.Errorf("it was written: %+v, before %+v, %v", after, before, err)
			}
			must(t, again.Close())
		}
	}
}

func overwrite(file string, at int64, with []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(with, at)
	return errors.Join(err, f.Close())
}

// TestChangesAtOnceAreOnePass: who comes while a pass is at work shares the next one.
func TestChangesAtOnceAreOnePass(t *testing.T) {
	d := offline(t, t.TempDir(), nobody)
	d.writing.Lock()
	var all sync.WaitGroup
	failed := make(chan error, 20)
	for n := range 20 {
		name := fmt.Sprintf("a%d", n)
		_, err := d.store.Update(name, func(s *state) error {
			*s = state{Ref: name, UID: 61001 + n, GID: 61001, Secret: "s", Domains: []string{name + ".example"}}
			return nil
		})
		must(t, err)
		all.Go(func() { failed <- d.publishRows(t.Context(), name) })
	}
	for waiting := 0; waiting < 20; {
		d.mu.Lock()
		if d.next != nil {
			waiting = len(d.next.accounts)
		}
		d.mu.Unlock()
	}
	d.writing.Unlock()
	all.Wait()
	close(failed)
	for err := range failed {
		must(t, err)
	}
	if got := len(slices.Collect(maps.Keys(d.dovecot.digests))); got != 20 {
		t.Errorf("%d accounts", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.writing.Lock()
	d.mu.Lock()
	d.next = &pass{done: make(chan struct{})}
	d.mu.Unlock()
	if err := d.publishRows(ctx, "a1"); !errors.Is(err, context.Canceled) {
		t.Errorf("who gives up waits: %v", err)
	}
	d.next = nil
	d.writing.Unlock()
}

// TestMailWaitsWhileADatabaseIsLocked: nobody is refused because a change is being written.
func TestMailWaitsWhileADatabaseIsLocked(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example"))
	must(t, w.comes("someone@outside.test", "info@alice.example", "before"))
	w.has("info@alice.example", "before")
	lock := func(base *database) (unlock func()) {
		t.Helper()
		db, err := connect(base.path)
		must(t, err)
		locked, err := db.Conn(t.Context())
		must(t, err)
		_, err = locked.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
		must(t, err)
		return func() {
			_, err := locked.ExecContext(t.Context(), "ROLLBACK")
			must(t, errors.Join(err, locked.Close(), db.Close()))
		}
	}
	unlock := lock(w.postfix)
	came := make(chan error, 1)
	go func() { came <- w.comes("someone@outside.test", "info@alice.example", "meanwhile") }()
	testkit.Eventually(t, time.Minute, func() bool {
		log, err := os.ReadFile(w.cfg.logFile("postfix"))
		return err == nil && strings.Contains(string(log), "database is locked")
	}, "Postfix finds the database locked")
	unlock()
	must(t, <-came)
	w.has("info@alice.example", "before", "meanwhile")

	unlock = lock(w.dovecot)
	if _, err := w.login("info@alice.example", password); err == nil || !strings.Contains(err.Error(), "UNAVAILABLE") {
		t.Errorf("who signs in is told %v", err)
	}
	unlock()
	w.has("info@alice.example", "before", "meanwhile")
}

// TestWhatAFormerProgramWroteGoes: text tables, and keys by domain.
func TestWhatAFormerProgramWroteGoes(t *testing.T) {
	w := newWorld(t)
	w.set(alice, box("info@alice.example", func(m *panel.Mailbox) { m.Autoresponder = panel.Autoresponder{Enabled: true, Body: "away"} }))
	must(t, w.Close())
	must(t, w.sup.Close())
	var old []string
	for _, name := range []string{"passwd.imap", "aliases", "aliases.db", "limits"} {
		old = append(old, w.cfg.table(name))
	}
	old = append(old, filepath.Join(w.cfg.Dir, "dkim", "keys", "alice.example"), filepath.Join(w.replies(), "gone@alice.example"+script), filepath.Join(w.submits(), "61999"))
	for _, file := range old {
		must(t, os.WriteFile(file, []byte("x"), 0o600))
	}
	must(t, errors.Join(os.Remove(w.cfg.dovecotDatabase()), os.Remove(w.cfg.postfixDatabase())))
	w.reopen()
	for _, file := range old {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", file, err)
		}
	}
	must(t, w.comes("writer@outside.test", "info@alice.example", "hello"))
	w.has("info@alice.example", "hello")
	w.gets("writer@outside.test", 1)
	reply := filepath.Join(w.replies(), "info@alice.example"+compiled)
	if _, err := os.Stat(reply); err != nil {
		t.Error(err)
	}
	w.set(alice, box("info@alice.example"))
	if _, err := os.Stat(reply); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the reply that was switched off is there: %v", err)
	}
}
