package accounts_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/limits"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/tree"
	"stead.dev/stead/internal/port/panel"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// owned asserts owner, group and mode of a directory.
func owned(t *testing.T, dir string, uid, gid int, mode fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(dir)
	must(t, err)
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != uid || int(st.Gid) != gid || info.Mode().Perm() != mode || !info.IsDir() {
		t.Errorf("%s is %d:%d %v, want %d:%d %v", dir, st.Uid, st.Gid, info.Mode(), uid, gid, mode)
	}
}

func webGroup(t *testing.T) int {
	t.Helper()
	g, err := user.LookupGroup(nodetest.Web)
	must(t, err)
	gid, err := strconv.Atoi(g.Gid)
	must(t, err)
	return gid
}

func complete(t *testing.T, store *accounts.Store, rec accounts.Record) {
	t.Helper()
	u, err := user.Lookup(rec.User.Name)
	if err != nil || u.Uid != strconv.Itoa(rec.User.UID) || u.Gid != strconv.Itoa(rec.User.GID) {
		t.Errorf("user of %s: %+v, %v", rec.Ref, u, err)
	}
	if _, err := user.LookupGroup(rec.User.Name); err != nil {
		t.Errorf("group of %s: %v", rec.Ref, err)
	}
	home, uid, gid, web := store.Home(rec), rec.User.UID, rec.User.GID, webGroup(t)
	owned(t, filepath.Dir(home), 0, gid, 0o751)
	owned(t, home, uid, web, 0o710)
	owned(t, filepath.Join(home, "public_html"), uid, web, 0o750)
	owned(t, filepath.Join(home, "logs"), uid, gid, 0o750)
	owned(t, filepath.Join(home, "tmp"), uid, gid, 0o700)
}

func TestAccountIsAUserWithAHome(t *testing.T) {
	m := nodetest.New(t)
	a := m.Account("alice", panel.Limits{})
	complete(t, m.Store, a.Record)
	owned(t, m.Dir, 0, 0, 0o711)
	owned(t, filepath.Join(m.Dir, "accounts"), 0, 0, 0o711)
	owned(t, filepath.Join(m.Dir, "state"), 0, 0, 0o700)

	// What the customer or an operator changes is put back.
	must(t, os.Chmod(a.Home, 0o777))
	must(t, os.Chown(a.Jail, a.User.UID, a.User.GID))
	must(t, os.Remove(filepath.Join(a.Home, "logs")))
	must(t, os.Remove(filepath.Join(a.Home, "tmp")))
	must(t, os.Mkdir(filepath.Join(a.Home, "tmp"), 0o700)) // by an agent that was killed before it gave it to the account
	must(t, m.Store.Settle(t.Context(), "alice"))
	complete(t, m.Store, a.Record)
	// What the customer may decide stays, and a link in a fixed place is not followed.
	must(t, os.Remove(filepath.Join(a.Home, "logs")))
	must(t, os.Symlink("/etc", filepath.Join(a.Home, "logs")))
	must(t, os.Chmod(filepath.Join(a.Home, "public_html"), 0o700))
	must(t, m.Store.Settle(t.Context(), "alice"))
	owned(t, filepath.Join(a.Home, "public_html"), a.User.UID, webGroup(t), 0o700)
	owned(t, "/etc", 0, 0, 0o755)
}

// A daemon that starts a process of the account's anew as often as it is killed, as PHP-FPM does, keeps no suspension
// from being written down; when the daemon has heard of it, nothing of the account runs any more.
func TestASuspensionIsNotHeldUpByWhoStartsProcessesAnew(t *testing.T) {
	m := nodetest.New(t)
	a := m.Account("alice", panel.Limits{})
	stop, stopped := make(chan struct{}), make(chan struct{})
	started := make(chan struct{}, 1)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			cmd := exec.Command("/bin/sleep", "1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.User.UID), Gid: uint32(a.User.GID)}}
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			select {
			case started <- struct{}{}:
			default:
			}
			_ = cmd.Wait() // it is killed
		}
	}()
	<-started
	m.Update("alice", func(r *accounts.Record) { r.Suspended = true }) // and comes back
	close(stop)
	for running := true; running; { // it may have looked just before
		must(t, m.Store.Settle(t.Context(), "alice"))
		select {
		case <-stopped:
			running = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	if left, err := accounts.Processes(a.User.UID); err != nil || len(left) != 0 {
		t.Errorf("%v of a suspended account run, %v", left, err)
	}
}

func TestNamesOfTheMachineAreNotGivenToAccounts(t *testing.T) {
	dir := nodetest.Dir(t)
	etc := filepath.Join(dir, "etc")
	must(t, os.Mkdir(etc, 0o755))
	for name, text := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/bash\nshop:x:150:150::/:/bin/sh\n", "shadow": "root:*:::::::\n", "group": "root:x:0:\nshop:x:150:\n",
	} {
		must(t, os.WriteFile(filepath.Join(etc, name), []byte(text), 0o600))
	}
	store, err := accounts.OpenUsers(accounts.UsersConfig{
		Dir: filepath.Join(dir, "m"), Now: time.Now, Log: slog.New(slog.DiscardHandler), UIDMin: 5000, UIDMax: 5002, WebGroup: nodetest.Web, Shell: "/bin/sh", Etc: etc, Shared: []string{},
	})
	must(t, err)
	defer func() { must(t, store.Close()) }()
	create := func(ref, name, domain string) (accounts.Record, error) {
		return store.Create(t.Context(), panel.AccountSpec{Ref: ref, Username: name, PrimaryDomain: domain})
	}
	for _, name := range []string{"root", "shop", "mysql", "stead"} {
		if _, err := create("x", name, "x.example"); !errors.Is(err, panel.ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rec, err := create("1", "", "shop.example")
	if err != nil || rec.Name != "shop2" || rec.User.UID != 5000 {
		t.Errorf("%+v, %v", rec, err)
	}
	// Numbers go round; one that is in use is passed over.
	must(t, store.Delete(t.Context(), "1", nil))
	for _, want := range []int{5001, 5002, 5000} {
		if rec, err = create(strconv.Itoa(want), "", strconv.Itoa(want)+".example"); err != nil || rec.User.UID != want {
			t.Errorf("%+v, %v; want %d", rec.User, err, want)
		}
	}
	if _, err := create("full", "", "full.example"); !errors.Is(err, panel.ErrLimit) {
		t.Errorf("a fourth user of three: %v", err)
	}
	must(t, store.Delete(t.Context(), "5001", nil))
	if rec, err = create("again", "", "again.example"); err != nil || rec.User.UID != 5001 {
		t.Errorf("%+v, %v", rec.User, err)
	}
}

func TestDirectoryThatOthersMayWriteOrUsersCannotPassIsRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o777, 0o775, 0o700} {
		above := filepath.Join(nodetest.Dir(t), "above")
		must(t, os.Mkdir(above, 0o700))
		must(t, os.Chmod(above, mode))
		_, err := accounts.OpenUsers(accounts.UsersConfig{
			Dir: filepath.Join(above, "m"), Now: time.Now, Log: slog.New(slog.DiscardHandler), UIDMin: 5000, UIDMax: 5002, WebGroup: nodetest.Web, Shell: "/bin/sh",
		})
		if err == nil || !strings.Contains(err.Error(), above+" must be root's") {
			t.Errorf("%o: %v", mode, err)
		}
	}
}

func TestEndedAccountLeavesNothing(t *testing.T) {
	m := nodetest.New(t)
	a, other := m.Account("alice", panel.Limits{}), m.Account("bob", panel.Limits{})
	// A process that starts another whenever it can, in a session of its own.
	script := `trap "" TERM HUP INT; while :; do sleep 0.01 & done`
	cmd := identity.Command(t.Context(), a, "/usr/bin/setsid", "/bin/bash", "-c", script)
	must(t, cmd.Start())
	go func() { _ = cmd.Wait() }()
	var left []string
	dirs := []string{"/tmp", "/var/tmp", "/dev/shm"}
	if _, err := os.Stat("/var/lib/php/sessions"); err == nil {
		dirs = append(dirs, "/var/lib/php/sessions")
	}
	must(t, identity.Do(a, func() (err error) {
		for _, dir := range dirs {
			sub := filepath.Join(dir, a.User.Name)
			left = append(left, sub)
			err = errors.Join(err, os.Mkdir(sub, 0o700), os.WriteFile(filepath.Join(sub, "f"), nil, 0o600))
		}
		return err
	}))
	// A directory in which all may write, of another one.
	shared := "/tmp/" + other.User.Name + "-shared"
	must(t, os.Mkdir(shared, 0o777))
	defer os.RemoveAll(shared)
	must(t, os.Chmod(shared, 0o777))
	must(t, identity.Do(a, func() error { return os.WriteFile(filepath.Join(shared, "of-alice"), nil, 0o600) }))
	must(t, identity.Do(other, func() error { return os.WriteFile(filepath.Join(shared, "of-bob"), nil, 0o600) }))
	left = append(left, filepath.Join(shared, "of-alice"))
	out, err := identity.Command(t.Context(), a, "/usr/bin/ipcmk", "-M", "100", "-S", "1", "-Q").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	must(t, m.Store.Delete(t.Context(), "alice", nil))
	for _, file := range append(left, a.Jail) {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", file, err)
		}
	}
	if _, err := os.Stat(filepath.Join(shared, "of-bob")); err != nil {
		t.Errorf("what is another one's is gone: %v", err)
	}
	if all, err := accounts.Processes(a.User.UID); err != nil || len(all) > 0 {
		t.Errorf("processes are left: %v, %v", all, err)
	}
	if _, err := user.Lookup(a.User.Name); err == nil {
		t.Error("the user is left")
	}
	ipc, err := exec.CommandContext(t.Context(), "sh", "-c", "cat /proc/sysvipc/*").Output()
	must(t, err)
	if strings.Contains(string(ipc), " "+strconv.Itoa(a.User.UID)+" ") {
		t.Errorf("objects of System V are left:\n%s", ipc)
	}
	if next := m.Account("carol", panel.Limits{}); next.User.UID == a.User.UID {
		t.Error("the next customer has the number of the last one")
	}
	complete(t, m.Store, other.Record)
}

func TestDeletionThatFailsIsGoneOnWith(t *testing.T) {
	m := nodetest.New(t)
	a := m.Account("alice", panel.Limits{})
	broken := errors.New("a daemon does not answer")
	if err := m.Store.Delete(t.Context(), "alice", func(context.Context, accounts.Record) error { return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, err := m.Store.Get("alice"); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("an account that ends is found: %v", err)
	}
	spec := panel.AccountSpec{Ref: "alice", Username: "alice", PrimaryDomain: "alice.example"}
	if _, err := m.Store.Create(t.Context(), spec); !errors.Is(err, panel.ErrBusy) {
		t.Errorf("made anew: %v", err)
	}
	spec.Ref = "other"
	if _, err := m.Store.Create(t.Context(), spec); !errors.Is(err, panel.ErrExists) {
		t.Errorf("name given to another one: %v", err)
	}
	m.Account("bob", panel.Limits{})
	if err := m.Store.Finish(t.Context(), "bob", nil); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("an account was ended whose end had not begun: %v", err)
	}
	var ended string
	must(t, m.Store.Finish(t.Context(), "alice", func(_ context.Context, rec accounts.Record) error { ended = rec.Ref; return nil }))
	if ended != "alice" {
		t.Error("what others keep was not ended")
	}
	if _, err := user.Lookup(a.User.Name); err == nil {
		t.Error("the user is left")
	}
	if err := m.Store.Delete(t.Context(), "alice", nil); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
}

// TestAnotherAccountsDirectoriesKeepNoDeletionBusy: their owner can nest them without limit, and a walk by whole names takes time in
// proportion to the square of the depth.
func TestAnotherAccountsDirectoriesKeepNoDeletionBusy(t *testing.T) {
	m := nodetest.New(t)
	a, other := m.Account("alice", panel.Limits{}), m.Account("bob", panel.Limits{})
	shared, err := os.MkdirTemp("/tmp", "deep")
	must(t, err)
	root, err := os.OpenRoot(shared)
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(tree.Remove(root, "d", nil), root.Close(), os.Remove(shared))) })
	must(t, os.Chmod(shared, 0o777))
	must(t, os.Chown(shared, other.User.UID, other.User.GID))
	at, err := root.OpenRoot(".")
	must(t, err)
	for range 20000 {
		must(t, at.Mkdir("d", 0o777))
		below, err := at.OpenRoot("d")
		must(t, errors.Join(err, at.Close()))
		at = below
	}
	must(t, at.Close())
	file := filepath.Join(shared, "d/d/of-alice")
	must(t, os.Chmod(filepath.Join(shared, "d/d"), 0o777))
	must(t, identity.Do(a, func() error { return os.WriteFile(file, nil, 0o600) }))
	done := make(chan error, 1)
	go func() { done <- m.Store.Delete(context.WithoutCancel(t.Context()), "alice", nil) }()
	select {
	case err := <-done:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the deletion takes too long")
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the account's file is left: %v", err)
	}
}

// TestAProcessEndsWhoseFirstThreadHasEnded: the kernel shows it as a zombie, and it goes on in its other threads.
func TestAProcessEndsWhoseFirstThreadHasEnded(t *testing.T) {
	m := nodetest.New(t)
	a := m.Account("alice", panel.Limits{})
	_, ended := nodetest.Headless(t, m.Dir, &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(a.User.UID), Gid: uint32(a.User.GID)},
	})
	m.Update("alice", func(r *accounts.Record) { r.Suspended = true })
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it goes on although its account is suspended")
	}
}

// The agent is killed at random moments while it makes and ends accounts. After each time every
// account is complete or absent, no name and no number is there twice, and the work can be repeated.
func TestKilledAgentLeavesUsersCompleteOrAbsent(t *testing.T) {
	if dir := os.Getenv("STEAD_TEST_CHURN_USERS"); dir != "" {
		churnUsers(t, dir)
	}
	const rounds = 60
	program, err := os.Executable()
	must(t, err)
	dir := nodetest.Dir(t)
	prefix, least, most := nodetest.Users(t)
	t.Setenv("STEAD_TEST_CHURN_RANGE", fmt.Sprintf("%s %d %d", prefix, least, most))
	ended := map[bool]int{}
	for round := range rounds {
		agent := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
		agent.Env = append(os.Environ(), "STEAD_TEST_CHURN_USERS="+dir)
		out, err := agent.StdoutPipe()
		must(t, err)
		must(t, agent.Start())
		lines := bufio.NewScanner(out)
		for range 1 + random(t, 6) {
			if !lines.Scan() {
				t.Fatal("the agent ended by itself")
			}
		}
		<-time.After(time.Duration(random(t, 15000)) * time.Microsecond) // sleeps: the agent is killed at any moment
		must(t, agent.Process.Kill())
		_ = agent.Wait() // killed, as told

		store := openChurned(t, dir)
		for _, ref := range store.Deleting() {
			must(t, store.Delete(t.Context(), ref, nil))
		}
		all := store.List()
		numbers := map[int]string{}
		for _, rec := range all {
			complete(t, store, rec)
			if other := numbers[rec.User.UID]; other != "" {
				t.Errorf("round %d: %s and %s have one number", round, rec.Ref, other)
			}
			numbers[rec.User.UID] = rec.Ref
		}
		passwd, err := os.ReadFile("/etc/passwd")
		must(t, err)
		users := 0
		for line := range strings.Lines(string(passwd)) {
			if strings.HasPrefix(line, prefix) {
				users++
			}
		}
		homes, err := os.ReadDir(filepath.Join(dir, "accounts"))
		must(t, err)
		if users != len(all) || len(homes) != len(all) {
			t.Errorf("round %d: %d users and %d homes of %d accounts", round, users, len(homes), len(all))
		}
		for n := range churned {
			_, err := store.Get(strconv.Itoa(n))
			ended[err == nil]++
		}
		must(t, store.Close())
	}
	t.Logf("accounts that were there: %d, that were not: %d", ended[true], ended[false])
	store := openChurned(t, dir)
	for n := range churned {
		_, err := store.Create(t.Context(), churnedSpec(n))
		must(t, err)
		must(t, store.Delete(t.Context(), strconv.Itoa(n), nil))
	}
	must(t, store.Close())
}

// random is a number below most.
func random(t *testing.T, most uint32) uint32 {
	t.Helper()
	var b [4]byte
	_, err := rand.Read(b[:])
	must(t, err)
	return binary.BigEndian.Uint32(b[:]) % most
}

const churned = 8

func churnedSpec(n int) panel.AccountSpec {
	return panel.AccountSpec{
		Ref: strconv.Itoa(n), PrimaryDomain: fmt.Sprintf("c%d.example", n), Username: fmt.Sprintf("user%d", n), Limits: panel.Limits{Processes: 10},
	}
}

func openChurned(t *testing.T, dir string) *accounts.Store {
	t.Helper()
	var prefix string
	var least, most int
	_, err := fmt.Sscan(os.Getenv("STEAD_TEST_CHURN_RANGE"), &prefix, &least, &most)
	must(t, err)
	kernel, err := limits.Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, kernel.Close()) })
	store, err := accounts.OpenUsers(accounts.UsersConfig{
		Dir: dir, Now: time.Now, Log: slog.New(slog.DiscardHandler), Prefix: prefix, UIDMin: least, UIDMax: most,
		WebGroup: nodetest.Web, Shell: "/bin/sh", Limit: kernel.Set, Release: kernel.Release, Shared: []string{},
	})
	must(t, err)
	return store
}

// churnUsers makes and ends accounts until the process is killed.
func churnUsers(t *testing.T, dir string) {
	store := openChurned(t, dir)
	for worker := range 4 {
		go func() {
			for i := 0; ; i++ {
				spec := churnedSpec(worker*2 + i%2)
				if err := store.Delete(context.Background(), spec.Ref, nil); err != nil && !errors.Is(err, panel.ErrNotFound) {
					panic(err)
				}
				if _, err := store.Create(context.Background(), spec); err != nil {
					panic(err)
				}
				fmt.Println(spec.Ref)
			}
		}()
	}
	select {}
}

// BenchmarkAccounts really makes accounts on one machine and tells what the 10th and the 1000th cost:
//
//	go test -run '^$' -bench Accounts -benchtime 1x ./internal/node/accounts
func BenchmarkAccounts(b *testing.B) {
	for b.Loop() {
		m := nodetest.NewSized(b, 1100)
		var took [1000]time.Duration
		for i := range took {
			began := time.Now()
			_, err := m.Store.Create(b.Context(), panel.AccountSpec{
				Ref: strconv.Itoa(i), PrimaryDomain: fmt.Sprintf("c%d.example", i), Username: fmt.Sprintf("u%d", i), Limits: panel.Limits{Processes: 100, MemoryMB: 512, CPUPercent: 100},
			})
			must(b, err)
			took[i] = time.Since(began)
		}
		// Around them, as one alone says little.
		early, late := median(took[5:25]), median(took[980:])
		b.ReportMetric(float64(early.Microseconds())/1000, "ms/10th")
		b.ReportMetric(float64(late.Microseconds())/1000, "ms/1000th")
		b.ReportMetric(float64(late)/float64(early), "ratio")
	}
}

func median(all []time.Duration) time.Duration {
	sorted := append([]time.Duration(nil), all...)
	for i := range sorted {
		for k := i; k > 0 && sorted[k] < sorted[k-1]; k-- {
			sorted[k], sorted[k-1] = sorted[k-1], sorted[k]
		}
	}
	return sorted[len(sorted)/2]
}
