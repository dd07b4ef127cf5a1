package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/testkit"
)

// watchingCustomer is the demo customer with a service whose plan allows monitors.
func (in *installation) watchingCustomer(t *testing.T, p *process) *customer {
	t.Helper()
	c := p.signIn(t)
	in.must(t, &struct{}{}, "admin", "wallet", "credit", demoEmail, "1000", "--reason", "a test")
	order, _ := c.order(c.planWith(2), "watched.example.com")
	c.must(http.MethodPost, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}", &struct{}{})
	testkit.Eventually(t, time.Minute, func() bool {
		var o struct{ Status string }
		c.must(http.MethodGet, fmt.Sprintf("/api/v1/orders/%d", order), "", &o)
		return o.Status == "completed"
	}, "the service is there")
	return c
}

// visits are the calls of targets, by path.
type visits struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last[r.URL.Path] = time.Now()
	w.WriteHeader(http.StatusInternalServerError)
}

// since counts the targets that were called after a time.
func (v *visits) since(at time.Time) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, last := range v.last {
		if last.After(at) {
			n++
		}
	}
	return n
}

// TestAReplicaTakesTheMonitorsOfAKilledOne over within one interval and 20 seconds. The targets fail, so that they are
// called every ten seconds.
func TestAReplicaTakesTheMonitorsOfAKilledOne(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "STEAD_DATABASE_URL="+testkit.PostgresURL(t), "STEAD_ALLOW_LOOPBACK_TARGETS=true")
	one := in.serve(t, "--demo")
	other := (&installation{env: append(in.env[:len(in.env):len(in.env)], "STEAD_NODE_LISTEN=off")}).serve(t, "--demo")
	c := in.watchingCustomer(t, one)
	v := &visits{last: map[string]time.Time{}}
	target := httptest.NewServer(v)
	t.Cleanup(target.Close)
	const count, interval = 12, 10 * time.Second
	for i := range count {
		c.must(http.MethodPost, "/api/v1/monitors", fmt.Sprintf(
			`{"type": "http", "url": "%s/%d", "interval_s": 300, "retries": 10, "retry_interval_s": 10}`, target.URL, i), &struct{}{})
	}
	testkit.Eventually(t, 20*time.Second, func() bool { return v.since(time.Time{}) == count }, "all are checked")
	one.kill(t)
	killed := time.Now()
	testkit.Eventually(t, interval+20*time.Second, func() bool { return v.since(killed) == count }, "all are checked by the other one")
	if took := time.Since(killed); took > interval+20*time.Second {
		t.Errorf("it took %v", took)
	}
	other.terminate(t)
	other.ends(t)
}

// TestAlertsThroughKills: the server dies whenever an alert has arrived and before it is noted. All alerts arrive, in order,
// and the ones that come again have the same id.
func TestAlertsThroughKills(t *testing.T) {
	engines(t, func(t *testing.T, in *installation) {
		in.env = append(in.env, "STEAD_ALLOW_LOOPBACK_TARGETS=true")
		type alert struct{ ID, Type, Code string }
		var (
			mu    sync.Mutex
			got   []alert
			p     *process
			fatal bool
			died  = make(chan struct{}, 1)
		)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var a alert
			if json.NewDecoder(r.Body).Decode(&a) != nil {
				return // the sender died
			}
			mu.Lock()
			defer mu.Unlock()
			if got = append(got, a); fatal {
				fatal = false
				_ = p.cmd.Process.Kill()
				died <- struct{}{}
			}
		}))
		t.Cleanup(receiver.Close)
		arrived := func() []alert {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		}
		p = in.serve(t, "--demo")
		c := in.watchingCustomer(t, p)
		var channel struct{ ID int64 }
		c.must(http.MethodPost, "/api/v1/alert-channels", fmt.Sprintf(`{"type": "webhook", "target": %q}`, receiver.URL), &channel)
		c.must(http.MethodPost, fmt.Sprintf("/api/v1/alert-channels/%d/verify", channel.ID), fmt.Sprintf(`{"code": %q}`, arrived()[0].Code), &struct{}{})
		var m struct {
			PushURL string `json:"push_url"`
		}
		c.must(http.MethodPost, "/api/v1/monitors", fmt.Sprintf(
			`{"type": "heartbeat", "interval_s": 3600, "retry_interval_s": 3600, "channels": [%d]}`, channel.ID), &m)
		beat := func(code string) error {
			r, err := http.Get(p.url + m.PushURL[strings.Index(m.PushURL, "/heartbeat/"):] + code)
			if err != nil {
				return err
			}
			if r.StatusCode != http.StatusOK {
				t.Fatalf("%v", r)
			}
			return r.Body.Close()
		}
		if err := beat(""); err != nil {
			t.Fatal(err)
		}
		want := []string{}
		offset := time.Duration(0)
		for turn := range 4 {
			mu.Lock()
			fatal = true
			mu.Unlock()
			kind := []string{"monitor.down", "monitor.up"}[turn%2]
			want = append(want, kind)
			err := beat([]string{"/1", ""}[turn%2])
			select {
			case <-died: // perhaps before it has answered
			case <-time.After(time.Minute):
				t.Fatalf("no alert was sent: %v", err)
			}
			<-p.exited
			in.timePasses(t)
			offset += time.Hour
			before := len(arrived())
			next := in.at(offset).serve(t, "--demo")
			mu.Lock()
			p = next
			mu.Unlock()
			testkit.Eventually(t, time.Minute, func() bool { return len(arrived()) > before }, "the alert comes again")
		}
		p.terminate(t)
		p.ends(t)
		var kinds []string
		all := arrived()[1:] // the first one was the code
		for i, a := range all {
			if i > 0 && all[i-1].ID == a.ID {
				continue
			}
			kinds = append(kinds, a.Type)
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("%+v, want %v", all, want)
		}
	})
}
