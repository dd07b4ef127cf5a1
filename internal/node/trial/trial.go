// Package trial tries on a hosting machine whether the kernel holds what Stead relies on: the limits of accounts and what
// keeps them apart. It makes a user of its own, a process of whom breaks each rule in its turn.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/cgroup"
	"stead.dev/stead/internal/node/identity"
	"stead.dev/stead/internal/node/limits"
	"stead.dev/stead/internal/node/mailguard"
)

// Outcome is what a check found.
type Outcome string

// The outcomes.
const (
	Holds  Outcome = "holds"  // the rule was broken, and the machine held it
	Lacks  Outcome = "lacks"  // the machine does not have what the rule needs; Stead goes on with less
	Broken Outcome = "broken" // the machine has it, and the rule was broken
)

// Result is the result of a check.
type Result struct {
	Check   string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	// Detail says what was tried and what came of it.
	Detail string `json:"detail"`
}

// Config configures a run. The user is nobody's: UID is outside of the numbers of accounts, or not in use.
type Config struct {
	Dir   string // the machine's; homes are below it
	UID   int
	Users mailguard.Users // those of accounts
}

// name is the name of the user's group of processes.
const name = "stead-selftest"

// checkTime bounds a check.
const checkTime = 20 * time.Second

type test struct {
	Config
	groups *cgroup.Controllers
	quota  *limits.Quota // nil: the file system has none
	home   string
	other  string // a file of another account
	user   accounts.Account
}

// Run makes all checks. It needs root, and leaves nothing behind.
func Run(ctx context.Context, c Config) (results []Result, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("trial: only root can try what other users may do")
	}
	t := &test{Config: c, groups: cgroup.Machine()}
	dir, err := t.prepare()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if t.quota, err = limits.OpenQuota(dir); err != nil {
		return nil, err
	}
	if t.quota != nil {
		defer func() { err = errors.Join(err, t.quota.Close()) }()
	}
	defer func() { err = errors.Join(err, t.groups.Remove(name)) }()
	for _, check := range []struct {
		name string
		try  func(ctx context.Context) (Outcome, string, error)
	}{
		{"systemd", t.systemd},
		{"processes", t.processes},
		{"memory", t.memory},
		{"processor", t.processor},
		{"disk", t.disk},
		{"files", t.files},
		{"other accounts", t.others},
		{"privileges", t.privileges},
		{"mail ports", t.mailPorts},
	} {
		within, cancel := context.WithTimeout(ctx, checkTime)
		outcome, detail, err := check.try(within)
		cancel()
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		if err != nil {
			outcome, detail = Broken, err.Error()
		}
		results = append(results, Result{check.name, outcome, detail})
	}
	return results, nil
}

// prepare makes the user's home, and one of another account beside it.
func (t *test) prepare() (dir string, err error) {
	if err := os.MkdirAll(t.Dir, 0o711); err != nil {
		return "", fmt.Errorf("trial: %w", err)
	}
	if dir, err = os.MkdirTemp(t.Dir, "selftest-"); err != nil {
		return "", fmt.Errorf("trial: %w", err)
	}
	jail := filepath.Join(dir, "own")
	t.home, t.other = filepath.Join(jail, "home"), filepath.Join(dir, "other", "home", "secret")
	err = errors.Join(
		os.Chmod(dir, 0o711), //nolint:gosec // G302: users traverse it, as they do the folder of homes
		os.MkdirAll(t.home, 0o711), os.Chown(t.home, t.UID, t.UID),
		os.MkdirAll(filepath.Dir(t.other), 0o711), os.WriteFile(t.other, []byte("secret"), 0o644),
	)
	t.user = accounts.Account{Home: t.home, Jail: jail, Record: accounts.Record{
		Ref: name, Name: name, User: accounts.User{Name: name, UID: t.UID, GID: t.UID},
	}}
	if err != nil {
		return "", errors.Join(fmt.Errorf("trial: %w", err), os.RemoveAll(dir))
	}
	return dir, nil
}

// run runs a script of the shell as the user. An end that is no success is no error: most scripts are to fail.
func (t *test) run(ctx context.Context, script string) (output string, state *os.ProcessState, err error) {
	cmd := identity.Command(ctx, t.user, "/bin/sh", "-c", script)
	out, err := cmd.CombinedOutput()
	var ended interface{ ExitCode() int }
	if err != nil && !errors.As(err, &ended) {
		return "", nil, err
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState, ctx.Err()
}

func (t *test) systemd(context.Context) (Outcome, string, error) {
	switch _, err := os.Stat("/run/systemd/system"); {
	case errors.Is(err, fs.ErrNotExist):
		return Lacks, "systemd does not run: nothing starts the node with the machine, or again when it ends", nil
	case err != nil:
		return "", "", err
	}
	return Holds, "systemd runs", nil
}

// limited sets a limit for the user's processes; false where the machine has no controller for it.
func (t *test) limited(controller string, l cgroup.Limits) (bool, error) {
	has := t.groups.String()
	if has != "v2" && !strings.Contains(has, controller) {
		return false, nil
	}
	return true, t.groups.Set(name, l)
}

const noController = "the machine has no control group for it, or Stead may not make one (cgroups: %s)"

func (t *test) processes(ctx context.Context) (Outcome, string, error) {
	ok, err := t.limited("pids", cgroup.Limits{Processes: 8})
	if err != nil || !ok {
		return Lacks, fmt.Sprintf(noController, t.groups), err
	}
	// A shell that cannot fork ends, and says so.
	output, state, err := t.run(ctx, `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 1 & done; wait; echo all`)
	if err != nil {
		return "", "", err
	}
	if strings.HasSuffix(output, "all") || state.Success() {
		return Broken, "16 processes ran where 8 are allowed", nil
	}
	return Holds, "of 16 processes where 8 are allowed: " + lastLine(output), nil
}

func (t *test) memory(ctx context.Context) (Outcome, string, error) {
	ok, err := t.limited("memory", cgroup.Limits{MemoryMB: 32})
	if err != nil || !ok {
		return Lacks, fmt.Sprintf(noController, t.groups), err
	}
	// tail keeps a line until it ends.
	output, _, err := t.run(ctx, `head -c 200000000 /dev/zero | tail -n 1 | wc -c`)
	if err != nil {
		return "", "", err
	}
	if strings.Contains(output, "200000000") {
		return Broken, "a program got 200 MB where 32 MiB are allowed", nil
	}
	return Holds, "a program that wanted 200 MB where 32 MiB are allowed was ended", nil
}

func (t *test) processor(ctx context.Context) (Outcome, string, error) {
	const percent, seconds = 20, 3
	ok, err := t.limited("cpu", cgroup.Limits{CPUPercent: percent})
	if err != nil || !ok {
		return Lacks, fmt.Sprintf(noController, t.groups), err
	}
	_, state, err := t.run(ctx, fmt.Sprintf(`exec timeout %d sh -c 'while :; do :; done'`, seconds))
	if err != nil {
		return "", "", err
	}
	used := state.SystemTime() + state.UserTime()
	detail := fmt.Sprintf("a program that only computes had %.1f s of processor in %d s, where %d %% are allowed", used.Seconds(), seconds, percent)
	if used > seconds*time.Second*2*percent/100 { // periods are begun, and the start is not limited
		return Broken, detail, nil
	}
	return Holds, detail, nil
}

const noQuota = "the file system of the homes has no quotas: mount it with usrquota, or switch on the feature \"quota\" of ext4. Until then the limits of " +
	"disk and files are held by measuring"

func (t *test) disk(ctx context.Context) (Outcome, string, error) {
	if t.quota == nil {
		return Lacks, noQuota, nil
	}
	output, err := t.beyond(ctx, 4<<20, 0, `head -c 20000000 /dev/zero >big; wc -c <big`)
	if err != nil {
		return "", "", err
	}
	if strings.HasSuffix(output, "20000000") {
		return Broken, "20 MB were written where 4 MiB are allowed", nil
	}
	return Holds, "of 20 MB where 4 MiB are allowed, bytes that were written: " + lastLine(output), nil
}

func (t *test) files(ctx context.Context) (Outcome, string, error) {
	if t.quota == nil {
		return Lacks, noQuota, nil
	}
	output, err := t.beyond(ctx, 0, 20, `for i in 1 2 3 4 5 6 7 8 9; do : >a$i; : >b$i; : >c$i; : >d$i; done 2>/dev/null; ls | wc -l`)
	if err != nil {
		return "", "", err
	}
	if strings.HasSuffix(output, "36") {
		return Broken, "36 files were made where 20 are allowed", nil
	}
	return Holds, "of 36 files where 20 are allowed, made: " + lastLine(output), nil
}

// beyond runs a script of the user with limits of disk and files, which end with it.
func (t *test) beyond(ctx context.Context, bytes, inodes int64, script string) (output string, err error) {
	if err := t.quota.Set(t.UID, bytes, inodes); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.quota.Set(t.UID, 0, 0)) }()
	output, _, err = t.run(ctx, script)
	return output, err
}

func (t *test) others(ctx context.Context) (Outcome, string, error) {
	output, _, err := t.run(ctx, fmt.Sprintf(`cat %s 2>/dev/null; ls /proc/1/environ >/dev/null 2>&1 && echo processes; :`, t.other))
	if err != nil {
		return "", "", err
	}
	switch {
	case strings.HasPrefix(output, "secret"):
		return Lacks, "a file that its owner lets everybody read is read by another account: the kernel lets Stead make no mounts here, so the modes of files " +
			"alone keep accounts apart", nil
	case strings.HasSuffix(output, "processes"):
		return Lacks, "another account's files are not seen, its processes are: /proc cannot be mounted with hidepid", nil
	}
	return Holds, "neither another account's files nor its processes are seen", nil
}

func (t *test) privileges(ctx context.Context) (Outcome, string, error) {
	output, _, err := t.run(ctx, `grep -E '^(NoNewPrivs|CapEff):' /proc/self/status; id -u`)
	if err != nil {
		return "", "", err
	}
	fields := strings.Fields(output)
	want := []string{"CapEff:", "0000000000000000", "NoNewPrivs:", "1", fmt.Sprint(t.UID)}
	if fmt.Sprint(fields) != fmt.Sprint(want) {
		return Broken, strings.Join(fields, " "), nil
	}
	return Holds, "no capabilities, and none by programs that have some", nil
}

func (t *test) mailPorts(ctx context.Context) (Outcome, string, error) {
	err := mailguard.Check(ctx, t.Users)
	switch {
	case err == nil:
		return Holds, "users of accounts do not reach port 25, by IPv4 and IPv6", nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return Lacks, err.Error(), nil
	}
	return Lacks, "users of accounts reach port 25: the node offers no mail until `stead node` or its unit has set the rules of nftables (" + err.Error() + ")", nil
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
