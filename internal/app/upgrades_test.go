package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
	"stead.dev/stead/internal/port/panel/remote"
)

// scriptedAgents upgrade as a test says, and report at once.
type scriptedAgents struct {
	a       *App
	refuses map[int64]error
	silent  map[int64]bool // they do not come back
	runs    map[int64]string
	asked   []int64
}

func (r *scriptedAgents) Own() string { return "v2.0.0" }

func (r *scriptedAgents) Version(_ context.Context, id int64) (string, error) {
	if r.silent[id] && r.runs[id] != "" {
		return "", errors.New("no answer")
	}
	return r.runs[id], nil
}

func (r *scriptedAgents) Upgrade(ctx context.Context, id int64) error {
	r.asked = append(r.asked, id)
	if r.refuses[id] != nil {
		return r.refuses[id]
	}
	r.runs[id] = r.Own()
	return r.a.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET version = $1 WHERE id = $2`, r.Own(), id)
		return err
	})
}

func TestNodesAreUpgradedOneAfterTheOther(t *testing.T) {
	a := start(t, map[string]string{"panel": "nodes", "nodes_listen": "127.0.0.1:0", "node_listen": "off"})
	ctx := context.WithoutCancel(t.Context())
	agents := &scriptedAgents{a: a}
	a.admin.Agents = agents
	// Nodes 1 to 6: one is worked at, one is silent, one has the version, and one has not joined.
	state := []struct {
		version     string
		maintenance bool
		seen        any
	}{
		{"v1.0.0", false, a.clock.Now()},
		{"v1.0.0", true, a.clock.Now()},
		{"v1.0.0", false, nil},
		{"v2.0.0", false, a.clock.Now()},
		{"v1.0.0", false, a.clock.Now()},
		{"v1.0.0", false, a.clock.Now()},
		{},
	}
	for i := range state {
		if _, _, err := a.nodes.Add(ctx, nodes.NewNode{Name: fmt.Sprintf("n%d", i+1)}); err != nil {
			t.Fatal(err)
		}
	}
	reset := func() {
		t.Helper()
		*agents = scriptedAgents{a: a, refuses: map[int64]error{}, silent: map[int64]bool{}, runs: map[int64]string{}}
		err := a.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			for i, n := range state[:6] {
				_, e := tx.Exec(ctx, `UPDATE nodes_nodes SET state = 'active', address = 'n.test:8443', joined_at = $1, version = $2, maintenance = $3, last_seen_at = $4
					WHERE id = $5`, a.clock.Now(), n.version, n.maintenance, n.seen, i+1)
				err = errors.Join(err, e)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wait := time.Minute
	upgrade := func(names ...string) (came []string, err error) {
		err = a.admin.UpgradeNodes(ctx, names, wait, func(n admin.UpgradedNode) { came = append(came, n.Name+" "+n.Outcome) })
		return came, err
	}
	behind := func() (names []string) {
		listed, err := a.admin.ListNodes(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range listed {
			if n.Behind {
				names = append(names, n.Name)
			}
		}
		return names
	}
	skipped := []string{"n2 skipped", "n3 skipped", "n4 skipped"}
	reset()
	if names := behind(); !slices.Equal(names, []string{"n1", "n2", "n3", "n5", "n6"}) {
		t.Errorf("behind are %v", names)
	}
	if came, err := upgrade(); err != nil || !slices.Equal(came, slices.Concat([]string{"n1 upgraded"}, skipped, []string{"n5 upgraded", "n6 upgraded", "n7 skipped"})) {
		t.Errorf("all: %v, %v", came, err)
	}
	if !slices.Equal(agents.asked, []int64{1, 5, 6}) {
		t.Errorf("asked were %v", agents.asked)
	}
	reset()
	agents.silent[5], wait = true, time.Millisecond
	if came, err := upgrade("n4", "n5", "n1"); err == nil || !slices.Equal(came, []string{"n4 skipped", "n5 failed", "n1 left"}) {
		t.Errorf("one does not come back: %v, %v", came, err)
	}
	wait = time.Minute
	reset()
	agents.refuses[1] = admin.ErrUpgradeOff.New()
	if came, err := upgrade("n1", "n5"); !errors.Is(err, admin.ErrUpgradeOff) || !slices.Equal(came, []string{"n1 failed", "n5 left"}) {
		t.Errorf("one refuses: %v, %v", came, err)
	}
	reset()
	if came, err := upgrade("n1", "n8"); !errors.Is(err, fault.NotFound) || came != nil || agents.asked != nil {
		t.Errorf("with one that is not there: %v, %v", came, err)
	}
	for name, key := range map[string]string{"n1": "", "n2": "node_away", "n3": "node_away", "n4": "", "n7": "node_away", "n8": "not_found"} {
		refused := new(fault.Error)
		if _, err := a.admin.UpgradeNode(ctx, name); key == "" && err != nil || key != "" && (!errors.As(err, &refused) || refused.Def.Key != key) {
			t.Errorf("%s alone: %v, want %q", name, err, key)
		}
	}
}

func TestARefusalOfAnUpgradeHasItsKey(t *testing.T) {
	for kind, key := range map[panel.Kind]string{
		remote.ErrUpgradeOff: "upgrade_off", remote.ErrUpgradePackaged: "upgrade_packaged", remote.ErrUpgradePlatform: "upgrade_platform",
		remote.ErrUpgradeNotNewer: "upgrade_not_newer", remote.ErrUpgradeBroken: "upgrade_broken",
		panel.ErrUnsupported: "upgrade_unsupported", panel.ErrUnreachable: "panel_unreachable", panel.ErrBusy: "panel_busy",
	} {
		refused := new(fault.Error)
		if err := upgradeRefusal(&panel.Error{Kind: kind, Op: "upgrade"}); !errors.As(err, &refused) || refused.Def.Key != key {
			t.Errorf("%s: %v, want %s", kind, err, key)
		}
	}
	if err := upgradeRefusal(nil); err != nil {
		t.Error(err)
	}
}
