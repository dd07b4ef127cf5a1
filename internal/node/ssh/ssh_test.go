package ssh

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

func TestFilesBySFTP(t *testing.T) {
	w := newWorld(t)
	for _, mode := range []string{"without a shell", "with a shell"} {
		t.Run(mode, func(t *testing.T) {
			w.shell(w.alice, mode == "with a shell")
			s := w.sftp(w.connect(w.alice, w.key))
			if got, err := read(s, "public_html/index.html"); err != nil || got != "site of alice" {
				t.Errorf("%q, %v", got, err)
			}
			w.must(write(s, "public_html/new.txt", "mine"))
			info, err := os.Stat(filepath.Join(w.alice.Home, "public_html/new.txt"))
			w.must(err)
			if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != w.alice.User.UID || int(st.Gid) == 0 {
				t.Errorf("the file belongs to %d:%d", st.Uid, st.Gid)
			}
			w.must(s.Remove("public_html/new.txt"))
			w.must(s.Mkdir("dir"))
			w.must(s.RemoveDirectory("dir"))
		})
	}
	access, err := w.ShellAccess(t.Context(), "alice")
	if err != nil || access.Port != w.cfg.Port || access.Username != w.alice.User.Name {
		t.Errorf("%+v, %v", access, err)
	}
}

// others are paths to what is not alice's, as a session of hers might name them.
func others(w *world) []string {
	return []string{
		filepath.Join(w.bob.Home, "secret.txt"), filepath.Join(w.bob.Home, "public_html/index.html"), "../../bob/home/secret.txt",
		"/../../bob/home/secret.txt", "/etc/shadow", filepath.Join(w.Dir, "ssh/host_ed25519"), filepath.Join(w.Dir, "ssh/keys", w.bob.User.Name),
	}
}

func TestSFTPShowsTheHomeAndNothingElse(t *testing.T) {
	w := newWorld(t)
	for name, target := range map[string]string{
		"out": "/etc", "bob": w.bob.Home, "up": "../../..", "bobs": filepath.Join(w.bob.Home, "secret.txt"), "proc": "/proc/self/root",
	} {
		w.must(os.Symlink(target, filepath.Join(w.alice.Home, name)))
		w.must(os.Lchown(filepath.Join(w.alice.Home, name), w.alice.User.UID, w.alice.User.GID))
	}
	s := w.sftp(w.connect(w.alice, w.key))
	root, err := s.ReadDir("/")
	w.must(err)
	if len(root) != 1 || root[0].Name() != "home" {
		t.Errorf("the root shows %v", root)
	}
	for _, p := range append(others(w), "/etc/passwd", "out/passwd", "bob/secret.txt", "bobs", "up/etc/passwd", "proc/etc/passwd") {
		if got, err := read(s, p); err == nil {
			t.Errorf("read %s: %q", p, got)
		}
	}
	for _, p := range []string{"bob", "out", "/etc", filepath.Dir(w.bob.Home), w.bob.Home, "proc"} {
		if list, err := s.ReadDir(p); err == nil {
			t.Errorf("listed %s: %v", p, list)
		}
	}
	if up, err := s.ReadDir("up"); err == nil && (len(up) != 1 || up[0].Name() != "home") {
		t.Errorf("climbed to %v", up)
	}
	if err := s.Link(filepath.Join("/", w.bob.Home, "secret.txt"), "stolen"); err == nil {
		t.Error("linked another's file")
	}
	for _, p := range []string{"/new", "/etc/new"} {
		if err := write(s, p, "mine"); err == nil {
			t.Errorf("wrote %s", p)
		}
	}
	if err := s.Rename("/home", "/gone"); err == nil {
		t.Error("the home was moved")
	}
	if err := s.Chown("/home/secret.txt", 0, 0); err == nil {
		t.Error("a file was given to root")
	}
}

func TestAShellSeesNothingOfOthers(t *testing.T) {
	w := newWorld(t)
	w.shell(w.alice, true)
	c := w.connect(w.alice, w.key)
	out, err := run(t.Context(), c, `id -un; pwd; echo "$HOME $TMPDIR"; cat public_html/index.html; echo; touch made tmp/made && perl -e 'print 6*7'; ulimit -c`)
	want := w.alice.User.Name + "\n" + w.alice.Home + "\n" + w.alice.Home + " " + w.alice.Home + "/tmp\nsite of alice\n420\n"
	if err != nil || out != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
	for _, p := range append(others(w), "/proc/1/cmdline", "/proc/1/environ", "/var/log/dpkg.log", "/root/.bashrc") {
		if got, err := run(t.Context(), c, "cat "+p); err == nil {
			t.Errorf("read %s: %q", p, got)
		}
	}
	for _, dir := range []string{w.bob.Home, filepath.Dir(w.bob.Home), filepath.Join(w.Dir, "accounts"), w.Dir, "/root", "/tmp", "/var", "/proc"} {
		if got, err := run(t.Context(), c, "ls "+dir); err == nil {
			t.Errorf("listed %s: %q", dir, got)
		}
	}
	for _, command := range []string{
		"touch /tmp/x", "touch /var/tmp/x", "touch /dev/shm/x", "touch /dev/shm/../x", "ln " + w.bob.Home + "/secret.txt stolen", "kill -0 1", "su -c true", "sudo -n true",
		"mount -t tmpfs x tmp", "chroot / true", "unshare -r true && ls " + w.bob.Home, "ls /proc/1/root",
		"ln -s " + w.bob.Home + " b && ls b/", "touch " + filepath.Join(w.Dir, "ssh/keys/x"), "echo x >> " + filepath.Join(w.Dir, "ssh/keys", w.alice.User.Name),
	} {
		if got, err := run(t.Context(), c, command); err == nil {
			t.Errorf("%s: %q", command, got)
		}
	}
	// A file of the home that sshd would run, or read, in other set-ups.
	_, err = run(t.Context(), c, "mkdir -p .ssh && echo 'touch ~/rc-ran' > .ssh/rc && echo 'FOO=bar' > .ssh/environment && cp /dev/null .ssh/authorized_keys")
	w.must(err)
	out, err = run(t.Context(), c, `echo "[$FOO]"; ls rc-ran`)
	if err == nil || !strings.Contains(out, "[]\n") {
		t.Errorf("%v: %q", err, out)
	}
	// What a session takes on itself holds for what it starts.
	if out, err := run(t.Context(), c, "bash -c 'ulimit -u; ulimit -n; cat /proc/self/status'"); err != nil && !strings.HasPrefix(out, "200\n4096\n") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestATerminalBySSH(t *testing.T) {
	w := newWorld(t)
	w.shell(w.alice, true)
	s, err := w.connect(w.alice, w.key).NewSession()
	w.must(err)
	defer s.Close()
	w.must(s.RequestPty("xterm", 33, 111, gossh.TerminalModes{}))
	in, err := s.StdinPipe()
	w.must(err)
	var out strings.Builder
	s.Stdout = &out
	w.must(s.Shell())
	_, err = in.Write([]byte("stty size; tty; exit\n"))
	w.must(err)
	w.must(s.Wait())
	if got := out.String(); !strings.Contains(got, "33 111") || !strings.Contains(got, "/dev/pts/") {
		t.Errorf("%q", got)
	}
}

func TestWithoutAShellNothingRuns(t *testing.T) {
	w := newWorld(t)
	c := w.connect(w.alice, w.key)
	for _, command := range []string{"id", "/bin/sh", "internal-sftp", "scp -t x", "rsync --server . x", "/usr/lib/openssh/sftp-server"} {
		if out, err := run(t.Context(), c, command); err == nil && strings.Contains(out, "uid=") || strings.Contains(out, w.alice.User.Name) {
			t.Errorf("%s: %q", command, out)
		}
	}
	s, err := c.NewSession()
	w.must(err)
	if err := s.RequestPty("xterm", 20, 80, gossh.TerminalModes{}); err == nil {
		t.Error("a terminal without a shell")
	}
	s, err = c.NewSession()
	w.must(err)
	if err := s.Shell(); err == nil && s.Wait() == nil {
		t.Error("a shell")
	}
}

func TestNothingIsForwarded(t *testing.T) {
	w := newWorld(t)
	w.shell(w.alice, true)
	c := w.connect(w.alice, w.key)
	if conn, err := c.Dial("tcp", "127.0.0.1:"+strconv.Itoa(w.cfg.Port)); err == nil {
		_ = conn.Close()
		t.Error("a connection through the server")
	}
	if conn, err := c.Dial("unix", filepath.Join(w.Dir, "ssh/join")); err == nil {
		_ = conn.Close()
		t.Error("a socket through the server")
	}
	if ln, err := c.Listen("tcp", "127.0.0.1:0"); err == nil {
		_ = ln.Close()
		t.Error("a port of the server")
	}
	if ln, err := c.Listen("unix", filepath.Join(w.alice.Home, "s")); err == nil {
		_ = ln.Close()
		t.Error("a socket of the server")
	}
	s, err := c.NewSession()
	w.must(err)
	x11 := gossh.Marshal(struct {
		Single       bool
		Proto, Data  string
		ScreenNumber uint32
	}{false, "MIT-MAGIC-COOKIE-1", "00", 0})
	for request, payload := range map[string][]byte{"auth-agent-req@openssh.com": nil, "x11-req": x11} {
		if ok, err := s.SendRequest(request, true, payload); ok || err != nil {
			t.Errorf("%s: %v, %v", request, ok, err)
		}
	}
	if _, _, err := c.OpenChannel("tun@openssh.com", gossh.Marshal(struct{ Mode, Unit uint32 }{1, 0})); err == nil {
		t.Error("a tunnel")
	}
}

func TestWhoHasNoKeyStaysOut(t *testing.T) {
	w := newWorld(t)
	passwords := gossh.Password("secret")
	asked := gossh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { return []string{"secret"}, nil })
	for name, try := range map[string]func() error{
		"another's key":   func() error { _, err := w.dial(w.alice.User.Name, gossh.PublicKeys(w.other)); return err },
		"unknown key":     func() error { _, err := w.dial(w.alice.User.Name, gossh.PublicKeys(newKey(t))); return err },
		"a password":      func() error { _, err := w.dial(w.alice.User.Name, passwords, asked); return err },
		"nothing":         func() error { _, err := w.dial(w.alice.User.Name); return err },
		"root":            func() error { _, err := w.dial("root", gossh.PublicKeys(w.key)); return err },
		"a path":          func() error { _, err := w.dial("../keys/"+w.alice.User.Name, gossh.PublicKeys(w.key)); return err },
		"a system's user": func() error { _, err := w.dial("www-data", gossh.PublicKeys(w.key)); return err },
	} {
		if try() == nil {
			t.Errorf("%s opens", name)
		}
	}
	// A key in the place where other servers look for it.
	w.must(os.MkdirAll(filepath.Join(w.alice.Home, ".ssh"), 0o700))
	w.must(os.WriteFile(filepath.Join(w.alice.Home, ".ssh/authorized_keys"), []byte(public(w.other)), 0o600))
	if _, err := w.dial(w.alice.User.Name, gossh.PublicKeys(w.other)); err == nil {
		t.Error("a key in the home opens")
	}
}

func TestKeysComeAndGo(t *testing.T) {
	w := newWorld(t)
	second := newKey(t)
	keys := []panel.SSHKey{{Name: "laptop", PublicKey: public(w.key)}, {Name: "second", PublicKey: public(second)}}
	w.must(w.SetSSHKeys(t.Context(), "alice", keys))
	w.connect(w.alice, second)
	testkit.Eventually(t, time.Minute, func() bool {
		got, err := w.SSHKeys(t.Context(), "alice")
		w.must(err)
		return len(got) == 2 && got[0].LastUsedAt == nil && got[1].LastUsedAt != nil
	}, "the use of the second key is noted, and of no other")
	// The next agent, a day later, reads of nothing that happened since.
	w.must(w.Close())
	w.cfg.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	w.open()
	got, err := w.SSHKeys(t.Context(), "alice")
	w.must(err)
	if got[0].LastUsedAt != nil || got[1].LastUsedAt == nil || got[1].LastUsedAt.After(time.Now().Add(time.Hour)) {
		t.Errorf("after a restart: %+v", got)
	}
	w.must(w.SetSSHKeys(t.Context(), "alice", keys[:1]))
	if _, err := w.dial(w.alice.User.Name, gossh.PublicKeys(second)); err == nil {
		t.Error("a key that was taken away opens")
	}
	w.connect(w.alice, w.key)
	w.must(w.SetSSHKeys(t.Context(), "alice", nil))
	if _, err := w.dial(w.alice.User.Name, gossh.PublicKeys(w.key)); err == nil {
		t.Error("an account without keys opens")
	}
}

func TestASuspendedAccountIsClosed(t *testing.T) {
	w := newWorld(t)
	w.shell(w.alice, true)
	c := w.connect(w.alice, w.key)
	s, err := c.NewSession()
	w.must(err)
	w.must(s.Start("sleep 600"))
	files := w.sftp(w.connect(w.alice, w.key))
	w.alice = w.Update("alice", func(r *accounts.Record) { r.Suspended = true })
	w.must(w.Apply(t.Context(), w.alice))
	if err := s.Wait(); err == nil {
		t.Error("the session ended by itself")
	}
	testkit.Eventually(t, time.Minute, func() bool { _, err := files.Getwd(); return err != nil }, "the SFTP session ends")
	if _, err := w.dial(w.alice.User.Name, gossh.PublicKeys(w.key)); err == nil {
		t.Error("a suspended account opens")
	}
	if _, err := w.SetShellAccess(t.Context(), "alice", true); !errors.Is(err, panel.ErrSuspended) {
		t.Error(err)
	}
	w.alice = w.Update("alice", func(r *accounts.Record) { r.Suspended = false })
	w.must(w.Apply(t.Context(), w.alice))
	if out, err := run(t.Context(), w.connect(w.alice, w.key), "echo back"); err != nil || out != "back\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestAShellThatIsSwitchedOffEnds(t *testing.T) {
	w := newWorld(t)
	w.shell(w.alice, true)
	s, err := w.connect(w.alice, w.key).NewSession()
	w.must(err)
	w.must(s.Start("trap '' HUP TERM; sleep 600 & wait"))
	// What runs as the user, but not of a session.
	cron := exec.CommandContext(t.Context(), "sleep", "600")
	cron.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(w.alice.User.UID), Gid: uint32(w.alice.User.GID)}}
	w.must(cron.Start())
	defer func() { _ = cron.Process.Kill(); _ = cron.Wait() }()
	w.shell(w.alice, false)
	if err := s.Wait(); err == nil {
		t.Error("the session ended by itself")
	}
	if left, err := sessionsOf(w.alice.User.UID); err != nil || len(left) > 0 {
		t.Errorf("processes %v are left, %v", left, err)
	}
	if err := cron.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("what was no session ended: %v", err)
	}
	if out, err := run(t.Context(), w.connect(w.alice, w.key), "echo shell"); err == nil && strings.Contains(out, "shell\n") {
		t.Errorf("%q", out)
	}
	w.sftp(w.connect(w.alice, w.key))
}

// TestAProcessIsSeenWhoseFirstThreadHasEnded: otherwise what it started would not be found below it.
func TestAProcessIsSeenWhoseFirstThreadHasEnded(t *testing.T) {
	pid, _ := nodetest.Headless(t, nodetest.Dir(t), nil)
	if p, _, ok := look(pid); !ok || p.parent != os.Getpid() {
		t.Errorf("seen: %v, %+v", ok, p)
	}
}

func TestSessionsOutliveTheAgent(t *testing.T) {
	w := newWorld(t)
	w.shell(w.alice, true)
	c := w.connect(w.alice, w.key)
	before := w.Supervisor.PID(unit)
	w.must(w.Close()) // all that the agent's end takes with it
	if out, err := run(t.Context(), c, "echo alive"); err != nil || out != "alive\n" {
		t.Errorf("%q, %v", out, err)
	}
	w.connect(w.alice, w.key) // new ones come in, too
	fingerprint := w.fingerprint
	w.open()
	if after := w.Supervisor.PID(unit); after != before || before == 0 {
		t.Errorf("sshd %d was started again as %d", before, after)
	}
	if w.fingerprint != fingerprint {
		t.Error("the server has another key")
	}
	if out, err := run(t.Context(), c, "echo still"); err != nil || out != "still\n" {
		t.Errorf("%q, %v", out, err)
	}
	// Another configuration ends no session either.
	w.must(w.Close())
	file := filepath.Join(w.Dir, "ssh/sshd_config")
	w.must(os.WriteFile(file, []byte("# of an older version\n"), 0o600))
	w.open()
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "DisableForwarding yes") {
		t.Errorf("%s, %v", data, err)
	}
	testkit.Eventually(t, time.Minute, func() bool {
		again, err := w.dial(w.alice.User.Name, gossh.PublicKeys(w.key))
		if err == nil {
			_ = again.Close()
		}
		return err == nil
	}, "sshd answers with the new configuration")
	if out, err := run(t.Context(), c, "echo on"); err != nil || out != "on\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestApplyPutsRightAndChangesNothingElse(t *testing.T) {
	w := newWorld(t)
	keys, root := filepath.Join(w.Dir, "ssh/keys", w.alice.User.Name), filepath.Join(w.Dir, "ssh/roots", w.alice.User.Name)
	stat := func() (times [2]time.Time) {
		for i, f := range []string{keys, root} {
			info, err := os.Lstat(f)
			w.must(err)
			times[i] = info.ModTime()
		}
		return times
	}
	before := stat()
	w.must(w.Apply(t.Context(), w.alice))
	if stat() != before {
		t.Error("what was right was written again")
	}
	w.must(os.WriteFile(keys, []byte(public(w.other)), 0o644))
	w.must(os.Remove(root))
	w.must(os.Symlink("/", root))
	w.must(w.Apply(t.Context(), w.alice))
	if _, err := w.dial(w.alice.User.Name, gossh.PublicKeys(w.other)); err == nil {
		t.Error("a key that somebody added by hand opens")
	}
	w.connect(w.alice, w.key)
	// An agent was killed when it had written the keys, and not yet given them to who reads them.
	w.must(os.Chmod(keys, 0o600))
	w.must(os.Chown(keys, 0, 0))
	w.must(w.Apply(t.Context(), w.alice))
	w.connect(w.alice, w.key)
	w.must(w.Remove(t.Context(), w.alice))
	for _, f := range []string{keys, root, filepath.Join(w.Dir, "ssh/records/alice.json")} {
		if _, err := os.Lstat(f); err == nil {
			t.Errorf("%s is left", f)
		}
	}
	w.must(w.Remove(t.Context(), w.alice))
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	w := newWorld(t)
	good := public(w.key)
	for _, bad := range []panel.SSHKey{
		{PublicKey: ""},
		{PublicKey: "ssh-ed25519"},
		{PublicKey: "ssh-ed25519 AAAA"},
		{PublicKey: `command="id" ` + good},
		{PublicKey: good + "\n" + good},
		{PublicKey: good + " comment"},
		{PublicKey: " " + good},
		{PublicKey: "ssh-rsa " + strings.Fields(good)[1]},
		{Name: "a\nb", PublicKey: good},
		{Name: strings.Repeat("x", 256), PublicKey: good},
		{PublicKey: "-----BEGIN OPENSSH PRIVATE KEY-----"},
	} {
		if err := w.SetSSHKeys(t.Context(), "alice", []panel.SSHKey{bad}); !errors.Is(err, panel.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	w.connect(w.alice, w.key)
	if _, err := New(Config{Dir: w.Dir, Lookup: w.Lookup, Supervisor: w.Supervisor, Now: time.Now, Log: w.cfg.Log, Port: 1, Session: []string{"/x", `"; id`}}); err == nil {
		t.Error("a session command that sshd would take for more")
	}
}

func TestLinesOfTheLog(t *testing.T) {
	fp := "SHA256:" + strings.Repeat("a", 43)
	for line, user := range map[string]string{
		"Accepted publickey for alice from 127.0.0.1 port 40318 ssh2: ED25519 " + fp:                                               "alice",
		"Accepted publickey for alice from ::1 port 40318 ssh2: ED25519 " + fp + "\r":                                              "alice",
		"Invalid user Accepted publickey for alice from 127.0.0.1 port 1 ssh2: ED25519 " + fp:                                      "",
		"Failed publickey for Accepted publickey for alice from 127.0.0.1 port 1 ssh2: ED25519 " + fp + " from 127.0.0.1 port 222": "",
		"Accepted publickey for a from b from 127.0.0.1 port 1 ssh2: ED25519 " + fp:                                                "",
		"Accepted password for alice from 127.0.0.1 port 40318 ssh2":                                                               "",
	} {
		got := ""
		if found := accepted.FindStringSubmatch(line); found != nil {
			got = found[1]
		}
		if got != user {
			t.Errorf("%q is read as of %q", line, got)
		}
	}
}
