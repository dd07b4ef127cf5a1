package ssh

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/ssh/session"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// TestMain is also the program that begins sessions.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == session.Word {
		fmt.Fprintln(os.Stderr, session.Main(os.Args[2:], os.Environ()))
		os.Exit(126)
	}
	os.Exit(m.Run())
}

type world struct {
	*nodetest.Machine
	t *testing.T
	*Driver
	cfg        Config
	alice, bob accounts.Account
	key, other gossh.Signer // alice's and bob's
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Machine: nodetest.New(t), t: t, key: newKey(t), other: newKey(t)}
	program, err := Program(w.Dir)
	w.must(err)
	w.cfg = Config{
		Dir: w.Dir, Lookup: w.Lookup, Supervisor: w.Supervisor, Now: time.Now, Log: nodetest.Log(t), Listen: "127.0.0.1",
		Port: testkit.Port(t), Host: "127.0.0.1", Session: program,
	}
	w.open()
	w.alice, w.bob = w.account("alice", w.key), w.account("bob", w.other)
	return w
}

func (w *world) open() {
	w.t.Helper()
	d, err := New(w.cfg)
	w.must(err)
	w.must(d.Start(w.t.Context()))
	w.t.Cleanup(func() { w.must(d.Close()) })
	w.Driver = d
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func newKey(t *testing.T) gossh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func public(s gossh.Signer) string {
	return strings.TrimSpace(string(gossh.MarshalAuthorizedKey(s.PublicKey())))
}

// account makes an account whose home has a secret, and gives it a key.
func (w *world) account(name string, key gossh.Signer) accounts.Account {
	w.t.Helper()
	a := w.Account(name, panel.Limits{DiskMB: 100, Processes: 200, MemoryMB: 4096})
	for file, content := range map[string]string{"secret.txt": "secret of " + name, "public_html/index.html": "site of " + name} {
		file = filepath.Join(a.Home, file)
		w.must(os.WriteFile(file, []byte(content), 0o600))
		w.must(os.Chown(file, a.User.UID, a.User.GID))
	}
	w.must(w.Apply(w.t.Context(), a))
	w.must(w.SetSSHKeys(w.t.Context(), a.Ref, []panel.SSHKey{{Name: "laptop", PublicKey: public(key)}}))
	return a
}

func (w *world) shell(a accounts.Account, on bool) {
	w.t.Helper()
	_, err := w.SetShellAccess(w.t.Context(), a.Ref, on)
	w.must(err)
}

func (w *world) dial(user string, auth ...gossh.AuthMethod) (*gossh.Client, error) {
	w.t.Helper()
	access, err := w.ShellAccess(w.t.Context(), "alice")
	w.must(err)
	return gossh.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(w.cfg.Port)), &gossh.ClientConfig{
		User: user, Auth: auth, Timeout: time.Minute,
		HostKeyCallback: func(_ string, _ net.Addr, key gossh.PublicKey) error {
			if got := gossh.FingerprintSHA256(key); got != access.Fingerprint {
				return fmt.Errorf("the server's key is %s, told is %s", got, access.Fingerprint)
			}
			return nil
		},
	})
}

// connect signs in and must.
func (w *world) connect(a accounts.Account, key gossh.Signer) *gossh.Client {
	w.t.Helper()
	c, err := w.dial(a.User.Name, gossh.PublicKeys(key))
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(w.Dir, "ssh/sshd.log"))
		w.t.Fatalf("%v\n%s", err, log)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (w *world) sftp(c *gossh.Client) *sftp.Client {
	w.t.Helper()
	s, err := sftp.NewClient(c)
	w.must(err)
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

// run runs a command in a shell.
func run(ctx context.Context, c *gossh.Client, command string) (string, error) {
	s, err := c.NewSession()
	if err != nil {
		return "", err
	}
	defer s.Close()
	type result struct {
		out []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := s.CombinedOutput(command)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return string(r.out), r.err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(time.Minute):
		return "", fmt.Errorf("%q does not end", command)
	}
}

func read(s *sftp.Client, name string) (string, error) {
	f, err := s.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

func write(s *sftp.Client, name, content string) error {
	f, err := s.Create(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, content)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
