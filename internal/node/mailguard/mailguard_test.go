package mailguard_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stead.dev/stead/internal/node/mailguard"
)

// users is the range of the test; outsider is a user beside it.
var users = mailguard.Users{First: 61000, Last: 61999}

const (
	outsider = 62000
	inside   = "STEAD_TEST_MAILGUARD"
	public   = "203.0.113.25" // an address of this machine, as the world knows it
	public6  = "2001:db8::25"
	foreign  = "198.51.100.25" // somebody else's mail server, at the other end of a wire
	foreign6 = "2001:db8:1::25"
)

// TestMain also is the programs of the test that run elsewhere: the test itself in a network of its own, and a user's
// program that calls a server.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "call" {
		conn, err := net.DialTimeout("tcp", os.Args[2], time.Second)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_ = conn.Close()
		os.Exit(0)
	}
	code := m.Run()
	_ = os.Remove(copyOf)
	os.Exit(code)
}

// TestAccountsReachNoMailServer runs in a network namespace of its own, because its rules are for the whole of one.
func TestAccountsReachNoMailServer(t *testing.T) {
	if os.Getenv(inside) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=yes")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for _, line := range []string{
		"link set lo up", "addr add " + public + "/32 dev lo", "addr add " + public6 + "/128 dev lo nodad",
		// What leaves by this wire is lost: whom it was for does not answer, and does not refuse.
		"link add wire type veth peer name end", "link set wire up", "link set end up", "addr add 198.51.100.1/24 dev wire", "addr add 2001:db8:1::1/64 dev wire nodad",
	} {
		run(t, "/usr/sbin/ip", strings.Fields(line)...)
	}
	for _, port := range []string{"25", "465", "587", "80"} {
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if err := mailguard.Check(t.Context(), users); err == nil {
		t.Error("there are no rules, and the check finds nothing")
	}
	if got := call(t, users.First, public, "25"); got != "" {
		t.Errorf("without rules: %s", got)
	}
	run(t, mailguard.Program, "add", "table", "inet", "stead_other")
	for range 2 { // again when the next agent starts
		if err := mailguard.Set(t.Context(), users); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		user          int
		address, port string
		want          string
	}{
		{users.First, "127.0.0.1", "25", "refused"},
		{users.Last, "::1", "25", "refused"},
		{users.First, public, "25", "refused"},
		{users.First, public6, "25", "refused"},
		{users.First, foreign, "25", "refused"},
		{users.First, foreign, "465", "refused"},
		{users.Last, foreign, "587", "refused"},
		{users.First, foreign6, "25", "refused"},
		{users.Last, foreign6, "465", "refused"},
		{users.First, foreign6, "587", "refused"},
		// The machine's own submission asks for a password, and anything else is free.
		{users.First, "127.0.0.1", "587", ""},
		{users.First, public, "465", ""},
		{users.Last, public6, "587", ""},
		{users.First, public, "80", ""},
		{users.First, foreign, "80", lost},
		// Others are free: Postfix is one.
		{outsider, public, "25", ""},
		{outsider, foreign, "25", lost},
		{outsider, foreign6, "25", lost},
		{0, foreign, "25", lost},
	} {
		if got := call(t, c.user, c.address, c.port); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("user %d at %s, port %s: %q, want %q", c.user, c.address, c.port, got, c.want)
		}
	}
	out, err := exec.CommandContext(t.Context(), mailguard.Program, "list", "tables").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stead_other") {
		t.Errorf("the machine's other rules: %v: %s", err, out)
	}
	run(t, mailguard.Program, "delete", "table", "inet", "stead_mail")
	if err := mailguard.Check(t.Context(), users); err == nil {
		t.Error("the rules are gone, and the check finds nothing")
	}
}

func TestARangeOfUsersIsNeeded(t *testing.T) {
	for _, u := range []mailguard.Users{{}, {First: 0, Last: 100}, {First: 200, Last: 100}} {
		if err := mailguard.Set(t.Context(), u); err == nil || !strings.Contains(err.Error(), "no range") {
			t.Errorf("%+v: %v", u, err)
		}
	}
}

// call has a user's program connect to an address, and returns why it could not.
func call(t *testing.T, uid int, host, port string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), "call", net.JoinHostPort(host, port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	if said := string(out); strings.Contains(said, "timeout") || strings.Contains(said, "no route") {
		return lost
	}
	return strings.TrimSpace(string(out))
}

// lost is the answer for who does not answer.
const lost = "lost"

// program is a copy of this program that every user may run.
func program(t *testing.T) string {
	t.Helper()
	copied.Do(func() {
		self, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			err = os.WriteFile(copyOf, self, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return copyOf
}

var (
	copied sync.Once
	copyOf = fmt.Sprintf("/tmp/stead-mailguard-%d", os.Getpid())
)

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}
