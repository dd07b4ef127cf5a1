package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
)

// TestKilledWhileRegisteringDomains kills the server again and again while names are registered and transferred:
// money, registry and rows agree in the end, whatever was lost on the way. SQLite: the jobs of a killed process are
// taken up at the next start there.
func TestKilledWhileRegisteringDomains(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	p := in.serve(t, "--demo")
	c := p.signIn(t)
	in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "5000", "--reason", "a test")
	_, before, _ := c.charges()

	const kills, each = 10, 3
	kinds := []string{"kill-", "lost-", "refused-", "moved-"}
	var names []string
	order := func(c customer, name string) (status int, answer []byte, err error) {
		more := ""
		if strings.HasPrefix(name, "moved-") {
			more = `, "operation": "transfer", "auth_code": "secret-code"`
		}
		return c.call(http.MethodPost, "/api/v1/domains", fmt.Sprintf(`{"domain": %q, "contact": {"name": "Anna",
			"email": "anna@example.com", "phone": "+998901234567", "street": "Navoiy 1", "city": "Tashkent", "country": "UZ"}%s}`, name, more), name)
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	var asking sync.WaitGroup
	for range kills {
		for range each {
			name := fmt.Sprintf("%s%d.example", kinds[len(names)%len(kinds)], len(names))
			names = append(names, name)
			at := *c
			asking.Go(func() { _, _, _ = order(at, name) })
		}
		<-time.After(time.Duration(random.IntN(150)) * time.Millisecond) // sleeps: the server is killed at any moment
		p.kill(t)
		asking.Wait()
		p = in.serve(t, "--demo")
		c = c.at(p)
	}

	// Repeat unanswered requests with their keys.
	for _, name := range names {
		asking.Go(func() {
			for range 100 {
				status, answer, err := order(*c, name)
				if err != nil || (status != http.StatusConflict && status != http.StatusCreated) {
					t.Errorf("order %s: %d %v %s", name, status, err, answer)
				}
				if status == http.StatusCreated {
					return
				}
			}
		})
	}
	asking.Wait()
	type row struct {
		Name, Status  string
		ExpiresAt     *time.Time `json:"expires_at"`
		LastOperation struct {
			OrderID int64 `json:"order_id"`
		} `json:"last_operation"`
	}
	var list struct{ Data []row }
	testkit.Eventually(t, 90*time.Second, func() bool {
		list.Data = nil
		c.must(http.MethodGet, "/api/v1/domains?per_page=50", "", &list)
		for _, d := range list.Data {
			if strings.HasPrefix(d.Status, "pending") {
				return false
			}
		}
		return true
	}, "every order has come to its end")
	_, balance, held := c.charges()
	spent := int64(0)
	rows := map[string]row{}
	for _, d := range list.Data {
		if _, twice := rows[d.Name]; twice {
			t.Errorf("%s is there twice", d.Name)
		}
		rows[d.Name] = d
		var o struct {
			Status string
			Total  struct {
				Cents int64 `json:"usd_cents"`
			}
		}
		c.must(http.MethodGet, fmt.Sprintf("/api/v1/orders/%d", d.LastOperation.OrderID), "", &o)
		want := [2]string{"active", "completed"}
		if strings.HasPrefix(d.Name, "refused-") {
			want = [2]string{"failed", "refunded"}
		} else {
			spent += o.Total.Cents
		}
		if got := [2]string{d.Status, o.Status}; got != want {
			t.Errorf("%s: %v, want %v", d.Name, got, want)
		}
	}
	if len(rows) != len(names) {
		t.Errorf("%d domains of %d orders", len(rows), len(names))
	}
	if balance != before-spent || held != 0 {
		t.Errorf("the balance is %d and %d is held, want %d and nothing", balance, held, before-spent)
	}
	in.booksAreWhole(t)
	p.terminate(t)
	p.ends(t)

	var registry struct {
		Domains map[string]struct {
			Ours                    bool
			RegisteredAt, ExpiresAt time.Time
		} `json:"domains"`
	}
	d, err := db.Open(t.Context(), db.Config{Clock: clock.NewFake(time.Unix(0, 0)), Path: filepath.Join(in.get("STEAD_DATA_DIR"), "stead.db")})
	if err != nil {
		t.Fatal(err)
	}
	var content string
	err = d.QueryRow(t.Context(), `SELECT content FROM domains_simulated WHERE name = 'registry'`).Scan(&content)
	if err == nil {
		err = json.Unmarshal([]byte(content), &registry)
	}
	if err = errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		d, there := registry.Domains[name]
		if refused := strings.HasPrefix(name, "refused-"); d.Ours == refused {
			t.Errorf("%s: the registry has it %t, for us %t", name, there, d.Ours)
		}
		if !d.Ours || rows[name].ExpiresAt == nil {
			continue
		}
		if !rows[name].ExpiresAt.Equal(d.ExpiresAt.Truncate(time.Second)) && rows[name].ExpiresAt.Sub(d.ExpiresAt).Abs() > time.Second {
			t.Errorf("%s expires %v, at the registry %v", name, rows[name].ExpiresAt, d.ExpiresAt)
		}
		years := 1
		if strings.HasPrefix(name, "moved-") {
			years = 5 // three registered, one that it had, one that the transfer adds
		}
		if !d.ExpiresAt.Equal(d.RegisteredAt.AddDate(years, 0, 0)) {
			t.Errorf("%s was registered %v and expires %v", name, d.RegisteredAt, d.ExpiresAt)
		}
	}
	t.Logf("%d domains after %d kills", len(names), kills)
}
