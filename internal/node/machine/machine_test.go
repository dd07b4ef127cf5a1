package machine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"os/user"
	"reflect"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/mailguard"
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

// config is a whole Linux machine on free ports of the loopback.
func config(t *testing.T) machine.Config {
	t.Helper()
	dir := nodetest.Dir(t)
	cfg := machine.Config{
		Kind: machine.Linux, Dir: dir, Now: time.Now, Log: nodetest.Log(t), Host: "127.0.0.1", WebGroup: nodetest.Web,
		Supervisor: nodetest.Supervisor(t, dir),
		// Its rules are the whole machine's: package mailguard tests them in a network of their own.
		Guard: func(context.Context, mailguard.Users) error { return nil },
	}
	cfg.UserPrefix, cfg.UIDMin, cfg.UIDMax = nodetest.Users(t)
	ports := reflect.ValueOf(&cfg.Ports).Elem()
	for i := range ports.NumField() {
		ports.Field(i).SetInt(int64(testkit.Port(t)))
	}
	cfg.OriginURL = fmt.Sprintf("http://127.0.0.1:%d", cfg.Ports.HTTP)
	return cfg
}

func open(t *testing.T, cfg machine.Config) *machine.Machine {
	t.Helper()
	m, err := machine.Open(context.Background(), cfg)
	must(t, err)
	for capability, err := range m.Unready() {
		t.Errorf("%s does not start: %v", capability, err)
	}
	return m
}

func get(t *testing.T, cfg machine.Config, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.OriginURL+"/", nil)
	must(t, err)
	req.Host = host
	res, err := http.DefaultTransport.RoundTrip(req)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(body)
}

// The agent ends, as for an upgrade, and the next one takes over: no daemon is started anew, and the
// sites are served all the while.
func TestAgentIsReplacedAndSitesAreServedAllTheWhile(t *testing.T) {
	cfg := config(t)
	m := open(t, cfg)
	ctx := context.Background()
	for _, ref := range []string{"alizq", "bob"} {
		_, err := m.CreateAccount(ctx, panel.AccountSpec{Ref: ref, Username: ref, PrimaryDomain: ref + ".example", Limits: panel.Limits{DiskMB: 50, Processes: 20}})
		must(t, err)
		_, err = m.Files.Write(ctx, ref, "/public_html/index.html", []byte("site of "+ref), panel.WriteOptions{})
		must(t, err)
	}
	expect := func(ref string, status int, text string) {
		t.Helper()
		if got, body := get(t, cfg, ref+".example"); got != status || !strings.Contains(body, text) {
			t.Errorf("%s: %d %.80q, want %d %q", ref, got, body, status, text)
		}
	}
	expect("alizq", 200, "site of alizq")
	running := daemon.Running(cfg.Dir + "/daemons")
	if len(running) == 0 {
		t.Fatal("no daemon is supervised")
	}
	pids := map[string]int{}
	for _, name := range running {
		pids[name] = cfg.Supervisor.PID(name)
	}
	must(t, m.Close())
	must(t, cfg.Supervisor.Close())
	expect("alizq", 200, "site of alizq")

	next, err := daemon.NewProcesses(daemon.Config{Dir: cfg.Dir + "/daemons", Now: time.Now, Log: nodetest.Log(t)})
	must(t, err)
	defer func() {
		for _, name := range daemon.Running(cfg.Dir + "/daemons") {
			must(t, next.Stop(ctx, name))
		}
		must(t, next.Close())
	}()
	cfg.Supervisor = next
	m = open(t, cfg)
	defer func() { must(t, m.Close()) }()
	for name, pid := range pids {
		if now := next.PID(name); now != pid {
			t.Errorf("%s was started anew: %d, was %d", name, now, pid)
		}
	}
	expect("bob", 200, "site of bob")

	must(t, m.SuspendAccount(ctx, "alizq"))
	expect("alizq", 503, "")
	must(t, m.UnsuspendAccount(ctx, "alizq"))
	expect("alizq", 200, "site of alizq")
	a, err := m.Lookup("alizq")
	must(t, err)
	must(t, m.DeleteAccount(ctx, "alizq"))
	if status, body := get(t, cfg, "alizq.example"); status == 200 {
		t.Errorf("served after its end: %s", body)
	}
	if _, err := user.Lookup(a.User.Name); err == nil {
		t.Error("the user is left")
	}
	out, err := exec.CommandContext(ctx, "find", cfg.Dir, "-name", "trash", "-prune", "-o", "(", "-user", fmt.Sprint(a.User.UID), "-o", "-group", fmt.Sprint(a.User.GID), ")", "-print").Output()
	if err != nil || len(out) > 0 {
		t.Errorf("files of the account are left: %s, %v", out, err)
	}
	out, err = exec.CommandContext(ctx, "grep", "-rIlE", `\balizq\b`, "--exclude=*.log*", "--exclude-dir=trash", "--exclude-dir=daemons", cfg.Dir).Output()
	if len(out) > 0 {
		t.Errorf("files that name the account are left: %s, %v", out, err)
	}
	must(t, m.DeleteAccount(ctx, "bob"))
}
