package node_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node"
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

func create(t *testing.T, n *node.Node, ref string, limits panel.Limits) accounts.Account {
	t.Helper()
	_, err := n.CreateAccount(t.Context(), panel.AccountSpec{Ref: ref, Username: ref, PrimaryDomain: ref + ".example", Limits: limits})
	must(t, err)
	a, err := n.Lookup(ref)
	must(t, err)
	return a
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	testkit.Eventually(t, time.Minute, is, what)
}

// Nothing that the files facility does for one account reaches another's, by no link and no name.
func TestFilesOfAnotherAccountAreOutOfReach(t *testing.T) {
	n := nodetest.Node(t, nil, nil)
	ctx := t.Context()
	alice, bob := create(t, n, "alice", panel.Limits{}), create(t, n, "bob", panel.Limits{})
	_, err := n.Files.Write(ctx, "bob", "/public_html/config.php", []byte("password"), panel.WriteOptions{})
	must(t, err)
	secret := filepath.Join(bob.Home, "public_html", "config.php")
	info, err := os.Stat(secret)
	must(t, err)
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != bob.User.UID || int(st.Gid) != bob.User.GID {
		t.Errorf("a file that was uploaded is of %+v", info.Sys())
	}

	must(t, identity.Do(alice, func() error {
		return errors.Join(os.Symlink(secret, filepath.Join(alice.Home, "link")), os.Symlink(bob.Home, filepath.Join(alice.Home, "dir")),
			os.Symlink("../../bob/home", filepath.Join(alice.Home, "relative")))
	}))
	for _, p := range []string{"/link", "/dir/public_html/config.php", "/relative/public_html/config.php", "/../../bob/home/public_html/config.php", secret} {
		if c, err := n.Files.Read(ctx, "alice", p, panel.ReadOptions{}); err == nil {
			t.Errorf("%s was read: %s", p, c.Data)
		}
		if _, err := n.Files.Write(ctx, "alice", p, []byte("x"), panel.WriteOptions{}); err == nil && p != secret {
			t.Errorf("%s was written", p)
		}
		if _, err := n.Files.Copy(ctx, "alice", p, "/copied", true); err == nil && p != "/link" && p != secret { // a link is copied as a link
			t.Errorf("%s was copied", p)
		}
	}
	if _, err := n.Files.List(ctx, "alice", "/dir", 0, 0); err == nil {
		t.Error("a home was listed through a link")
	}
	// Even what a mistake of this program would make reachable the kernel refuses: a hard link that
	// root made, to a file that only bob may read.
	private := filepath.Join(bob.Home, "private")
	must(t, identity.Do(bob, func() error { return os.WriteFile(private, []byte("x"), 0o600) }))
	must(t, os.Link(private, filepath.Join(alice.Home, "hard")))
	if _, err := n.Files.Read(ctx, "alice", "/hard", panel.ReadOptions{}); !errors.Is(err, panel.ErrPathNotAllowed) {
		t.Errorf("a hard link to another's file was read: %v", err)
	}
	data, err := os.ReadFile(secret)
	if err != nil || string(data) != "password" {
		t.Errorf("%q, %v", data, err)
	}
	// An archive holds the links, not what is behind them.
	must(t, os.Remove(filepath.Join(alice.Home, "hard")))
	stream, err := n.Files.OpenZip(ctx, "alice", "/")
	must(t, err)
	defer stream.Close()
	var archive strings.Builder
	buffer := make([]byte, 32<<10)
	for {
		read, err := stream.Read(buffer)
		archive.Write(buffer[:read])
		if err != nil {
			break
		}
	}
	if strings.Contains(archive.String(), "password") {
		t.Error("another's file is in the archive")
	}
}

// A process that somebody else starts as an account's user, as PHP-FPM does its workers, is found: it
// is put under the limits of the account, and stops writing when the account is full.
func TestProcessesOfAFullAccountStopWriting(t *testing.T) {
	n := nodetest.Node(t, nil, nil)
	a := create(t, n, "alice", panel.Limits{DiskMB: 2, Processes: 20})
	const script = `while :; do head -c 300000 /dev/zero >>big || echo refused; sleep 0.02; done`
	var said lines
	worker := exec.CommandContext(t.Context(), "/bin/bash", "-c", script)
	worker.Dir, worker.Stdout = a.Home, &said
	worker.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(a.User.UID), Gid: uint32(a.User.GID)}}
	must(t, worker.Start())
	go func() { _ = worker.Wait() }()
	if cgroup.Machine().String() != "none" {
		eventually(t, "the worker is in the account's group", func() bool { return cgroup.Machine().Holds(a.User.Name, worker.Process.Pid) })
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(a.Home, "big"))
		must(t, err)
		return info.Size()
	}
	eventually(t, "the account is full", func() bool { return n.Files.Full("alice") })
	eventually(t, "its writes are refused", func() bool { return said.count() > 0 })
	full := size()
	refused := said.count()
	eventually(t, "they are refused again and again", func() bool { return said.count() > refused+20 })
	if now := size(); now != full {
		t.Errorf("it grew from %d to %d", full, now)
	}
	if _, err := n.Files.Write(t.Context(), "alice", "/more", []byte("x"), panel.WriteOptions{}); !errors.Is(err, panel.ErrDiskFull) {
		t.Errorf("written by the interface: %v", err)
	}
	// The customer makes room, and goes on.
	must(t, identity.Do(a, func() error { return os.Remove(filepath.Join(a.Home, "big")) }))
	eventually(t, "it writes again", func() bool {
		_, err := os.Stat(filepath.Join(a.Home, "big"))
		return err == nil && size() > 0
	})
	must(t, n.SuspendAccount(context.Background(), "alice"))
	if all, err := accounts.Processes(a.User.UID); err != nil || len(all) > 0 {
		t.Errorf("suspended with processes %v, %v", all, err)
	}
	if err := identity.Command(t.Context(), a, "/bin/true").Run(); err != nil {
		t.Errorf("a caller with an old record: %v", err) // held by its facility, which is told
	}
}

// lines counts what is written to it.
type lines struct {
	mu sync.Mutex
	n  int
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += strings.Count(string(p), "\n")
	return len(p), nil
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// An account's user cannot use up what others need: processes and memory.
func TestForkBombHitsItsOwnAccountOnly(t *testing.T) {
	n := nodetest.Node(t, nil, nil)
	if cgroup.Machine().String() == "none" {
		t.Fatal("this machine has no cgroups; the test needs them")
	}
	bad, good := create(t, n, "bad", panel.Limits{Processes: 30, MemoryMB: 128, CPUPercent: 50}), create(t, n, "good", panel.Limits{Processes: 30})
	bomb := identity.Command(t.Context(), bad, "/bin/bash", "-c", "b() { b | b & }; b; sleep 1000")
	must(t, bomb.Start())
	go func() { _ = bomb.Wait() }()
	eventually(t, "the bomb has gone off", func() bool {
		all, err := accounts.Processes(bad.User.UID)
		must(t, err)
		return len(all) > 10
	})
	for range 20 {
		all, err := cgroup.Machine().Members(bad.User.Name)
		must(t, err)
		if len(all) > 30 {
			t.Fatalf("%d processes", len(all))
		}
		if out, err := identity.Command(t.Context(), good, "/bin/sh", "-c", "echo fine").Output(); err != nil || string(out) != "fine\n" {
			t.Fatalf("another account: %q, %v", out, err)
		}
	}
	must(t, n.DeleteAccount(t.Context(), "bad"))
	if all, err := accounts.Processes(bad.User.UID); err != nil || len(all) > 0 {
		t.Errorf("left: %v, %v", all, err)
	}
}
