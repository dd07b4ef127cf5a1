package machine_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"testing"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/testkit"
)

// The agent of a whole machine is killed at random moments while it provisions accounts on the real
// daemons. After each time the next agent finds every account complete or absent, none twice, and
// the daemons running, each once; and the interrupted work can be repeated.
func TestKilledAgentLeavesAccountsCompleteOrAbsent(t *testing.T) {
	if text := os.Getenv("STEAD_TEST_AGENT"); text != "" {
		provision(t, text)
	}
	const rounds = 50
	cfg := config(t)
	text, err := json.Marshal(told{cfg.Dir, cfg.Host, cfg.OriginURL, cfg.UserPrefix, cfg.UIDMin, cfg.UIDMax, cfg.Ports})
	must(t, err)
	program, err := os.Executable()
	must(t, err)
	must(t, open(t, cfg).Close()) // the daemons run from now on
	must(t, cfg.Supervisor.Close())
	there, absent := 0, 0
	for round := range rounds {
		agent := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
		agent.Env = append(os.Environ(), "STEAD_TEST_AGENT="+string(text))
		agent.Stderr = t.Output()
		out, err := agent.StdoutPipe()
		must(t, err)
		must(t, agent.Start())
		lines := bufio.NewScanner(out)
		for range 1 + random(t, 4) {
			if !lines.Scan() {
				t.Fatal("the agent ended by itself")
			}
		}
		<-time.After(time.Duration(random(t, 40000)) * time.Microsecond) // the moment is the point
		must(t, agent.Process.Kill())
		_ = agent.Wait() // killed, as told

		s, err := daemon.NewProcesses(daemon.Config{Dir: cfg.Dir + "/daemons", Now: time.Now, Log: nodetest.Log(t)})
		must(t, err)
		cfg.Supervisor = s
		m := open(t, cfg)
		names := map[string]bool{}
		for n := range provisioned {
			acc, err := m.Account(t.Context(), strconv.Itoa(n))
			if errors.Is(err, panel.ErrNotFound) {
				absent++
				continue
			}
			must(t, err)
			there++
			if names[acc.Username] {
				t.Errorf("round %d: %s is there twice", round, acc.Username)
			}
			names[acc.Username] = true
			a, err := m.Lookup(acc.Ref)
			must(t, err)
			if u, err := user.Lookup(a.User.Name); err != nil || u.Uid != strconv.Itoa(a.User.UID) {
				t.Errorf("round %d: user of %s: %v, %v", round, a.Ref, u, err)
			}
		}
		// One of them, complete or absent, is provisioned to the end and served.
		spec := provisionSpec(int(random(t, provisioned)))
		testkit.Eventually(t, time.Minute, func() bool { // an end that was interrupted is finished in the background first
			_, err = m.CreateAccount(t.Context(), spec)
			return !errors.Is(err, panel.ErrBusy)
		}, "the former account is gone")
		must(t, err)
		_, err = m.Files.Write(t.Context(), spec.Ref, "/public_html/index.html", []byte(spec.Ref+" is here"), panel.WriteOptions{})
		must(t, err)
		if status, body := get(t, cfg, spec.PrimaryDomain); status != 200 || body != spec.Ref+" is here" {
			t.Errorf("round %d: %s answers %d %q", round, spec.PrimaryDomain, status, body)
		}
		must(t, m.Close())
		must(t, s.Close())
	}
	t.Logf("accounts that were there: %d, that were absent: %d", there, absent)

	s, err := daemon.NewProcesses(daemon.Config{Dir: cfg.Dir + "/daemons", Now: time.Now, Log: nodetest.Log(t)})
	must(t, err)
	cfg.Supervisor = s
	m := open(t, cfg)
	for _, ref := range m.Refs() {
		must(t, m.DeleteAccount(t.Context(), ref))
	}
	must(t, m.Close())
	for _, name := range daemon.Running(cfg.Dir + "/daemons") {
		must(t, s.Stop(context.WithoutCancel(t.Context()), name))
	}
	must(t, s.Close())
}

func random(t *testing.T, most uint32) uint32 {
	t.Helper()
	var b [4]byte
	_, err := rand.Read(b[:])
	must(t, err)
	return binary.BigEndian.Uint32(b[:]) % most
}

const provisioned = 6

func provisionSpec(n int) panel.AccountSpec {
	return panel.AccountSpec{
		Ref: strconv.Itoa(n), Username: fmt.Sprintf("user%d", n), PrimaryDomain: fmt.Sprintf("user%d.example", n),
		Limits: panel.Limits{DiskMB: 10, Processes: 20, MemoryMB: 128},
	}
}

// told is what an agent of this test is told of its machine.
type told struct {
	Dir, Host, OriginURL, UserPrefix string
	UIDMin, UIDMax                   int
	Ports                            machine.Ports
}

// provision makes and ends accounts until the process is killed.
func provision(t *testing.T, text string) {
	var told told
	must(t, json.Unmarshal([]byte(text), &told))
	cfg := machine.Config{
		Kind: machine.Linux, Dir: told.Dir, Host: told.Host, OriginURL: told.OriginURL, UserPrefix: told.UserPrefix,
		UIDMin: told.UIDMin, UIDMax: told.UIDMax, Ports: told.Ports, Now: time.Now, Log: nodetest.Log(t),
	}
	s, err := daemon.NewProcesses(daemon.Config{Dir: cfg.Dir + "/daemons", Now: time.Now, Log: cfg.Log})
	must(t, err)
	cfg.Supervisor = s
	m, err := machine.Open(context.Background(), cfg)
	must(t, err)
	fmt.Println("open")
	for worker := range 2 {
		go func() {
			for i := 0; ; i++ {
				spec := provisionSpec(worker*3 + i%3)
				if err := m.DeleteAccount(context.Background(), spec.Ref); err != nil && !errors.Is(err, panel.ErrNotFound) {
					panic(err)
				}
				if _, err := m.CreateAccount(context.Background(), spec); err != nil {
					panic(err)
				}
				fmt.Println(spec.Ref)
			}
		}()
	}
	select {}
}
