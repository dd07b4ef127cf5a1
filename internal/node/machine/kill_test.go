package machine_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/machine"
	"stead.dev/stead/internal/node/mailguard"
	"stead.dev/stead/internal/node/nodetest"
	"stead.dev/stead/internal/port/panel"
)

// The agent of a whole machine is killed at random moments while it provisions accounts on the real
// daemons. After each time the next agent finds every account complete or absent, none twice, and
// the daemons running, each once; and the interrupted work can be repeated.
func TestKilledAgentLeavesAccountsCompleteOrAbsent(t *testing.T) {
	if text := os.Getenv("STEAD_TEST_AGENT"); text != "" {
		provision(t, text)
	}
	const rounds = 5 // each run of the tests tries other moments
	cfg := config(t)
	text, err := json.Marshal(told{cfg.Dir, cfg.Host, cfg.OriginURL, cfg.UserPrefix, cfg.UIDMin, cfg.UIDMax, cfg.Ports})
	must(t, err)
	program, err := os.Executable()
	must(t, err)
	m := open(t, cfg) // the daemons run from now on
	// They are the same to the end, whose supervisor is another one: this ends what a failure leaves.
	pids := daemons(cfg)
	must(t, m.Close())
	t.Cleanup(func() {
		s, err := daemon.NewProcesses(daemon.Config{Dir: cfg.Dir + "/daemons", Now: time.Now, Log: nodetest.Log(t)})
		must(t, err)
		cfg.Supervisor = s
		m, err := machine.Open(context.Background(), cfg)
		must(t, err)
		for _, ref := range m.Refs() {
			// An end that a kill interrupted may be finished by the machine itself meanwhile.
			if err := m.DeleteAccount(context.Background(), ref); err != nil && !errors.Is(err, panel.ErrNotFound) {
				t.Error(err)
			}
		}
		if err := errors.Join(m.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	must(t, cfg.Supervisor.Close())
	var there, absent int
	for round := range rounds + 1 { // the last agent only finds what the one before left
		agent := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
		agent.Env = append(os.Environ(), "STEAD_TEST_AGENT="+string(text))
		var said bytes.Buffer
		agent.Stderr = &said
		_, err := agent.StdinPipe() // its end tells the agent that the test is gone
		must(t, err)
		out, err := agent.StdoutPipe()
		must(t, err)
		must(t, agent.Start())
		lines := bufio.NewScanner(out)
		works := false
		for lines.Scan() && !works {
			n, m := 0, 0
			if _, err := fmt.Sscanf(lines.Text(), "found %d %d", &n, &m); err == nil {
				there, absent, works = there+n, absent+m, true
				break
			}
			said.WriteString(lines.Text() + "\n")
		}
		for range random(t, 4) {
			works = works && lines.Scan()
		}
		<-time.After(time.Duration(random(t, 40000)) * time.Microsecond) // sleeps: the agent is killed at any moment
		must(t, agent.Process.Kill())
		_ = agent.Wait() // killed, as told
		if !works {
			t.Fatalf("round %d: the agent ended by itself: %s", round, said.String())
		}
	}
	t.Logf("accounts that were there: %d, that were absent: %d", there, absent)
	if now := daemons(cfg); !maps.Equal(now, pids) {
		t.Errorf("daemons were started anew: %v, were %v", now, pids)
	}
}

// daemons are the ids of those daemons that go on whatever becomes of the accounts.
func daemons(cfg machine.Config) map[string]string {
	pids := map[string]string{}
	for _, name := range daemon.Running(cfg.Dir + "/daemons") {
		line, err := os.ReadFile(cfg.Dir + "/daemons/" + name + ".pid")
		if err == nil && !strings.HasPrefix(name, "php") {
			pids[name], _, _ = strings.Cut(string(line), " ")
		}
	}
	return pids
}

// look is what an agent finds after the end of the one before it.
func look(m *machine.Machine, cfg machine.Config) (there, absent int, err error) {
	ctx := context.Background()
	for capability, err := range m.Unready() {
		return 0, 0, fmt.Errorf("%s does not start: %w", capability, err)
	}
	names := map[string]bool{}
	for n := range provisioned {
		acc, err := m.Account(ctx, strconv.Itoa(n))
		if errors.Is(err, panel.ErrNotFound) {
			absent++
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		there++
		if names[acc.Username] {
			return 0, 0, fmt.Errorf("%s is there twice", acc.Username)
		}
		names[acc.Username] = true
		a, err := m.Lookup(acc.Ref)
		if err != nil {
			return 0, 0, err
		}
		if u, err := user.Lookup(a.User.Name); err != nil || u.Uid != strconv.Itoa(a.User.UID) {
			return 0, 0, fmt.Errorf("user of %s: %v, %w", a.Ref, u, err)
		}
	}
	// One of them, complete or absent, is provisioned to the end and served.
	var b [1]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, 0, err
	}
	spec := provisionSpec(int(b[0]) % provisioned)
	for over := time.After(2 * time.Minute); ; { // an end that was interrupted is finished in the background first
		if _, err = m.CreateAccount(ctx, spec); !errors.Is(err, panel.ErrBusy) {
			break
		}
		select {
		case <-over: // sleeps: between questions of a process that is killed
			return 0, 0, fmt.Errorf("the former account is not gone: %w", err)
		case <-time.After(10 * time.Millisecond): // sleeps: as above
		}
	}
	if err != nil {
		return 0, 0, err
	}
	if _, err := m.Files.Write(ctx, spec.Ref, "/public_html/index.html", []byte(spec.Ref+" is here"), panel.WriteOptions{}); err != nil {
		return 0, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.OriginURL+"/", nil)
	if err != nil {
		return 0, 0, err
	}
	req.Host = spec.PrimaryDomain
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || string(body) != spec.Ref+" is here") {
		err = fmt.Errorf("%s answers %d %q", spec.PrimaryDomain, res.StatusCode, body)
	}
	return there, absent, err
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
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	var told told
	must(t, json.Unmarshal([]byte(text), &told))
	cfg := machine.Config{
		Kind: machine.Linux, Dir: told.Dir, Host: told.Host, OriginURL: told.OriginURL, UserPrefix: told.UserPrefix,
		UIDMin: told.UIDMin, UIDMax: told.UIDMax, Ports: told.Ports, Now: time.Now, Log: nodetest.Log(t),
		Guard: func(context.Context, mailguard.Users) error { return nil },
	}
	s, err := daemon.NewProcesses(daemon.Config{Dir: cfg.Dir + "/daemons", Now: time.Now, Log: cfg.Log})
	must(t, err)
	cfg.Supervisor = s
	m, err := machine.Open(context.Background(), cfg)
	must(t, err)
	there, absent, err := look(m, cfg)
	must(t, err)
	fmt.Println("found", there, absent)
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
