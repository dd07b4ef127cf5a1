package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// disagreement is an account about which a machine and the database disagree.
type disagreement struct {
	Node, Kind, Ref, Domain string
	Since                   string `json:"since_on"`
}

func (in *installation) disagreements(t *testing.T) (found map[string]disagreement) {
	t.Helper()
	var list struct {
		Data   []disagreement
		Silent []struct{ Node, Why string }
	}
	in.must(t, &list, "admin", "nodes", "accounts")
	if len(list.Silent) > 0 {
		t.Errorf("machines do not answer: %+v", list.Silent)
	}
	found = map[string]disagreement{}
	for _, d := range list.Data {
		found[d.Domain] = d
	}
	return found
}

// TestARestoredControlPlaneFindsItsMachinesAgain: it was backed up, sold and moved services, and was lost. The one that is restored serves
// what it did, finds what it does not know, and gives nobody the account of somebody else.
func TestARestoredControlPlaneFindsItsMachinesAgain(t *testing.T) {
	t.Parallel()
	in, p, c, node := newShopOfNodes(t)
	in.env = append(in.env, "STEAD_CONTROL_BACKUP_PASSPHRASE="+backupPassphrase)
	one, two := node("node1"), node("node2")
	in.must(t, &struct{}{}, "admin", "nodes", "drain", "node2")
	buy := func(domain string) int64 {
		t.Helper()
		order, _ := c.order(c.plan(), domain)
		c.must(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", &struct{}{})
		testkit.Eventually(t, time.Minute, func() bool { return c.isActive(domain) }, domain+" is active")
		return order
	}
	publish := func(in *installation, domain string) hosted {
		t.Helper()
		buy(domain)
		s := in.on(t, "node1")[domain]
		if err := os.WriteFile(one.page(s.ID), []byte("this is "+domain), 0o644); err != nil {
			t.Fatal(err)
		}
		return s
	}
	serves := func(a *agent, domain string) {
		t.Helper()
		if status, page := a.get(t, domain); status != http.StatusOK || page != "this is "+domain {
			t.Errorf("%s is answered %d %q", domain, status, page)
		}
	}
	publish(in, "kept.example.com")
	moved := publish(in, "moved.example.com")
	_, balance, held := c.charges()
	store := filepath.Join(t.TempDir(), "control")
	in.must(t, &struct{}{}, "backup", "--to", store)
	if found := in.disagreements(t); len(found) != 0 {
		t.Errorf("before anything was lost: %+v", found)
	}
	if r, _ := in.doctor(t); r.status("accounts") != "ok" {
		t.Errorf("doctor: %+v", r)
	}

	// What happens now is lost with the control plane.
	in.must(t, &struct{}{}, "admin", "nodes", "resume", "node2")
	in.must(t, &struct{}{}, "admin", "services", "move", fmt.Sprint(moved.ID), "--to", "node2", "--now")
	var moves struct{ Data []struct{ Step string } }
	testkit.Eventually(t, 2*time.Minute, func() bool {
		moves.Data = nil
		in.must(t, &moves, "admin", "moves", "list", "--service", fmt.Sprint(moved.ID))
		return len(moves.Data) == 1 && moves.Data[0].Step == "keep"
	}, "the service has moved")
	in.must(t, &struct{}{}, "admin", "nodes", "drain", "node2")
	sold := publish(in, "sold.example.com")
	p.kill(t)

	data := filepath.Join(t.TempDir(), "data")
	other := &installation{program: in.program}
	for _, entry := range in.env {
		if strings.HasPrefix(entry, "STEAD_DATA_DIR=") {
			entry = "STEAD_DATA_DIR=" + data
		}
		other.env = append(other.env, entry)
	}
	other.must(t, &struct{}{}, "restore", "--from", store)
	p = other.serve(t, "--demo")
	c = c.at(p)
	if _, got, gotHeld := c.charges(); got != balance || gotHeld != held {
		t.Errorf("the balance is %d and %d held, want %d and %d", got, gotHeld, balance, held)
	}
	testkit.Eventually(t, 2*time.Minute, func() bool { return other.state(t, "node1") == "active" && other.state(t, "node2") == "draining" }, "the machines report again")
	serves(one, "kept.example.com")
	serves(two, "moved.example.com")

	if r, _ := other.doctor(t); r.status("accounts") != "warn" {
		t.Errorf("doctor: %+v", r)
	}
	found := other.disagreements(t)
	if d := found["sold.example.com"]; len(found) != 2 || d.Kind != "unknown" || d.Node != "node1" || d.Ref != fmt.Sprint(sold.ID) {
		t.Errorf("what was sold is listed as %+v of %+v", d, found)
	}
	if d := found["moved.example.com"]; d.Kind != "moved" || d.Node != "node1" || d.Since != "node2" {
		t.Errorf("what was moved is listed as %+v", d)
	}
	if _, _, code := other.run(t, "admin", "nodes", "release", "node1", fmt.Sprint(moved.ID)); code == 0 {
		t.Error("an account of a service that is known was let go of")
	}
	two.kill(t)
	if stdout, stderr, code := other.run(t, "admin", "nodes", "accounts", "--follow"); code == 0 && strings.Contains(stdout, "moved") {
		t.Errorf("a move was followed to a machine that is silent\n%s%s", stdout, stderr)
	}
	two.restart(t)
	var followed struct {
		Moves []struct{ From, To string }
	}
	other.must(t, &followed, "admin", "nodes", "accounts", "--follow")
	if len(followed.Moves) != 1 || followed.Moves[0].From != "node1" || followed.Moves[0].To != "node2" {
		t.Errorf("followed %+v", followed)
	}
	if on := other.on(t, "node2"); on["moved.example.com"].ID != moved.ID {
		t.Errorf("on node2 are %+v", on)
	}
	other.must(t, &struct{}{}, "admin", "release-hold")

	testkit.Eventually(t, time.Minute, func() bool {
		status, _, err := c.call(http.MethodPost, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": "probe.example.com"}`, c.plan()), "")
		return err == nil && status == http.StatusCreated
	}, "orders are taken again")
	fresh := publish(other, "fresh.example.com")
	if fresh.ID <= sold.ID+1000 {
		t.Errorf("the new service is %d, and %d was sold since the backup", fresh.ID, sold.ID)
	}
	for _, domain := range []string{"kept.example.com", "fresh.example.com", "sold.example.com"} {
		serves(one, domain)
	}
	testkit.Eventually(t, 2*time.Minute, func() bool {
		moves.Data = nil
		other.must(t, &moves, "admin", "moves", "list", "--service", fmt.Sprint(moved.ID))
		return len(moves.Data) == 1 && moves.Data[0].Step == "keep"
	}, "the move that was followed goes on as others do")
	serves(two, "moved.example.com")
	if found := other.disagreements(t); len(found) != 1 || found["sold.example.com"].Kind != "unknown" {
		t.Errorf("in the end are listed %+v", found)
	}

	// Its owner buys it again: the machine lets go of the old account first, whose files stay.
	other.must(t, &struct{}{}, "admin", "nodes", "release", "node1", fmt.Sprint(sold.ID))
	again := publish(other, "sold.example.com")
	serves(one, "sold.example.com")
	if text, err := os.ReadFile(one.page(sold.ID)); err != nil || string(text) != "this is sold.example.com" || again.ID == sold.ID {
		t.Errorf("the old files: %q %v", text, err)
	}
	other.must(t, &struct{}{}, "admin", "nodes", "release", "node1", fmt.Sprint(sold.ID), "--remove")
	if _, err := os.Stat(one.page(sold.ID)); err == nil {
		t.Error("what was removed is there")
	}
	if found := other.disagreements(t); len(found) != 0 {
		t.Errorf("when all is done are listed %+v", found)
	}
	other.booksAreWhole(t)
}

// TestADatabaseThatWasRestoredByOtherMeansIsPutOnHold, as point-in-time recovery needs it.
func TestADatabaseThatWasRestoredByOtherMeansIsPutOnHold(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		p := in.serve(t, "--demo")
		c := p.signIn(t)
		first, _ := c.order(c.plan(), "first.example.com")
		at := time.Now().UTC().Format(time.RFC3339)
		if _, stderr, code := in.run(t, "admin", "hold", "--at", at); code == 0 || !strings.Contains(stderr, "stop") {
			t.Errorf("under a running server: exit code %d\n%s", code, stderr)
		}
		p.terminate(t)
		p.ends(t)
		if _, stderr, code := in.run(t, "admin", "hold", "--at", "2999-01-01T00:00:00Z"); code == 0 {
			t.Errorf("a time to come is taken\n%s", stderr)
		}
		in.must(t, &struct{}{}, "admin", "hold", "--at", at, "--from", "pgBackRest")
		p = in.serve(t, "--demo")
		c = c.at(p)
		if r, _ := in.doctor(t); r.status("hold") != "warn" {
			t.Errorf("doctor says of the hold: %+v", r)
		}
		in.must(t, &struct{}{}, "admin", "release-hold")
		var second int64
		testkit.Eventually(t, time.Minute, func() bool {
			status, _, err := c.call(http.MethodPost, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": "probe.example.com"}`, c.plan()), "")
			return err == nil && status == http.StatusCreated
		}, "orders are taken again")
		second, _ = c.order(c.plan(), "second.example.com")
		if second <= first+1000 {
			t.Errorf("the order after it is %d, and %d was before", second, first)
		}
		p.terminate(t)
		p.ends(t)
	})
}
