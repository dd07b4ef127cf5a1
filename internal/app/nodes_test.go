package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/node/agent"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// runNode joins a machine to the control plane at a and runs it until the test ends, or until stop is called. also are further
// settings of it.
func runNode(t *testing.T, a *App, token string, also map[string]string) (stop func()) {
	t.Helper()
	address := testkit.Address(t)
	settings := map[string]string{"agent_listen": address}
	maps.Copy(settings, also)
	cfg := testConfig(t, settings)
	if err := RunNode(t.Context(), cfg, quietly()); !errors.Is(err, agent.ErrNotJoined) {
		t.Fatalf("a machine that has not joined runs: %v", err)
	}
	if _, err := JoinNode(t.Context(), cfg, agent.Invitation{URL: a.NodesURL(), Token: token, Address: address}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- RunNode(ctx, cfg, quietly()) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("node: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func TestTheDoctorCallsTheNodes(t *testing.T) {
	a := start(t, map[string]string{"panel": "nodes", "nodes_listen": "127.0.0.1:0", "node_listen": "off", "base_url": "http://stead.test"})
	invite := func(name string) string {
		t.Helper()
		_, token, err := a.nodes.Add(t.Context(), nodes.NewNode{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	found := func(version string) (all []string) {
		for _, c := range Examine(t.Context(), a.cfg, version).Checks {
			if c.Name == "nodes" {
				all = append(all, string(c.Status)+" "+c.Found)
			}
		}
		return all
	}
	expect := func(version string, want ...string) {
		t.Helper()
		if got := found(version); !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	invite("invited")
	expect("test", "fail none has joined")
	runNode(t, a, invite("node1"), nil)
	testkit.Eventually(t, heard, func() bool { return strings.HasPrefix(found("test")[0], "ok 1 report and answer; 1 of them") }, "the node has reported")
	expect("newer", "warn node1 runs version test, this is newer")
	// One that has joined and does not run.
	cfg := testConfig(t, nil)
	if _, err := JoinNode(t.Context(), cfg, agent.Invitation{URL: a.NodesURL(), Token: invite("node2"), Address: testkit.Address(t), Version: "test"}); err != nil {
		t.Fatal(err)
	}
	expect("test", "fail node2 has not reported since")
}

func TestANodeIsAPanelOfEveryReplica(t *testing.T) {
	both := map[string]string{"panel": "nodes", "nodes_listen": "127.0.0.1:0", "node_listen": "off"}
	settings := map[string]string{"database_url": testkit.PostgresURL(t), "data_dir": t.TempDir(), "base_url": "http://stead.test"}
	for k, v := range both {
		settings[k] = v
	}
	one, other := start(t, settings), start(t, settings)
	if _, ok := one.panels.Panel("node:1"); ok {
		t.Error("there is a node before one was added")
	}
	added, token, err := one.nodes.Add(t.Context(), nodes.NewNode{Name: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	runNode(t, other, token, nil) // joins by one replica
	name := nodes.PanelName(added.ID)
	for _, a := range []*App{one, other} {
		testkit.Eventually(t, heard, func() bool {
			p, ok := a.panels.Panel(name)
			if !ok {
				return false
			}
			_, err := panel.Of[panel.Files](p, panel.CapFiles)
			return err == nil
		}, "the replica has the node and knows what it can do")
		p, _ := a.panels.Panel(name)
		accounts, err := panel.Of[panel.Accounts](p, panel.CapAccounts)
		if err != nil {
			t.Fatal(err)
		}
		acc, err := accounts.CreateAccount(t.Context(), panel.AccountSpec{Ref: "7", Username: "s7", PrimaryDomain: "seven.example"})
		if err != nil || acc.Username != "s7" {
			t.Errorf("account: %+v, %v", acc, err)
		}
		if again, _ := a.panels.Panel(name); again != p {
			t.Error("the connection is made anew for each call")
		}
	}
	if _, err := one.nodes.Remove(t.Context(), "node1", false); err != nil {
		t.Fatal(err)
	}
	if _, ok := one.panels.Panel(name); ok {
		t.Error("where it was removed it is called still")
	}
	began := time.Now()
	testkit.Eventually(t, heard, func() bool {
		_, ok := other.panels.Panel(name)
		return !ok
	}, "the other replica has it no more")
	t.Logf("heard after %v", time.Since(began))
}
