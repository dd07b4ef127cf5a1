package remote_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/mail"
	"stead.dev/stead/internal/node/mailguard"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/node/ssh/session"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
	panelnode "stead.dev/stead/internal/port/panel/node"
	"stead.dev/stead/internal/port/panel/paneltest"
)

// TestMain is also the programs that a machine's daemons start: see cmd/stead.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == session.Word {
		fmt.Fprintln(os.Stderr, session.Main(os.Args[2:], os.Environ()))
		os.Exit(126)
	}
	if code, ok := mail.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, time.Now); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// everything are the capabilities of a machine that is given to hosting. Certificates are issued by the
// control plane, which asks it to answer the authority's challenges.
var everything = []panel.Capability{
	panel.CapAccounts, panel.CapUsage, panel.CapSites, panel.CapFiles, panel.CapArchives, panel.CapDeploys, panel.CapCertificates, panel.CapBackups, panel.CapHandover, panel.CapMoving, panel.CapInventory,
	panel.CapDatabases, panel.CapAdminer, panel.CapCron, panel.CapMail, panel.CapFTP, panel.CapShell, panel.CapTerminal, panel.CapPHP, panel.CapLogs, panel.CapMovedLogs,
}

// TestSuiteOnAMachineWithDaemons holds the whole contract on real users and real daemons, from afar: what the machine's own
// process is answered crosses the wire.
func TestSuiteOnAMachineWithDaemons(t *testing.T) {
	near := newMachine(t)
	far := connect(t, near)
	paneltest.RunSuite(t, everything, func(t *testing.T) panel.Panel {
		t.Cleanup(func() { empty(t, near) })
		return far
	})
}

// newMachine is a hosting machine on free ports of the loopback.
func newMachine(t *testing.T) panelnode.Panel {
	t.Helper()
	dir := nodetest.Dir(t)
	// What mail servers start, they start as users that do not pass the directory of go test.
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	program := filepath.Join(dir, "program")
	must(t, os.WriteFile(program, self, 0o755))
	cfg := machine.Config{
		Kind: machine.Linux, Dir: filepath.Join(dir, "m"), Now: time.Now, Log: nodetest.Log(t), Host: "127.0.0.1", IPv4: "127.0.0.1", WebGroup: nodetest.Web,
		Mail: machine.Mail{Hostname: "mx.stead.test", Program: []string{program}}, Guard: func(context.Context, mailguard.Users) error { return nil },
	}
	cfg.UserPrefix, cfg.UIDMin, cfg.UIDMax = nodetest.Users(t)
	for _, ports := range []reflect.Value{reflect.ValueOf(&cfg.Ports).Elem(), reflect.ValueOf(&cfg.Mail.Ports).Elem()} {
		for i := range ports.NumField() {
			ports.Field(i).SetInt(int64(testkit.Port(t)))
		}
	}
	cfg.OriginURL = fmt.Sprintf("http://127.0.0.1:%d", cfg.Ports.HTTP)
	cfg.Supervisor = nodetest.Supervisor(t, cfg.Dir)
	m, err := machine.Open(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	for capability, err := range m.Unready() {
		t.Fatalf("%s does not start: %v", capability, err)
	}
	p := panelnode.New(m.Node)
	_, err = p.CreateAccount(t.Context(), panel.AccountSpec{Ref: neighbour, PrimaryDomain: "neighbour.example"})
	must(t, err)
	t.Cleanup(func() { must(t, p.DeleteAccount(context.Background(), neighbour)) })
	return p
}

// neighbour is an account that is there all the while, so that servers that run only while there are
// accounts are not started for each test.
const neighbour = "neighbour"

// empty removes what a test left: its accounts, and their backups, which outlast them.
func empty(t *testing.T, p panelnode.Panel) {
	t.Helper()
	ctx := context.Background() // that of the test has ended
	for _, ref := range p.Refs() {
		if ref != neighbour {
			must(t, p.DeleteAccount(ctx, ref))
		}
	}
	for _, ref := range []string{"1001", "2", "3"} {
		list, err := p.ListBackups(ctx, ref)
		if panel.KindOf(err) == panel.ErrNotFound {
			continue
		}
		must(t, err)
		for _, b := range list {
			must(t, p.DeleteBackup(ctx, ref, b.ID))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
