package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/panel"
)

// moody is a facility that fails when it is told to, and notes what it was asked.
type moody struct {
	mu      sync.Mutex
	fail    map[string]bool // "start", "apply", "remove"
	applied []string        // names of accounts
	removed []string
}

func (m *moody) does(what, account string, list *[]string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail[what] {
		return errors.New("moody: no " + what)
	}
	if list != nil {
		*list = append(*list, account)
	}
	return nil
}

func (m *moody) set(fail map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

func (m *moody) saw(list *[]string, account string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(*list, account)
}

func (*moody) Capability() panel.Capability  { return "moody" }
func (m *moody) Start(context.Context) error { return m.does("start", "", nil) }
func (m *moody) Apply(_ context.Context, a accounts.Account) error {
	return m.does("apply", a.Name, &m.applied)
}

func (m *moody) Remove(_ context.Context, a accounts.Account) error {
	return m.does("remove", a.Name, &m.removed)
}

func openMoody(t *testing.T, dir string, m *moody) *Node {
	t.Helper()
	n, err := New(t.Context(), Config{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Facilities: func(*Node) ([]facility.Facility, error) { return []facility.Facility{m}, nil },
	})
	must(t, err)
	return n
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	testkit.Eventually(t, time.Minute, is, what)
}

func TestEndThatAFacilityRefusesIsFinishedByTheNextStart(t *testing.T) {
	dir, m := t.TempDir(), &moody{}
	n := openMoody(t, dir, m)
	create(t, n, "1", "shop.example")
	m.set(map[string]bool{"remove": true})
	if err := n.DeleteAccount(t.Context(), "1"); err == nil {
		t.Fatal("deleted though a facility failed")
	}
	for what, err := range map[string]error{
		"account": second(n.Account(t.Context(), "1")), "suspend": n.SuspendAccount(t.Context(), "1"), "domains": second(n.Domains(t.Context(), "1")),
		"files": second(n.Files.List(t.Context(), "1", "/", 0, 0)), "usage": second(n.Usage(t.Context(), "1")), "lookup": second(n.Lookup("1")),
	} {
		if !errors.Is(err, panel.ErrNotFound) {
			t.Errorf("%s of an account that ends: %v", what, err)
		}
	}
	if status, _ := serve(t, n)("shop.example", "/"); status != 404 {
		t.Errorf("its site: status %d", status)
	}
	must(t, n.Close())

	m.set(nil)
	n = openMoody(t, dir, m)
	until(t, "the end is finished", func() bool { return len(n.Refs()) == 0 })
	if !m.saw(&m.removed, "shop") {
		t.Error("the facility was not asked again")
	}
	if err := n.DeleteAccount(t.Context(), "1"); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
	create(t, n, "2", "shop.example")
	must(t, n.Close())
}

func second[T any](_ T, err error) error { return err }

func TestFacilityThatFailsKeepsTheOthersFromNothing(t *testing.T) {
	m := &moody{fail: map[string]bool{"start": true, "apply": true}}
	n := openMoody(t, t.TempDir(), m)
	defer n.Close()
	if err := n.Unready()["moody"]; err == nil {
		t.Error("nobody learns that a facility does not start")
	}
	spec := panel.AccountSpec{Ref: "1", PrimaryDomain: "shop.example"}
	if _, err := n.CreateAccount(t.Context(), spec); err == nil {
		t.Error("complete without a facility")
	}
	write(t, n, "1", "/public_html/index.html", "A")
	if status, body := serve(t, n)("shop.example", "/"); status != 200 || body != "A" {
		t.Errorf("its site: %d %q", status, body)
	}
	m.set(nil)
	_, err := n.CreateAccount(t.Context(), spec) // the job's next attempt
	must(t, err)
	n.Reconcile(t.Context())
	if len(n.Unready()) != 0 || !m.saw(&m.applied, "shop") {
		t.Errorf("unready: %v", n.Unready())
	}
}

// meeting is a facility that ends a suspended account only when the other one has begun to.
type meeting struct {
	name         panel.Capability
	begins, sees chan struct{}
}

func (m *meeting) Capability() panel.Capability                 { return m.name }
func (*meeting) Remove(context.Context, accounts.Account) error { return nil }
func (m *meeting) Apply(ctx context.Context, a accounts.Account) error {
	if !a.Suspended {
		return nil
	}
	close(m.begins)
	select {
	case <-m.sees:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestASuspensionWaitsForNoFacility: each begins at once, however long another takes.
func TestASuspensionWaitsForNoFacility(t *testing.T) {
	one, two := make(chan struct{}), make(chan struct{})
	n, err := New(t.Context(), Config{
		Dir: t.TempDir(), Now: time.Now, Log: slog.New(slog.DiscardHandler), OriginURL: "http://127.0.0.1:1",
		Facilities: func(*Node) ([]facility.Facility, error) {
			return []facility.Facility{&meeting{"one", one, two}, &meeting{"two", two, one}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	if _, err := n.CreateAccount(t.Context(), panel.AccountSpec{Ref: "1", Username: "alice", PrimaryDomain: "alice.example"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := n.SuspendAccount(ctx, "1"); err != nil {
		t.Error(err)
	}
}
