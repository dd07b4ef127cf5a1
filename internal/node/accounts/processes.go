package accounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Processes returns the ids of the processes that run as a user, or could switch to it again.
func Processes(uid int) ([]int, error) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []int
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile("/proc/" + d.Name() + "/status")
		if err == nil && runsAs(status, uid) {
			all = append(all, pid)
		}
	}
	return all, nil
}

// runsAs reports whether a process runs as a user, by its proc_pid_status(5).
func runsAs(status []byte, uid int) bool {
	values := map[string][]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		values[name] = strings.Fields(value)
	}
	state, threads, ids := values["State"], values["Threads"], values["Uid"]
	if len(state) == 0 || len(threads) == 0 || len(ids) < 3 || ended(state[0], threads[0]) {
		return false
	}
	// Real, effective, saved. The first and the third are those by which the kernel lets the user kill it. A daemon of
	// root's that works for the account for a moment, as the mail server's do, has the effective one alone, and this
	// process the fourth, the file system's, while it works on the account's files.
	want := strconv.Itoa(uid)
	return ids[0] == want || ids[2] == want
}

// Ended reports whether a process has ended and waits for its parent. fields are those of proc_pid_stat(5) after the name.
func Ended(fields []string) bool {
	const state, threads = 0, 17
	return len(fields) <= threads || ended(fields[state], fields[threads])
}

// ended reports whether a process of that state and number of threads has ended. The kernel tells the state of its first thread: a
// program can end that one alone, and go on in the others.
func ended(state, threads string) bool {
	return (state == "Z" || state == "X") && (threads == "0" || threads == "1")
}

// killAll ends every process of a user, by kill(2) with -1 as that user: the kernel kills in one step everything that
// the user may kill, so no fork escapes and no other process is hit.
func killAll(ctx context.Context, uid int) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		all, err := Processes(uid)
		if err != nil || len(all) == 0 {
			return err
		}
		killer := exec.CommandContext(ctx, "/bin/sh", "-c", "kill -KILL -1")
		killer.Dir = "/"
		killer.SysProcAttr = &syscall.SysProcAttr{
			Setsid:     true,
			Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, //nolint:gosec // G115: checked against the range of users
		}
		_ = killer.Run() // what counts is which processes are left
		select {
		case <-ctx.Done():
			return fmt.Errorf("accounts: %d processes of user %d live on: %w", len(all), uid, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// removeIPC removes the System V objects of a user, which outlive its processes: sysvipc(7).
func removeIPC(uid int) error {
	const remove = 0 // IPC_RMID; it is the second argument of two of the calls, and the third of one
	for _, kind := range []struct {
		file string
		uid  int // its column
		call uintptr
	}{
		{"shm", 7, unix.SYS_SHMCTL},
		{"sem", 4, unix.SYS_SEMCTL},
		{"msg", 7, unix.SYS_MSGCTL},
	} {
		data, err := os.ReadFile("/proc/sysvipc/" + kind.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for line := range bytes.Lines(data) {
			fields := bytes.Fields(line)
			if len(fields) <= kind.uid || string(fields[kind.uid]) != strconv.Itoa(uid) {
				continue
			}
			id, err := strconv.Atoi(string(fields[1]))
			if err != nil {
				continue // the heading
			}
			_, _, errno := syscall.Syscall6(kind.call, uintptr(id), remove, remove, 0, 0, 0)
			if errno != 0 && errno != unix.EINVAL && errno != unix.EIDRM {
				return fmt.Errorf("accounts: %s %d cannot be removed: %w", kind.file, id, errno)
			}
		}
	}
	return nil
}
