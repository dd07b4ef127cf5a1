package limits

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/cgroup"
	"stead.dev/stead/internal/port/panel"
)

// The kernel writes as many bytes as its own struct has.
func TestQuotaBlockIsTheKernels(t *testing.T) {
	if size := unsafe.Sizeof(dqblk{}); size != 72 {
		t.Errorf("%d bytes, want 72", size)
	}
}

// TestTheReserve is what the kernel leaves to an account above its limit, for small files.
func TestTheReserve(t *testing.T) {
	for limit, want := range map[int64]int64{0: 0, 5 << 20: 6 << 20, 100 << 20: 105 << 20, 10 << 30: 10<<30 + 64<<20} {
		if got := most(limit); got != want {
			t.Errorf("a limit of %d becomes %d, want %d", limit, got, want)
		}
	}
}

// TestALimitOfAProcessItselfStays, as a shell sets it, while the account is not full.
func TestALimitOfAProcessItselfStays(t *testing.T) {
	const uid, name, own = 65501, "limitsown", 200001 * 512 // bytes
	if err := cgroup.Machine().Set(name, cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "ulimit -S -f 200001; echo; exec sleep 1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, as told
		if err := cgroup.Machine().Remove(name); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		user User
		want uint64
	}{{User{}, own}, {User{Full: true}, smallFile}, {User{Full: true, Log: 3*smallFile + 1}, 4 * smallFile}, {User{}, unix.RLIM_INFINITY}} {
		c.user.Name = name
		if _, err := NewSweeper().Sweep(map[int]User{uid: c.user}); err != nil {
			t.Fatal(err)
		}
		if got, err := fileSize(cmd.Process.Pid); err != nil || got != c.want {
			t.Errorf("%+v: files of %d bytes, %v; want %d", c.user, got, err, c.want)
		}
	}
}

func TestLimitsAreSetChangedAndReleased(t *testing.T) {
	k, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	t.Log(k)
	groups := cgroup.Machine()
	if groups.String() == "none" {
		t.Fatal("this machine has no cgroups; the test needs them")
	}
	rec := accounts.Record{User: accounts.User{Name: "limitstest", UID: 65500, GID: 65500}}
	for _, l := range []panel.Limits{{Processes: 7, MemoryMB: 32, CPUPercent: 150, DiskMB: 5}, {MemoryMB: 64}, {MemoryMB: 16}, {}, {Processes: 9}} {
		rec.Limits = l
		if err := k.Set(rec); err != nil {
			t.Fatal(err)
		}
		want := "max"
		if l.Processes > 0 {
			want = map[int]string{7: "7", 9: "9"}[l.Processes]
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "cat /sys/fs/cgroup/pids/stead/limitstest/pids.max /sys/fs/cgroup/stead/limitstest/pids.max 2>/dev/null").Output()
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("pids.max is %q, want %q (%v)", got, want, err)
		}
		if l.MemoryMB == 0 {
			continue
		}
		// What is swapped out counts, too: the plan's memory is all that the account has.
		out, err = exec.CommandContext(t.Context(), "sh", "-c", `cd /sys/fs/cgroup/stead/limitstest 2>/dev/null && echo $(cat memory.max memory.swap.max) ||
			cd /sys/fs/cgroup/memory/stead/limitstest && echo $(cat memory.limit_in_bytes memory.memsw.limit_in_bytes)`).Output()
		most := strconv.Itoa(l.MemoryMB << 20)
		if got := strings.TrimSpace(string(out)); got != most+" 0" && got != most+" "+most {
			t.Errorf("memory and swap are %q, want %s (%v)", got, most, err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if groups.Holds("limitstest", cmd.Process.Pid) {
		t.Error("a process that was never put into the group is in it")
	}
	if err := groups.Add("limitstest", cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if pids, err := groups.Members("limitstest"); !groups.Holds("limitstest", cmd.Process.Pid) || len(pids) != 1 || err != nil {
		t.Errorf("members: %v, %v", pids, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, as told
	if err := k.Release(rec); err != nil {
		t.Fatal(err)
	}
	if err := k.Release(rec); err != nil {
		t.Errorf("released again: %v", err)
	}
	if _, err := os.Stat("/sys/fs/cgroup/pids/stead/limitstest"); err == nil {
		t.Error("the group is left")
	}
	for _, name := range []string{"", "..", "a/b", "A"} {
		if err := groups.Set(name, cgroup.Limits{}); err == nil {
			t.Errorf("%q was taken for a name", name)
		}
	}
}
