package identity_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/cgroup"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func as(a accounts.Account, f func() error) error { return identity.Do(a, f) }

func TestDoHasTheRightsOfTheAccountOnly(t *testing.T) {
	m := nodetest.New(t)
	alice, bob := m.Account("alice", panel.Limits{}), m.Account("bob", panel.Limits{})
	secret := filepath.Join(bob.Home, "tmp", "secret")
	must(t, as(bob, func() error { return os.WriteFile(secret, []byte("bob's"), 0o600) }))
	open := filepath.Join(m.Dir, "open") // where nothing but the mode of the file protects it
	must(t, os.Mkdir(open, 0o777))
	must(t, os.Chmod(open, 0o777))
	must(t, os.WriteFile(filepath.Join(open, "f"), []byte("bob's"), 0o600))
	must(t, os.Chown(filepath.Join(open, "f"), bob.User.UID, bob.User.GID))
	must(t, os.WriteFile(filepath.Join(open, "group"), nil, 0o640))

	refused := func(what string, f func() error) {
		t.Helper()
		if err := as(alice, f); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("read a file", func() error { _, err := os.ReadFile(filepath.Join(open, "f")); return err })
	refused("read a file of root's group", func() error { _, err := os.ReadFile(filepath.Join(open, "group")); return err })
	refused("read below a home", func() error { _, err := os.ReadFile(secret); return err })
	refused("list a home", func() error { _, err := os.ReadDir(bob.Home); return err })
	refused("stat below a home", func() error { _, err := os.Stat(secret); return err })
	refused("change a mode", func() error { return os.Chmod(filepath.Join(open, "f"), 0o666) })
	refused("take a file", func() error { return os.Chown(filepath.Join(open, "f"), alice.User.UID, -1) })
	refused("give a file away", func() error {
		mine := filepath.Join(alice.Home, "mine")
		return errors.Join(os.WriteFile(mine, nil, 0o600), os.Chown(mine, bob.User.UID, -1))
	})
	refused("link a file", func() error { return os.Link(filepath.Join(open, "f"), filepath.Join(alice.Home, "linked")) })
	refused("read shadow", func() error { _, err := os.ReadFile("/etc/shadow"); return err })
	refused("write into the jail", func() error { return os.WriteFile(filepath.Join(alice.Jail, "x"), nil, 0o600) })
	refused("make a device", func() error { return syscall.Mknod(filepath.Join(alice.Home, "dev"), syscall.S_IFCHR|0o666, 1<<8|3) })
	refused("list the jails", func() error { _, err := os.ReadDir(filepath.Dir(alice.Jail)); return err })

	var st syscall.Stat_t
	mine := filepath.Join(alice.Home, "public_html", "index.html")
	must(t, as(alice, func() error { return os.WriteFile(mine, []byte("x"), 0o644) }))
	must(t, syscall.Stat(mine, &st))
	if int(st.Uid) != alice.User.UID || int(st.Gid) != alice.User.GID {
		t.Errorf("made by %d:%d", st.Uid, st.Gid)
	}
	if _, err := os.ReadFile(secret); err != nil {
		t.Errorf("root was not regained: %v", err)
	}
}

func TestDoWithinDo(t *testing.T) {
	m := nodetest.New(t)
	alice, bob := m.Account("alice", panel.Limits{}), m.Account("bob", panel.Limits{})
	shadow := func() error { _, err := os.ReadFile("/etc/shadow"); return err }
	must(t, as(alice, func() error {
		if err := as(bob, func() error { return nil }); !errors.Is(err, identity.ErrAnother) {
			t.Errorf("another account: %v", err)
		}
		if err := as(alice, shadow); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the same account: %v", err)
		}
		if err := shadow(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("after it: %v", err)
		}
		// A goroutine that it starts is root, and so is a thread that is made meanwhile.
		done := make(chan error)
		go func() { done <- shadow() }()
		return <-done
	}))
	must(t, shadow())
	func() {
		defer func() { _ = recover() }()
		_ = as(alice, func() error { panic("x") })
	}()
	must(t, shadow())
	if err := as(alice, func() error { return errors.New("mine") }); err == nil || err.Error() != "mine" {
		t.Errorf("error: %v", err)
	}
	if err := identity.Do(accounts.Account{Record: accounts.Record{User: accounts.User{Name: "x", UID: 5}}}, shadow); err == nil {
		t.Error("a user without a group was served")
	}
}

func TestManyAccountsAtOnce(t *testing.T) {
	m := nodetest.New(t)
	all := []accounts.Account{m.Account("a1", panel.Limits{}), m.Account("a2", panel.Limits{}), m.Account("a3", panel.Limits{})}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			a := all[i%len(all)]
			file := filepath.Join(a.Home, fmt.Sprint("f", i))
			if err := as(a, func() error { return os.WriteFile(file, nil, 0o600) }); err != nil {
				t.Error(err)
			}
			var st syscall.Stat_t
			if err := syscall.Stat(file, &st); err != nil || int(st.Uid) != a.User.UID {
				t.Errorf("%s is of %d: %v", file, st.Uid, err)
			}
			if err := as(all[(i+1)%len(all)], func() error { return os.Remove(file) }); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("removed by another one: %v", err)
			}
		})
	}
	wg.Wait()
}

func shell(t *testing.T, a accounts.Account, script string) string {
	t.Helper()
	out, err := identity.Command(t.Context(), a, "/bin/sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestCommandIsTheAccountsAlone(t *testing.T) {
	m := nodetest.New(t)
	alice, bob := m.Account("alice", panel.Limits{}), m.Account("bob", panel.Limits{})
	other := identity.Command(t.Context(), bob, "/bin/sleep", "1000")
	must(t, other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	secret := filepath.Join(bob.Home, "public_html", "config.php")
	must(t, as(bob, func() error { return os.WriteFile(secret, []byte("password"), 0o644) }))
	must(t, as(alice, func() error { return os.Symlink(secret, filepath.Join(alice.Home, "link")) }))

	if got, want := shell(t, alice, "id -u; id -G; pwd; echo $HOME"), fmt.Sprintf("%d\n%d\n%s\n%s", alice.User.UID, alice.User.GID, alice.Home, alice.Home); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := shell(t, alice, "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status"); !strings.Contains(got, "NoNewPrivs:\t1") || !strings.Contains(got, "CapEff:\t0000000000000000") {
		t.Errorf("status: %s", got)
	}
	for _, script := range []string{
		"cat link", "cat " + secret, "ls " + bob.Home, "ls " + bob.Jail, "ls " + filepath.Dir(bob.Jail), "ln " + secret + " hard", "cat /etc/shadow",
		fmt.Sprintf("kill -0 %d", other.Process.Pid), fmt.Sprintf("kill -9 %d", other.Process.Pid), fmt.Sprintf("cat /proc/%d/environ", other.Process.Pid),
		fmt.Sprintf("ls /proc/%d", other.Process.Pid), "echo x >>" + secret, "mount -t tmpfs x /mnt", "touch ../x",
		"ulimit -n 100000",
	} {
		if out, err := identity.Command(t.Context(), alice, "/bin/sh", "-c", script).CombinedOutput(); err == nil {
			t.Errorf("%s: worked: %s", script, out)
		}
	}
	// Temporary files are in the home, and nobody else sees them.
	shell(t, alice, "echo mine >/tmp/file")
	if data, err := os.ReadFile(filepath.Join(alice.Home, "tmp", "file")); err != nil || string(data) != "mine\n" {
		t.Errorf("%q, %v", data, err)
	}
	if info, err := os.Stat("/var/lib/php/sessions"); err == nil && info.IsDir() {
		session := "sess_" + alice.User.Name
		shell(t, alice, "echo mine >/var/lib/php/sessions/"+session)
		if data, err := os.ReadFile(filepath.Join(alice.Home, "tmp", session)); err != nil || string(data) != "mine\n" {
			t.Errorf("a session: %q, %v", data, err)
		}
	}
	if got := shell(t, bob, "ls /tmp /var/tmp /dev/shm"); strings.Contains(got, "file") {
		t.Errorf("bob sees %s", got)
	}
	if other.ProcessState != nil || syscall.Kill(other.Process.Pid, 0) != nil {
		t.Error("bob's process ended")
	}
	must(t, as(alice, func() error {
		return errors.Join(os.RemoveAll(filepath.Join(alice.Home, "tmp")), os.Symlink(bob.Home, filepath.Join(alice.Home, "tmp")))
	}))
	if out, err := identity.Command(t.Context(), alice, "/bin/ls", "/tmp").CombinedOutput(); err == nil {
		t.Errorf("a link in the place of tmp was followed: %s", out)
	}
}

func TestCommandEndsWithItsContextAndAllThatItStarted(t *testing.T) {
	m := nodetest.New(t)
	a := m.Account("alice", panel.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	cmd := identity.Command(ctx, a, "/bin/sh", "-c", "sleep 1000 & sleep 1000; true")
	must(t, cmd.Start())
	running := func() int {
		all, err := accounts.Processes(a.User.UID)
		must(t, err)
		return len(all)
	}
	until(t, func() bool { return running() == 3 })
	cancel()
	_ = cmd.Wait()
	until(t, func() bool { return running() == 0 })

	cmd = identity.Command(t.Context(), a, "/bin/sh", "-c", "setsid sleep 1000 & sleep 1000")
	must(t, cmd.Start())
	go func() { _ = cmd.Wait() }()
	until(t, func() bool { return running() >= 2 })
	a = m.Update("alice", func(r *accounts.Record) { r.Suspended = true })
	if running() != 0 {
		t.Error("a suspended account has processes")
	}
	if err := identity.Command(t.Context(), a, "/bin/true").Run(); err == nil {
		t.Error("a suspended account starts processes")
	}
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	testkit.Eventually(t, time.Minute, is, "it came to be so")
}

func TestCommandIsHeldToTheLimitsOfThePlan(t *testing.T) {
	m := nodetest.New(t)
	groups := cgroup.Machine()
	a := m.Account("alice", panel.Limits{Processes: 8, MemoryMB: 64, CPUPercent: 50})
	t.Log("cgroups:", groups)
	if groups.String() == "none" {
		t.Fatal("this machine has no cgroups; the test needs them")
	}
	out, err := identity.Command(t.Context(), a, "/bin/bash", "-c", "for i in $(seq 30); do sleep 5 & done; jobs -r | wc -l; kill %%; exit 0").CombinedOutput()
	if err == nil && !strings.Contains(string(out), "Resource temporarily unavailable") {
		t.Errorf("30 processes under a limit of 8: %v: %s", err, out)
	}
	all, err := accounts.Processes(a.User.UID)
	must(t, err)
	if len(all) > 8 {
		t.Errorf("%d processes", len(all))
	}
	_ = m.Update("alice", func(r *accounts.Record) { r.Suspended = true })
	a = m.Update("alice", func(r *accounts.Record) { r.Suspended = false })

	hungry := `my $x = "x" x (200 << 20); print length $x`
	if out, err := identity.Command(t.Context(), a, "/usr/bin/perl", "-e", hungry).CombinedOutput(); err == nil {
		t.Errorf("200 MB under a limit of 64: %s", out)
	}
	began := time.Now()
	shell(t, a, "exec perl -e 'my $x = 0; while ((times)[0] < 0.5) { $x++ }'")
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("half a second of work on half a processor took %s", took)
	}
}

func BenchmarkDo(b *testing.B) {
	m := nodetest.New(b)
	a := m.Account("alice", panel.Limits{})
	for b.Loop() {
		must(b, identity.Do(a, func() error { return nil }))
	}
}

func BenchmarkCommand(b *testing.B) {
	m := nodetest.New(b)
	a := m.Account("alice", panel.Limits{})
	for b.Loop() {
		must(b, identity.Command(b.Context(), a, "/bin/true").Run())
	}
}
