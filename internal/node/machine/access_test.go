package machine

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	ftpclient "github.com/jlaffaye/ftp"
	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/ssh/session"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
)

// agentWord makes the test's program an agent, to be killed.
const agentWord = "agent-of-a-test"

// TestMain is also the program that begins sessions, and the agent that is killed.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == session.Word:
		fmt.Fprintln(os.Stderr, session.Main(os.Args[2:], os.Environ()))
		os.Exit(126)
	case len(os.Args) > 2 && os.Args[1] == agentWord:
		if err := agent(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// wish is what an agent of a test is told.
type wish struct {
	Dir, Prefix string
	Least, Most int
	Ports       Ports
}

func (w wish) config() Config {
	return Config{
		Kind: Linux, Dir: w.Dir, Now: time.Now, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Host: "127.0.0.1", Ports: w.Ports,
		UserPrefix: w.Prefix, UIDMin: w.Least, UIDMax: w.Most, OriginURL: "http://127.0.0.1:1", IPv4: "127.0.0.1",
	}
}

// agent opens the machine, says so, and goes on until it is told to stop.
func agent(told string) error {
	var w wish
	if err := json.Unmarshal([]byte(told), &w); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	m, err := Open(ctx, w.config())
	if err != nil {
		return err
	}
	fmt.Println("open")
	<-ctx.Done()
	return m.Close()
}

// visitor is a customer with a key.
type visitor struct {
	t    *testing.T
	p    panelnode.Panel
	ref  string
	key  gossh.Signer
	user string
	port int
}

func welcome(t *testing.T, p panelnode.Panel, ref string) *visitor {
	t.Helper()
	_, err := p.CreateAccount(t.Context(), panel.AccountSpec{
		Ref: ref, Username: ref, PrimaryDomain: ref + ".example", Limits: panel.Limits{DiskMB: 20, Processes: 60, MemoryMB: 1024},
	})
	v := &visitor{t: t, p: p, ref: ref}
	v.must(err)
	_, err = p.Write(t.Context(), ref, "/private.txt", []byte("secret of "+ref), panel.WriteOptions{})
	v.must(err)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	v.must(err)
	v.key, err = gossh.NewSignerFromKey(private)
	v.must(err)
	v.must(p.SetSSHKeys(t.Context(), ref, []panel.SSHKey{{Name: "laptop", PublicKey: strings.TrimSpace(string(gossh.MarshalAuthorizedKey(v.key.PublicKey())))}}))
	access, err := p.ShellAccess(t.Context(), ref)
	v.must(err)
	v.user, v.port = access.Username, access.Port
	_, err = p.SetFTPAccount(t.Context(), ref, panel.FTPAccount{Username: ref + "_web", Home: "/public_html", Password: "secret of the server", PasswordVersion: "1"})
	v.must(err)
	return v
}

func (v *visitor) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) ssh() (*gossh.Client, error) {
	return gossh.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(v.port)), &gossh.ClientConfig{
		User: v.user, Auth: []gossh.AuthMethod{gossh.PublicKeys(v.key)}, Timeout: time.Minute,
		HostKeyCallback: gossh.InsecureIgnoreHostKey(), // a loopback server of the test
	})
}

func (v *visitor) connect() *gossh.Client {
	v.t.Helper()
	c, err := v.ssh()
	v.must(err)
	v.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (v *visitor) run(c *gossh.Client, command string) string {
	v.t.Helper()
	s, err := c.NewSession()
	v.must(err)
	defer s.Close()
	out, err := s.CombinedOutput(command)
	if err != nil {
		return "failed: " + string(out)
	}
	return strings.TrimSpace(string(out))
}

func (v *visitor) ftp() (*ftpclient.ServerConn, error) {
	list, err := v.p.FTPAccounts(v.t.Context(), v.ref)
	v.must(err)
	c, err := ftpclient.Dial(net.JoinHostPort("127.0.0.1", strconv.Itoa(list[0].Port)), ftpclient.DialWithTimeout(20*time.Second),
		ftpclient.DialWithExplicitTLS(&tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(4)}))
	if err != nil {
		return nil, err
	}
	v.t.Cleanup(func() { _ = c.Quit() })
	return c, c.Login(list[0].Username, "secret of the server")
}

func TestTheWaysInToAnAccount(t *testing.T) {
	_, p, _ := open(t, func(c *Config) { c.IPv4 = "127.0.0.1" })
	alice, bob := welcome(t, p, "alice"), welcome(t, p, "bob")
	_, err := p.SetShellAccess(t.Context(), "alice", true)
	alice.must(err)

	transfer, err := alice.ftp()
	alice.must(err)
	alice.must(transfer.Stor("by-ftp.txt", strings.NewReader("ftp")))
	files, err := sftp.NewClient(bob.connect())
	bob.must(err)
	defer files.Close()
	f, err := files.Create("/home/public_html/by-sftp.txt")
	bob.must(err)
	_, err = f.Write([]byte("sftp"))
	bob.must(err)
	bob.must(f.Close())
	shell := alice.connect()
	if got := alice.run(shell, "cat public_html/by-ftp.txt && echo ' shell' > public_html/by-shell.txt && id -un"); got != "ftp"+alice.user {
		t.Errorf("%q", got)
	}
	for ref, path := range map[string]string{"alice": "/public_html/by-shell.txt", "bob": "/public_html/by-sftp.txt"} {
		if _, err := p.Stat(t.Context(), ref, path); err != nil {
			t.Errorf("what came by one way is not seen by another: %v", err)
		}
	}
	// Each by his own way tries the other's door.
	home := strings.TrimSpace(alice.run(shell, "pwd"))
	other := strings.Replace(home, "/alice/", "/bob/", 1)
	if home == other {
		t.Fatalf("no other home than %s", home)
	}
	for _, command := range []string{"cat " + other + "/private.txt", "ls " + other, "ln -s " + other + " ~/b && cat ~/b/private.txt", "ln " + other + "/private.txt ~/stolen"} {
		if got := alice.run(shell, command); !strings.HasPrefix(got, "failed") {
			t.Errorf("%s: %q", command, got)
		}
	}
	if _, err := transfer.Retr("../../../bob/home/private.txt"); err == nil {
		t.Error("by FTP")
	}
	if _, err := files.Open(home + "/private.txt"); err == nil {
		t.Error("by SFTP")
	}
	// The disk limit holds for FTP, too.
	if err := transfer.Stor("huge", io.LimitReader(zeroes{}, 30<<20)); err == nil {
		t.Error("30 MB in an account of 20")
	}
	alice.must(transfer.Delete("huge"))

	in, typing := io.Pipe()
	screen, err := p.OpenTerminal(t.Context(), "alice", panel.TerminalSize{Columns: 80, Rows: 24}, in)
	alice.must(err)
	keys := panel.NewTerminalWriter(typing)
	_, err = keys.Write([]byte("echo in=$(id -un); exit\n"))
	alice.must(err)
	shown, err := io.ReadAll(screen)
	if err != nil || !strings.Contains(string(shown), "in="+alice.user) {
		t.Errorf("%q, %v", shown, err)
	}
	alice.must(screen.Close())
	if _, err := p.OpenTerminal(t.Context(), "bob", panel.TerminalSize{Columns: 80, Rows: 24}, in); panel.KindOf(err) != panel.ErrUnsupported {
		t.Errorf("bob has no shell: %v", err)
	}

	alice.must(p.SuspendAccount(t.Context(), "alice"))
	testkit.Eventually(t, time.Minute, func() bool { _, err := shell.NewSession(); return err != nil }, "the session ends")
	if err := transfer.NoOp(); err == nil {
		t.Error("the FTP session goes on")
	}
	if _, err := alice.ssh(); err == nil {
		t.Error("SSH of a suspended account")
	}
	if _, err := alice.ftp(); err == nil {
		t.Error("FTP of a suspended account")
	}
	bob.connect()
	alice.must(p.UnsuspendAccount(t.Context(), "alice"))
	alice.connect()
	alice.must(p.DeleteAccount(t.Context(), "alice"))
	if _, err := alice.ssh(); err == nil {
		t.Error("SSH of an account that is gone")
	}
}

// zeroes never end.
type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestAKilledAgentEndsNoSession(t *testing.T) {
	dir := nodetest.Dir(t)
	prefix, least, most := nodetest.Users(t)
	// Ends what is left of the daemons.
	nodetest.Supervisor(t, dir)
	w := wish{Dir: dir, Prefix: prefix, Least: least, Most: most, Ports: Ports{HTTP: testkit.Port(t), HTTPS: testkit.Port(t), FTP: testkit.Port(t), SSH: testkit.Port(t), MariaDB: testkit.Port(t), PostgreSQL: testkit.Port(t)}}
	// The account is there before the agent that is killed.
	m, err := Open(t.Context(), w.config())
	must(t, err)
	p := panelnode.New(m.Node)
	alice := welcome(t, p, "alice")
	_, err = p.SetShellAccess(t.Context(), "alice", true)
	must(t, err)
	must(t, m.Close())
	told, err := json.Marshal(w)
	must(t, err)
	child := exec.Command("/proc/self/exe", agentWord, string(told))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	line := make([]byte, 5)
	if _, err := io.ReadFull(out, line); err != nil {
		t.Fatal(err, child.Wait())
	}

	c := alice.connect()
	s, err := c.NewSession()
	must(t, err)
	typing, err := s.StdinPipe()
	must(t, err)
	pipe, err := s.StdoutPipe()
	must(t, err)
	answers := bufio.NewReader(pipe)
	must(t, s.Start("echo open; read word; echo heard=$word"))
	if line, err := answers.ReadString('\n'); line != "open\n" { // until then the agent is asked to let it in
		t.Fatalf("%q, %v", line, err)
	}
	must(t, child.Process.Kill())
	_ = child.Wait()
	_, err = typing.Write([]byte("still\n"))
	must(t, err)
	if line, err := answers.ReadString('\n'); line != "heard=still\n" {
		t.Errorf("the session that was open: %q, %v", line, err)
	}
	must(t, s.Wait())
	if got := alice.run(alice.connect(), "echo new"); got != "new" {
		t.Errorf("a session without an agent: %q", got)
	}
	m, err = Open(t.Context(), w.config())
	must(t, err)
	defer func() {
		must(t, m.DeleteAccount(context.Background(), "alice"))
		must(t, m.Close())
	}()
	if got := alice.run(c, "echo after"); got != "after" {
		t.Errorf("after the next agent came: %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "ssh", "join")); err != nil {
		t.Error(err)
	}
}
