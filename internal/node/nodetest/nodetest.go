// Package nodetest is a hosting machine for tests: directories that accounts can traverse, real Linux users, real
// daemons on free ports, all removed at the end. It needs root.
package nodetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/accounts/userdb"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/limits"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/port/panel"
)

// Web is the group of the web server's workers in tests.
const Web = "www-data"

// base holds the directories of tests. Not below /tmp: root must own everything above an account's jail, and nobody
// else may write to it, as on a real machine.
const base = "/var/lib/stead-test"

// Users of tests have numbers from firstUID on. Each test process takes a slot of them, and each machine a part of the
// slot, so that concurrent tests do not collide.
const (
	firstUID    = 70000
	slotSize    = 10000
	machineSize = 200
	slots       = 40
)

var process struct {
	sync.Mutex
	slot     int
	lock     *os.File // held until the process ends, however it ends
	used     int      // numbers of the slot
	machines int
}

// Users takes a part of the process's slot: a prefix of names, and numbers from least to most.
func Users(t testing.TB) (prefix string, least, most int) {
	t.Helper()
	return users(t, machineSize)
}

// UsersSized are Users for a machine of that many accounts.
func UsersSized(t testing.TB, size int) (prefix string, least, most int) {
	t.Helper()
	return users(t, size)
}

func users(t testing.TB, size int) (prefix string, least, most int) {
	t.Helper()
	must(t, os.MkdirAll(base, 0o711))
	process.Lock()
	defer process.Unlock()
	if process.lock == nil {
		for process.slot = range slots {
			f, err := os.OpenFile(filepath.Join(base, fmt.Sprintf("slot-%d", process.slot)), os.O_CREATE|os.O_RDWR, 0o600)
			must(t, err)
			if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				process.lock = f
				break
			}
			must(t, f.Close())
		}
		if process.lock == nil {
			t.Fatal("nodetest: all slots are taken")
		}
		// The rest of a dead process.
		db := userdb.Open("/etc")
		first := firstUID + process.slot*slotSize
		left, err := db.Users(first, first+slotSize-1)
		must(t, err)
		groups, err := os.ReadFile("/etc/group")
		must(t, err)
		for line := range strings.Lines(string(groups)) { // a crash may leave a group without its user
			fields := strings.Split(line, ":")
			if id, err := strconv.Atoi(fields[min(2, len(fields)-1)]); err == nil && len(fields) == 4 && first <= id && id < first+slotSize {
				left = append(left, userdb.User{Name: fields[0], ID: id})
			}
		}
		for _, u := range left {
			all, err := accounts.Processes(u.ID)
			must(t, err)
			for _, pid := range all {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Fatal(err)
				}
			}
			must(t, db.Remove(context.Background(), u.Name, u.ID))
		}
	}
	if process.used+size > slotSize {
		process.used = 0 // the first tests have long ended
	}
	least = firstUID + process.slot*slotSize + process.used
	process.used += size
	process.machines++
	return fmt.Sprintf("t%dm%dx", process.slot, process.machines), least, least + size - 1
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Dir is a directory that the users of accounts can traverse and not list. It is short, as the paths of sockets must
// be, and removed at the end of the test.
func Dir(t testing.TB) string {
	t.Helper()
	must(t, os.MkdirAll(base, 0o711))
	dir := filepath.Join(base, strings.ToLower(rand.Text()[:8]))
	must(t, os.Mkdir(dir, 0o711))
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Log logs to the test's own log.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// Supervisor supervises daemons, and ends them at the end of the test.
func Supervisor(t testing.TB, dir string) daemon.Supervisor {
	t.Helper()
	s, err := daemon.NewProcesses(daemon.Config{Dir: filepath.Join(dir, "daemons"), Now: clock.System(0).Now, Log: Log(t)})
	must(t, err)
	t.Cleanup(func() {
		for _, name := range daemon.Running(filepath.Join(dir, "daemons")) {
			if err := s.Stop(context.Background(), name); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Machine is a machine with real users and no facilities, for the test of one facility.
type Machine struct {
	Dir        string
	Store      *accounts.Store
	Supervisor daemon.Supervisor

	t testing.TB
}

// New makes a machine for the time of the test.
func New(t testing.TB) *Machine {
	t.Helper()
	return NewSized(t, machineSize)
}

// NewSized makes a machine for that many accounts.
func NewSized(t testing.TB, size int) *Machine {
	t.Helper()
	dir := Dir(t)
	store, err := openUsers(t, dir, size)
	must(t, err)
	t.Cleanup(func() { removeAccounts(t, store) })
	return &Machine{Dir: dir, Store: store, Supervisor: Supervisor(t, dir), t: t}
}

func openUsers(t testing.TB, dir string, size int) (*accounts.Store, error) {
	t.Helper()
	prefix, least, most := users(t, size)
	kernel, err := limits.Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, kernel.Close()) })
	return accounts.OpenUsers(accounts.UsersConfig{
		Dir: dir, Now: clock.System(0).Now, Log: Log(t), Prefix: prefix, UIDMin: least, UIDMax: most, WebGroup: Web, Shell: "/bin/bash",
		Limit: kernel.Set, Release: kernel.Release,
	})
}

func removeAccounts(t testing.TB, store *accounts.Store) {
	t.Helper()
	for _, rec := range store.List() {
		if err := store.Delete(context.Background(), rec.Ref, nil); err != nil {
			t.Error(err)
		}
	}
	for _, ref := range store.Deleting() {
		if err := store.Delete(context.Background(), ref, nil); err != nil {
			t.Error(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// Account creates an account with a user of its own. Its ref is the name, its domain <name>.example.
func (m *Machine) Account(name string, limits panel.Limits) accounts.Account {
	m.t.Helper()
	_, err := m.Store.Create(context.Background(), panel.AccountSpec{
		Ref: name, Username: name, PrimaryDomain: name + ".example", Limits: limits,
	})
	must(m.t, err)
	a, err := m.Lookup(name)
	must(m.t, err)
	return a
}

// Update changes the record of an account and returns the new account.
func (m *Machine) Update(ref string, change func(*accounts.Record)) accounts.Account {
	m.t.Helper()
	_, err := m.Store.Update(context.Background(), ref, func(rec *accounts.Record) error {
		change(rec)
		return nil
	})
	must(m.t, err)
	a, err := m.Lookup(ref)
	must(m.t, err)
	return a
}

// Lookup is a facility.Lookup for the machine's accounts.
func (m *Machine) Lookup(ref string) (accounts.Account, error) {
	rec, err := m.Store.Get(ref)
	if err != nil {
		return accounts.Account{}, err
	}
	home := m.Store.Home(rec)
	return accounts.Account{Record: rec, Home: home, Jail: filepath.Dir(home)}, nil
}

var _ facility.Lookup = (*Machine)(nil).Lookup

// Node is a whole machine with real users and what facilities answers; it is given a supervisor whose daemons end with the test. change, if any, may alter the configuration.
func Node(t testing.TB, facilities func(dir string, s daemon.Supervisor, lookup facility.Lookup) ([]facility.Facility, error), change func(*node.Config)) *node.Node {
	t.Helper()
	dir := Dir(t)
	s := Supervisor(t, dir)
	cfg := node.Config{
		Dir: dir, Now: clock.System(0).Now, Log: Log(t), OriginURL: "http://127.0.0.1:1",
		Accounts: func() (accounts.Accounts, error) { return openUsers(t, dir, machineSize) },
	}
	if facilities != nil {
		cfg.Facilities = func(n *node.Node) ([]facility.Facility, error) { return facilities(dir, s, n.Lookup) }
	}
	if change != nil {
		change(&cfg)
	}
	n, err := node.New(context.Background(), cfg)
	must(t, err)
	for capability, err := range n.Unready() {
		t.Errorf("%s does not start: %v", capability, err)
	}
	t.Cleanup(func() {
		for _, ref := range n.Refs() {
			if err := n.DeleteAccount(context.Background(), ref); err != nil && !errors.Is(err, panel.ErrNotFound) {
				t.Error(err)
			}
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// Spent is the processor time of a process, and of those that it started and that have ended, in hundredths of a second.
func Spent(t testing.TB, pid int) time.Duration {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	_, spent := stat(t, line)
	return spent
}

// stat reads the session and the processor time of a process from what the kernel tells of it: see proc(5).
func stat(t testing.TB, line []byte) (session string, spent time.Duration) {
	t.Helper()
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:])) // from the third on
	if len(fields) < 15 {
		return "", 0
	}
	for _, ticks := range fields[11:15] { // its own, and of its children that have ended
		n, err := strconv.Atoi(ticks)
		must(t, err)
		spent += time.Duration(n) * 10 * time.Millisecond
	}
	return fields[3], spent
}

// ProcessorTime starts to measure; the function that it returns tells the processor time since then of this process, of
// those that it started and that have ended, and of all processes of the running daemons below dir. The kernel tells that of
// a daemon in hundredths of a second.
func ProcessorTime(t testing.TB, dir string, s daemon.Supervisor) func() time.Duration {
	t.Helper()
	daemons := func() (sum time.Duration) {
		sessions := map[string]bool{}
		for _, name := range daemon.Running(filepath.Join(dir, "daemons")) {
			sessions[strconv.Itoa(s.PID(name))] = true
		}
		files, err := filepath.Glob("/proc/[0-9]*/stat")
		must(t, err)
		for _, file := range files {
			line, err := os.ReadFile(file)
			if err != nil { // it has ended
				continue
			}
			if session, spent := stat(t, line); sessions[session] {
				sum += spent
			}
		}
		return sum
	}
	own := func() (sum time.Duration) {
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			must(t, syscall.Getrusage(who, &u))
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		return sum
	}
	before := daemons()
	beforeOwn := own()
	return func() time.Duration {
		spent := own() - beforeOwn // without what daemons takes
		return spent + daemons() - before
	}
}
