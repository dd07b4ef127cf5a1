package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// twoReplicas starts two servers on one PostgreSQL database. They share the key
// of stored secrets, as replicas must, and one of them has the node.
func twoReplicas(t *testing.T, settings map[string]string) (one, other *App) {
	t.Helper()
	dir := t.TempDir()
	with := func(more map[string]string) map[string]string {
		all := map[string]string{"database_url": testkit.PostgresURL(t), "data_dir": dir, "base_url": "http://stead.test"}
		for _, m := range []map[string]string{settings, more} {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	first := with(nil)
	second := with(map[string]string{"database_url": first["database_url"], "node_listen": "off"})
	return start(t, first), start(t, second)
}

// heard bounds how long a replica takes to hear of a change. A second is what
// is promised; a machine that runs many tests under the race detector is given
// more.
const heard = time.Minute

func TestReplicasShareTheThrottle(t *testing.T) {
	one, other := twoReplicas(t, map[string]string{"demo": "true", "throttle": "true", "throttle_public": "10"})
	c := one.application(t, false)
	token := one.customer(t, c, 0).token
	passed, refused := 0, 0
	for i := range 14 {
		a := []*App{one, other}[i%2]
		switch r := a.get(t, token, "/api/v1/me"); r.status {
		case http.StatusOK:
			passed++
		case http.StatusTooManyRequests:
			refused++
		default:
			t.Fatal(r)
		}
	}
	if passed != 10 || refused != 4 {
		t.Errorf("%d passed and %d were refused, want 10 and 4", passed, refused)
	}
}

func TestReplicasChargeAKeyOnce(t *testing.T) {
	one, other := twoReplicas(t, demo)
	w := newWorld(t, one)
	before := w.balance(w.owner)
	r := pay(w.order, w.owner.token, unique("key-"))
	var turn atomic.Int64
	answers := atOnce(t, 8, func() answer { return []*App{one, other}[turn.Add(1)%2].do(t, r) })
	fresh := 0
	for _, got := range answers {
		switch {
		case got.status == http.StatusOK && got.header.Get("Idempotency-Replayed") == "":
			fresh++
		case got.status == http.StatusOK, got.key() == "idempotency_in_progress":
		default:
			t.Errorf("%s", got)
		}
	}
	if fresh != 1 {
		t.Errorf("paid %d times", fresh)
	}
	a, b := one.do(t, r), other.do(t, r)
	if string(a.body) != string(b.body) || a.status != http.StatusOK || b.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the replicas answer differently:\n%s\n%s", a, b)
	}
	if charged := before - w.balance(w.owner); charged <= 0 || charged > before/2 {
		t.Errorf("charged %d of %d", charged, before)
	}
	if err := auditLedger(t.Context(), other.wallet); err != nil {
		t.Error(err)
	}
}

func TestAnEndedGrantIsRefusedEverywhereWithinASecond(t *testing.T) {
	one, other := twoReplicas(t, demo)
	c := one.application(t, false)
	owner := one.customer(t, c, 0)
	for _, a := range []*App{one, other} { // both remember the token now
		if r := a.get(t, owner.token, "/api/v1/me"); r.status != http.StatusOK {
			t.Fatal(r)
		}
	}
	all, _, err := one.oauth.ListConnections(t.Context(), owner.id, 10, 0)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d connections, %v", len(all), err)
	}
	if err := one.oauth.Disconnect(t.Context(), owner.id, all[0].Application.ID); err != nil {
		t.Fatal(err)
	}
	if r := one.get(t, owner.token, "/api/v1/me"); r.status != http.StatusUnauthorized {
		t.Errorf("at once, where it was ended: %s", r)
	}
	testkit.Eventually(t, heard, func() bool {
		return other.get(t, owner.token, "/api/v1/me").status == http.StatusUnauthorized
	}, "the other replica refuses the token")
}

func TestASectionIsSwitchedOnAllReplicas(t *testing.T) {
	one, other := twoReplicas(t, demo)
	c := one.application(t, false)
	token := one.customer(t, c, 0).token
	for _, on := range []bool{false, true} {
		if err := one.admin.SetSections(context.WithoutCancel(t.Context()), []string{string(api.Orders)}, on); err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[on]
		testkit.Eventually(t, heard, func() bool {
			return one.get(t, token, "/api/v1/orders").status == want && other.get(t, token, "/api/v1/orders").status == want
		}, fmt.Sprintf("both replicas have heard that the section is on: %v", on))
	}
}

// TestThirtyPayAtOnceFromABalanceForTen is the wallet's promise, over two
// replicas.
func TestThirtyPayAtOnceFromABalanceForTen(t *testing.T) {
	for name, servers := range map[string]func(t *testing.T) []*App{
		"sqlite":       func(t *testing.T) []*App { return []*App{start(t, demo)} },
		"two replicas": func(t *testing.T) []*App { one, other := twoReplicas(t, demo); return []*App{one, other} },
	} {
		t.Run(name, func(t *testing.T) {
			apps := servers(t)
			w := newWorld(t, apps[0])
			buyer := apps[0].customer(t, w.client, 0)
			orders := make([]int64, 30)
			for i := range orders {
				orders[i] = w.newOrder(buyer, unique("rush")+".example.com")
			}
			apps[0].credit(t, buyer.id, 10*w.price(buyer, orders[0]))
			var (
				wg         sync.WaitGroup
				mu         sync.Mutex
				paid, poor int
			)
			for i, order := range orders {
				wg.Go(func() {
					request := pay(order, buyer.token, fmt.Sprintf("rush-%d", order))
					r := apps[i%len(apps)].do(t, request)
					// No connection was free in time: it is repeated with its key.
					for tries := 1; r.status == http.StatusServiceUnavailable && tries < 10; tries++ {
						r = apps[i%len(apps)].do(t, request)
					}
					mu.Lock()
					defer mu.Unlock()
					switch {
					case r.status == http.StatusOK:
						paid++
					case r.status == http.StatusUnprocessableEntity && r.key() == "insufficient_funds":
						poor++
					default:
						t.Errorf("%s", r)
					}
				})
			}
			wg.Wait()
			if paid != 10 || poor != 20 {
				t.Errorf("%d paid and %d were refused, want 10 and 20", paid, poor)
			}
			if b := w.balance(buyer); b != 0 {
				t.Errorf("the balance is %d", b)
			}
			if err := auditLedger(t.Context(), apps[0].wallet); err != nil {
				t.Error(err)
			}
		})
	}
}

// The simulated registry of sandboxes is one, whichever replica is asked: what one has registered, another changes.
func TestReplicasShareTheSimulatedRegistry(t *testing.T) {
	one, other := twoReplicas(t, map[string]string{"demo": "true"})
	w := &world{App: one, t: t}
	w.owner = one.customer(t, one.application(t, false), 100_00)
	key := w.aKey(w.owner, reseller.NewKey{Sandbox: true})
	const base = "/api/v1/reseller/domains"
	id := w.id(w.post(t, key, base, registrationRequest("shop.example")))
	path := fmt.Sprintf("%s/%d", base, id)
	testkit.Eventually(t, heard, func() bool {
		var d struct{ Status string }
		other.get(t, key, path).decode(t, &d)
		return d.Status == "active"
	}, "the domain is registered")
	for _, a := range []*App{other, one} {
		r := a.do(t, request{method: http.MethodPatch, path: path, token: key, body: fmt.Sprintf(`{"locked": %t}`, a == other)})
		if want := fmt.Sprintf(`"locked":%t`, a == other); r.status != http.StatusOK || !strings.Contains(string(r.body), want) {
			t.Errorf("%s, want %s", r, want)
		}
	}
}

// A replica with a wrong clock would take nodes for silent, and end sessions, that are fine in the eyes of all others.
func TestAReplicaGoesByTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	opts := quietly()
	opts.Machine = clock.System(10 * time.Minute)
	a, err := New(t.Context(), testConfig(t, map[string]string{
		"database_url": testkit.PostgresURL(t), "node_listen": "off", "panel": "nodes", "demo": "false",
	}), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	const near = time.Second
	err = a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		var database time.Time
		if err := tx.QueryRow(ctx, `SELECT `+tx.ServerTime()).Scan(&database); err != nil {
			return err
		}
		if apart := tx.Now.Sub(database).Abs(); apart > near {
			t.Errorf("transactions are %v from the database", apart)
		}
		if apart := a.clock.Now().Sub(database).Abs(); apart > near {
			t.Errorf("the clock is %v from the database", apart)
		}
		// As a report that another replica has just taken in.
		_, err := tx.Exec(ctx, `INSERT INTO nodes_nodes (name, location, state, address, created_at, joined_at, last_seen_at)
			VALUES ('n1', 'here', 'active', '127.0.0.1:1', $1, $1, $1)`, database)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.inTime(t.Context()) {
		t.Error("a machine whose own clock is wrong is ready")
	}
	all, err := a.nodes.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if why := all[0].Closed(a.clock.Now()); strings.Contains(why, "report") {
		t.Errorf("a node that has just reported %s", why)
	}
}
