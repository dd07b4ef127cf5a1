package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/node/agent"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

func TestServicesAreSpreadAndNothingIsOverbooked(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		one, _ := w.join(nodes.NewNode{Name: "one", MaxAccounts: 3})
		two, _ := w.join(nodes.NewNode{Name: "two", DiskPercent: 150})
		// 3 by number, 15 by disk.
		const each = 100
		var (
			ordering sync.WaitGroup
			mu       sync.Mutex
			count    = map[string]int{}
		)
		for i := range 30 {
			ordering.Go(func() {
				name, err := w.place(nodes.Need{ServiceID: int64(i + 1), DiskMB: each})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					name = key(err)
				}
				count[name]++
			})
		}
		ordering.Wait()
		if count[nodes.PanelName(one.ID)] != 3 || count[nodes.PanelName(two.ID)] != 15 || count["out_of_stock"] != 12 {
			t.Errorf("placed: %v", count)
		}
		if n := w.node("two"); n.Placed != 15 || n.PlacedDiskMB != 1500 {
			t.Errorf("sums: %+v", n)
		}
		// What ends makes room, once.
		var id int64
		w.must(w.db.QueryRow(t.Context(), `SELECT min(service_id) FROM nodes_placements WHERE node_id = $1`, two.ID).Scan(&id))
		for range 2 {
			w.ended(id, "service.terminated")
		}
		if n := w.node("two"); n.Placed != 14 || n.PlacedDiskMB != 1400 {
			t.Errorf("sums: %+v", n)
		}
		w.ended(id+1, "service.suspended")
		for range 2 { // a service keeps its node
			name, err := w.place(nodes.Need{ServiceID: 77, DiskMB: each})
			w.must(err)
			if name != nodes.PanelName(two.ID) {
				t.Errorf("placed on %s", name)
			}
		}
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.Resize(ctx, tx, 77, 250) }))
		// What comes back comes back to where it was, once.
		for range 2 {
			w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return errors.Join(w.Return(ctx, tx, 500, nodes.PanelName(one.ID), 10), w.Return(ctx, tx, 501, "sandbox", 10))
			}))
		}
		if n := w.node("one"); n.Placed != 4 || n.PlacedDiskMB != 310 {
			t.Errorf("sums after one came back: %+v", n)
		}
		if n := w.node("two"); n.Placed != 15 || n.PlacedDiskMB != 1650 {
			t.Errorf("sums after a larger plan: %+v", n)
		}
	})
}

func TestAServiceMovesToANodeThatAnswers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		one, _ := w.join(nodes.NewNode{Name: "one"})
		two, _ := w.join(nodes.NewNode{Name: "two", MaxAccounts: 1})
		need := nodes.Need{ServiceID: 5, DiskMB: 100}
		elsewhere := func(failed ...string) (name string, err error) {
			err = w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				name, err = w.PlaceElsewhere(ctx, tx, need, failed)
				return err
			})
			return name, err
		}
		first, err := w.place(need)
		w.must(err)
		if first != nodes.PanelName(one.ID) {
			t.Fatalf("placed on %s", first)
		}
		second, err := elsewhere(first)
		if err != nil || second != nodes.PanelName(two.ID) {
			t.Errorf("moved to %s: %v", second, err)
		}
		for _, name := range []string{"one", "two"} {
			n, want := w.node(name), int64(0)
			if nodes.PanelName(n.ID) == second {
				want = 1
			}
			if n.Placed != want || n.PlacedDiskMB != want*100 {
				t.Errorf("sums: %+v", n)
			}
		}
		if _, err := elsewhere(first, second); key(err) != "out_of_stock" {
			t.Errorf("no node is left: %v", err)
		}
		if name, err := w.place(need); err != nil || name != second || w.node("two").Placed != 1 {
			t.Errorf("it is on %s then: %v", name, err)
		}
	})
}

// TestJobsOfANodeComeWhenItReportsAgain: those of its services, and those that name no service.
func TestJobsOfANodeComeWhenItReportsAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		one, m := w.join(nodes.NewNode{Name: "one"})
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(w.Return(ctx, tx, 3, nodes.PanelName(one.ID), 10), w.Return(ctx, tx, 5, nodes.PanelName(one.ID), 10))
		}))
		awake := func() []int64 {
			w.mu.Lock()
			defer w.mu.Unlock()
			return slices.Clone(w.awake)
		}
		m.stop()
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET version = 'v1'`) // the last report is not this one
			return err
		}))
		w.run(m)
		w.eventually("one", func(n nodes.Node) bool { return n.Version == "v2" })
		if got := awake(); got != nil {
			t.Errorf("a node that was not silent: %v", got)
		}
		m.stop()
		w.clk.Advance(nodelink.ReportEvery * 2)
		w.run(m)
		testkit.Eventually(t, time.Minute, func() bool { return slices.Equal(awake(), []int64{0, 3, 5}) }, "the jobs of its services come")
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET version = 'v1'`)
			return err
		}))
		w.eventually("one", func(n nodes.Node) bool { return n.Version == "v2" }) // it has reported once more
		if got := awake(); len(got) != 3 {
			t.Errorf("they are told each time: %v", got)
		}
	})
}

// TestWhatWasLeftOnANodeIsRemovedWhenItReportsAgain, also when no service has room there any more.
func TestWhatWasLeftOnANodeIsRemovedWhenItReportsAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		one, m := w.join(nodes.NewNode{Name: "one"})
		there := fmt.Sprintf(`{"service_id":3,"panel":%q}`, nodes.PanelName(one.ID))
		w.mu.Lock()
		w.leaving = []string{there, `{"service_id":4,"panel":"node:99"}`}
		w.mu.Unlock()
		m.stop()
		w.clk.Advance(nodelink.ReportEvery * 2)
		w.run(m)
		testkit.Eventually(t, time.Minute, func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return slices.Equal(w.cleared, []string{there})
		}, "the job that clears the node comes")
	})
}

func TestANodeIsChosenThatFits(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		tas, m := w.join(nodes.NewNode{Name: "tas", Location: "tas"})
		fra, _ := w.join(nodes.NewNode{Name: "fra", Location: "fra"})
		service := int64(0)
		want := func(what, name string, need nodes.Need) {
			t.Helper()
			service++
			need.ServiceID = service
			got, err := w.place(need)
			if err != nil {
				got = key(err)
			}
			if got != name {
				t.Errorf("%s: placed on %s, want %s", what, got, name)
			}
		}
		want("the first", nodes.PanelName(tas.ID), nodes.Need{DiskMB: 10})
		want("the emptier", nodes.PanelName(fra.ID), nodes.Need{DiskMB: 5})
		want("a location", nodes.PanelName(tas.ID), nodes.Need{DiskMB: 10, Locations: []string{"tas"}})
		want("either", nodes.PanelName(fra.ID), nodes.Need{Locations: []string{"fra", "tas"}})
		want("nowhere", "out_of_stock", nodes.Need{Locations: []string{"nyc"}})
		want("too large", "out_of_stock", nodes.Need{DiskMB: 1000})
		want("a capability that nobody has", "out_of_stock", nodes.Need{Capabilities: []panel.Capability{panel.CapMail}})
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET capabilities = '["accounts","x"]' WHERE id = $1`, tas.ID)
			return err
		}))
		m.stop()
		w.must(w.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE nodes_nodes SET capabilities = '["accounts","x"]' WHERE id = $1`, tas.ID)
			return err
		}))
		want("a capability that one has", nodes.PanelName(tas.ID), nodes.Need{Capabilities: []panel.Capability{"accounts", "x"}})
		for range 2 {
			n, err := w.Drain(t.Context(), "fra")
			w.must(err)
			if n.State != nodes.Draining {
				t.Errorf("drained: %+v", n)
			}
		}
		want("the other is drained", nodes.PanelName(tas.ID), nodes.Need{})
		_, err := w.Resume(t.Context(), "fra")
		w.must(err)
		want("it is resumed", nodes.PanelName(fra.ID), nodes.Need{})
		n, err := w.SetMaintenance(t.Context(), "fra", true)
		w.must(err)
		if n.Shown(w.clk.Now()) != nodes.Maintenance || !n.Alive(w.clk.Now()) || n.Shown(w.clk.Now().Add(time.Hour)) != nodes.Maintenance {
			t.Errorf("under maintenance: %+v", n)
		}
		want("it is worked at", nodes.PanelName(tas.ID), nodes.Need{})
		_, err = w.SetMaintenance(t.Context(), "fra", false)
		w.must(err)
		want("it is not any more", nodes.PanelName(fra.ID), nodes.Need{})
		if _, err := w.Remove(t.Context(), "fra", false); key(err) != "in_use" {
			t.Errorf("remove a node with services: %v", err)
		}
		_, err = w.Remove(t.Context(), "fra", true)
		w.must(err)
		want("it is removed", nodes.PanelName(tas.ID), nodes.Need{})
		w.clk.Advance(nodelink.SilentAfter)
		want("all are silent", "out_of_stock", nodes.Need{})
	})
}

func TestAFullDiskGetsNoMore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		_, m := w.join(nodes.NewNode{Name: "one"})
		m.capacity.Store(&nodelink.Capacity{DiskMB: 1000, DiskFreeMB: 40})
		w.eventually("one", func(n nodes.Node) bool { return n.Capacity.DiskFreeMB == 40 })
		name, err := w.place(nodes.Need{ServiceID: 1, DiskMB: 1})
		if key(err) != "out_of_stock" || !strings.Contains(err.Error(), "one has 40 MB of its disk free") {
			t.Errorf("placed on %q, %v", name, err)
		}
		all, err := w.List(t.Context())
		if err != nil || !all[0].DiskLow() || all[0].Closed(w.clk.Now()) != "has 40 MB of its disk free" {
			t.Errorf("%+v, %v", all, err)
		}
		m.capacity.Store(&nodelink.Capacity{DiskMB: 1000, DiskFreeMB: 400})
		w.eventually("one", func(n nodes.Node) bool { return n.Capacity.DiskFreeMB == 400 })
		n := w.node("one")
		if why := n.Closed(w.clk.Now()); n.DiskLow() || why != "" {
			t.Errorf("with room it is closed because it %s", why)
		}
	})
}

// TestANodeThatBoastsKeepsNothingFromOthers says that it has more than numbers hold when they are multiplied.
func TestANodeThatBoastsKeepsNothingFromOthers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		_, token := w.add(nodes.NewNode{Name: "boaster"})
		in := w.invitation(t.TempDir(), token)
		_, err := agent.Join(t.Context(), in)
		w.must(err)
		var reports atomic.Int32
		a, err := agent.Open(agent.Config{
			Dir: in.Dir, Panel: bare{}, Now: w.clk.Now, Log: slog.New(slog.DiscardHandler), ReportEvery: 10 * time.Millisecond,
			Measure: func() (nodelink.Capacity, error) {
				reports.Add(1)
				return nodelink.Capacity{DiskMB: 2e17, DiskFreeMB: 2e17}, nil
			},
		})
		w.must(err)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		w.must(err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx, ln, time.Second) }()
		defer func() {
			cancel()
			w.must(<-ended)
		}()
		testkit.Eventually(t, time.Minute, func() bool { return reports.Load() > 1 }, "a report was answered")
		_, m := w.join(nodes.NewNode{Name: "modest"})
		w.eventually("modest", func(n nodes.Node) bool { return n.Capacity == *m.capacity.Load() })
		if name, err := w.place(nodes.Need{ServiceID: 1, DiskMB: 1}); err != nil || name != nodes.PanelName(w.node("modest").ID) {
			t.Errorf("placed on %q, %v", name, err)
		}
	})
}

func TestOperatorsChangeWhereANodeIsAndHowMuchItTakes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		w.join(nodes.NewNode{Name: "one", Location: "here", MaxAccounts: 3})
		need := nodes.Need{DiskMB: 400, Locations: []string{"there"}}
		room := func() nodes.Room {
			t.Helper()
			rooms, err := w.Room(t.Context(), []nodes.Need{need})
			w.must(err)
			return rooms[0]
		}
		if r := room(); r.Services != 0 || len(r.Obstacles) != 1 {
			t.Errorf("at another location: %+v", r)
		}
		location, most, percent, none := "there", int64(2), int64(200), int64(0)
		n, err := w.Set(t.Context(), "one", nodes.Change{Location: &location})
		w.must(err)
		if n.Location != location || n.MaxAccounts != 3 {
			t.Errorf("%+v", n)
		}
		byDisk := n.Capacity.DiskMB * n.DiskPercent / 100 / need.DiskMB
		if r := room(); r.Services != min(3, byDisk) {
			t.Errorf("%+v, want %d", r, min(3, byDisk))
		}
		_, err = w.Set(t.Context(), "one", nodes.Change{MaxAccounts: &most, DiskPercent: &percent})
		w.must(err)
		if r := room(); r.Services != min(2, 2*byDisk) {
			t.Errorf("%+v", r)
		}
		_, err = w.Set(t.Context(), "one", nodes.Change{MaxAccounts: &none})
		w.must(err)
		need.DiskMB = 0
		if r := room(); !r.Unbounded {
			t.Errorf("without any bound: %+v", r)
		}
		bad := "Not A Place"
		for _, c := range []nodes.Change{{Location: &bad}, {DiskPercent: &none}} {
			if _, err := w.Set(t.Context(), "one", c); err == nil {
				t.Errorf("%+v was taken", c)
			}
		}
		if n := w.node("one"); n.Location != location || n.MaxAccounts != 0 || n.DiskPercent != percent {
			t.Errorf("%+v", n)
		}
	})
}

// TestWhatAPanelLacksIsKnown: of a panel that is no node, as it has told last; nothing is lacking while it has not.
func TestWhatAPanelLacksIsKnown(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		wanted := []panel.Capability{panel.CapFiles, panel.CapMail, panel.PHPVersion("8.4")}
		lacking := func(want ...panel.Capability) {
			t.Helper()
			if got, err := w.Lacking(t.Context(), w.db, "node", wanted); err != nil || !slices.Equal(got, want) {
				t.Errorf("it lacks %v, %v", got, err)
			}
		}
		lacking()
		w.must(w.Know(t.Context(), "node", []panel.Capability{panel.CapFiles}))
		lacking(panel.CapMail, panel.PHPVersion("8.4"))
		w.must(w.Know(t.Context(), "node", []panel.Capability{panel.CapFiles, panel.CapMail}))
		lacking(panel.PHPVersion("8.4"))
		if got := nodes.Names(wanted); !slices.Equal(got, []string{"files", "mail", "php 8.4"}) {
			t.Errorf("their names: %v", got)
		}
		if got, err := w.NobodyHas(t.Context(), w.db, wanted); err != nil || got != nil {
			t.Errorf("without nodes: %v, %v", got, err)
		}
		w.join(nodes.NewNode{Name: "one"})
		got, err := w.NobodyHas(t.Context(), w.db, append(wanted, panel.CapAccounts))
		if err != nil || !slices.Equal(got, wanted) {
			t.Errorf("no node has %v, %v", got, err)
		}
	})
}

// TestNodesAreChosenByTheirLabels: a plan's and an operator's are both asked for, and a node's can be changed while services are on it.
func TestNodesAreChosenByTheirLabels(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		one, _ := w.join(nodes.NewNode{Name: "one", Location: "here", Labels: labels.Set{"disk": "nvme", "gpu": ""}})
		two, _ := w.join(nodes.NewNode{Name: "two", Location: "there"})
		id := int64(0)
		want := func(need nodes.Need, name, cause string) {
			t.Helper()
			id++
			need.ServiceID = id
			at, err := w.place(need)
			if err != nil {
				at = key(err)
			}
			if at != name || cause != "" && !strings.Contains(err.Error(), cause) {
				t.Errorf("%+v is placed on %q, %v", need, at, err)
			}
		}
		nvme, rack := labels.Set{"disk": "nvme"}, labels.Set{"rack": "7"}
		on1, on2 := nodes.PanelName(one.ID), nodes.PanelName(two.ID)
		for range 3 {
			want(nodes.Need{Labels: nvme, DiskMB: 1}, on1, "")
		}
		want(nodes.Need{}, on2, "")
		want(nodes.Need{Labels: nvme, Target: nodes.Target{Location: "there"}}, "out_of_stock", "two lacks the label disk=nvme")
		want(nodes.Need{Labels: labels.Set{"disk": "sata"}}, "out_of_stock", "one lacks the label disk=sata")
		want(nodes.Need{Target: nodes.Target{Node: "one", Labels: labels.Set{"gpu": ""}}}, on1, "")
		want(nodes.Need{Target: nodes.Target{Node: "two", Labels: nvme}}, "out_of_stock", "")

		suited := func(target nodes.Target, want bool, except ...string) {
			t.Helper()
			if ok, err := w.Suited(t.Context(), w.db, nodes.Need{Labels: nvme, DiskMB: 1 << 30, Target: target}, except); err != nil || ok != want {
				t.Errorf("%+v but %v: %v, %v", target, except, ok, err)
			}
		}
		suited(nodes.Target{}, true)
		suited(nodes.Target{}, false, on1)
		suited(nodes.Target{Location: "there"}, false)

		n, err := w.Set(t.Context(), "two", nodes.Change{Labels: labels.Set{"disk": "nvme", "rack": "7"}})
		w.must(err)
		if n.Labels.String() != "disk=nvme, rack=7" || w.node("two").Labels.String() != n.Labels.String() {
			t.Errorf("set: %v", n.Labels)
		}
		suited(nodes.Target{Location: "there"}, true)
		want(nodes.Need{Labels: nvme, Target: nodes.Target{Labels: rack}}, on2, "")
		n, err = w.Set(t.Context(), "two", nodes.Change{RemoveLabels: []string{"rack", "none"}})
		w.must(err)
		if n.Labels.String() != "disk=nvme" {
			t.Errorf("removed: %v", n.Labels)
		}
		for _, bad := range []labels.Set{{"Disk": "x"}, {"disk": "a b"}, {"disk": "\x1b[2J"}, {"": ""}} {
			if _, err := w.Set(t.Context(), "two", nodes.Change{Labels: bad}); key(err) != "validation_failed" {
				t.Errorf("%v: %v", bad, err)
			}
			if _, _, err := w.Add(t.Context(), nodes.NewNode{Name: "three", Labels: bad}); key(err) != "validation_failed" {
				t.Errorf("%v: %v", bad, err)
			}
		}
		if w.node("two").Labels.String() != "disk=nvme" {
			t.Errorf("after refusals: %v", w.node("two").Labels)
		}
	})
}
