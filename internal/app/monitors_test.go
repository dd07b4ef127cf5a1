package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/testkit"
)

// watching are the settings of a server that checks its monitors.
var watching = map[string]string{"demo": "true", "panel": "sandbox", "monitors": "true"}

// seenMonitor is a monitor as tests look at it.
type seenMonitor struct {
	ID         int64   `json:"id"`
	Status     string  `json:"status"`
	ErrorKey   *string `json:"error_key"`
	BadgeToken string  `json:"badge_token"`
	PushURL    *string `json:"push_url"`
	Headers    map[string]*string
	History    struct {
		Points []struct {
			Checks, Failures int64
		}
	}
	Regions       []string
	RegionResults []struct {
		Region, Status string
		Counts         bool
	} `json:"region_results"`
	Checks  []struct{ Status, Region string }
	Outages []struct {
		EndedAt *time.Time `json:"ended_at"`
		Cause   string
		Regions []string
	}
}

// seenBy are the regions that found a monitor so.
func (m seenMonitor) seenBy(status string) (names []string) {
	for _, r := range m.RegionResults {
		if r.Status == status && r.Counts {
			names = append(names, r.Region)
		}
	}
	return names
}

func (w *world) monitorIs(id int64, status string) (m seenMonitor) {
	w.t.Helper()
	testkit.Eventually(w.t, 30*time.Second, func() bool {
		m = seenMonitor{}
		w.get(w.t, w.owner.token, fmt.Sprintf("/api/v1/monitors/%d?range=24h", id)).decode(w.t, &m)
		return m.Status == status
	}, "the monitor is "+status)
	return m
}

// newCustomer is a customer with a service of a plan that allows monitors.
func newCustomer(t *testing.T, a *App) *world {
	w := &world{App: a, t: t}
	w.owner = a.customer(t, a.application(t, false), 100_000)
	w.plan = w.aPlan()
	w.service = w.orderOf(w.bought(unique("watched") + ".example.com")).ServiceID
	return w
}

// TestWhatIsWatchedGoesDownAndUp: with its history, its outage, its events, and the notifications of its owner.
func TestWhatIsWatchedGoesDownAndUp(t *testing.T) {
	engines(t, watching, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		var broken atomic.Bool
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if broken.Load() || r.Header.Get("X-Key") != "secret" {
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		defer s.Close()
		made := w.post(t, w.owner.token, "/api/v1/monitors",
			fmt.Sprintf(`{"type": "http", "url": %q, "retries": 0, "headers": {"X-Key": "secret"}, "service_id": %d}`, s.URL, w.service))
		if made.status != http.StatusCreated || strings.Contains(string(made.body), "secret") {
			t.Fatal(made)
		}
		id := w.id(made)
		m := w.monitorIs(id, "up")
		if _, ok := m.Headers["X-Key"]; !ok || len(m.Checks) == 0 || len(m.History.Points) == 0 || m.History.Points[0].Checks == 0 {
			t.Errorf("%+v", m)
		}
		broken.Store(true)
		change := func(body string) {
			t.Helper()
			r := a.do(t, request{method: http.MethodPatch, path: fmt.Sprintf("/api/v1/monitors/%d", id), token: w.owner.token, body: body})
			if r.status != http.StatusOK || strings.Contains(string(r.body), "secret") {
				t.Fatal(r)
			}
		}
		change(`{"retry_interval_s": 20}`) // whatever is changed is checked at once
		m = w.monitorIs(id, "down")
		if m.ErrorKey == nil || *m.ErrorKey != "http_status" || len(m.Outages) != 1 || m.Outages[0].EndedAt != nil || m.Outages[0].Cause != "http_status" {
			t.Errorf("%+v", m)
		}
		if r := a.get(t, "", "/badge/"+m.BadgeToken+"/status/24h"); r.status != http.StatusOK || !strings.Contains(string(r.body), "down") {
			t.Errorf("badge: %s", r)
		}
		broken.Store(false)
		change(`{"retry_interval_s": 30, "headers": {"X-Key": null}}`) // the value stays
		if m = w.monitorIs(id, "up"); len(m.Outages) != 1 || m.Outages[0].EndedAt == nil {
			t.Errorf("%+v", m)
		}
		change(`{"paused": true}`)
		w.monitorIs(id, "paused")
		told := map[string]int{}
		rows, err := a.outbox.Of(t.Context(), "monitor", id)
		for _, e := range rows {
			told[e.Type]++
		}
		if err != nil || told["monitor.down"] != 1 || told["monitor.up"] != 1 || told["monitor.paused"] != 1 {
			t.Errorf("%v, %v", told, err)
		}
		testkit.Eventually(t, 30*time.Second, func() bool {
			r := string(a.get(t, w.owner.token, "/api/v1/notifications").body)
			return strings.Contains(r, "monitor_down") && strings.Contains(r, "monitor_up")
		}, "its owner is told")
		if r := a.do(t, request{method: http.MethodDelete, path: fmt.Sprintf("/api/v1/monitors/%d", id), token: w.owner.token}); r.status != http.StatusOK {
			t.Error(r)
		}
	})
}

// TestAMonitorSeesTheRegionsOfNodes: two nodes that have joined check what the control plane checks, but for what may hold
// secrets.
func TestAMonitorSeesTheRegionsOfNodes(t *testing.T) {
	settings := map[string]string{"nodes_listen": "127.0.0.1:0", "base_url": "http://stead.test"}
	maps.Copy(settings, watching)
	a := start(t, settings)
	w := newCustomer(t, a)
	for _, n := range []nodes.NewNode{{Name: "node1", Location: "tashkent"}, {Name: "node2", Location: "tashkent", Region: "samarkand"}} {
		_, token, err := a.nodes.Add(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		runNode(t, a, token, map[string]string{"monitors": "true"})
	}
	var broken atomic.Bool
	var mu sync.Mutex
	keys := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if keys[r.URL.Path+" "+r.Header.Get("X-Key")]++; broken.Load() {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	watch := func(path, more string) int64 {
		t.Helper()
		r := w.post(t, w.owner.token, "/api/v1/monitors", fmt.Sprintf(`{"type": "http", "url": "%s/%s", "interval_s": 60, "retries": 0%s}`, s.URL, path, more))
		if r.status != http.StatusCreated {
			t.Fatal(r)
		}
		return w.id(r)
	}
	shown := func(id int64) (m seenMonitor) {
		t.Helper()
		w.get(t, w.owner.token, fmt.Sprintf("/api/v1/monitors/%d?range=24h", id)).decode(t, &m)
		return m
	}
	seenBy := func(id int64, status string, want ...string) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() bool { return slices.Equal(shown(id).seenBy(status), want) }, status+" in "+strings.Join(want, ", "))
	}
	open := watch("open", "")
	testkit.Eventually(t, time.Minute, func() bool { return len(shown(open).Regions) == 3 }, "the nodes check")
	hidden := watch("hidden", `, "headers": {"X-Key": "secret"}`)
	chosen := watch("chosen", `, "headers": {"X-Key": "secret"}, "regions": ["samarkand"]`)
	testkit.Eventually(t, time.Minute, func() bool { return len(shown(open).seenBy("up")) == 3 }, "three places see it")
	if got := shown(open).seenBy("up"); got[0] != "control" || !slices.Contains(got, "tashkent") || !slices.Contains(got, "samarkand") {
		t.Errorf("seen by %v", got)
	}
	seenBy(chosen, "up", "control", "samarkand")
	seenBy(hidden, "up", "control")
	mu.Lock()
	if keys["/hidden secret"] == 0 || keys["/chosen secret"] < 2 || keys["/open "] < 3 || keys["/hidden "] != 0 {
		t.Errorf("headers: %v", keys)
	}
	mu.Unlock()
	broken.Store(true)
	if r := a.do(t, request{method: http.MethodPatch, path: fmt.Sprintf("/api/v1/monitors/%d", open), token: w.owner.token, body: `{"retry_interval_s": 20}`}); r.status != http.StatusOK {
		t.Fatal(r)
	}
	testkit.Eventually(t, time.Minute, func() bool { return shown(open).Status == "down" }, "it is down")
	if m := shown(open); len(m.Outages) != 1 || len(m.Outages[0].Regions) < 2 {
		t.Errorf("%+v", m.Outages)
	}
	for _, component := range []string{"/api/v1/status", "/status"} {
		if r := a.get(t, "", component); r.status != http.StatusOK {
			t.Errorf("%s: %s", component, r)
		}
	}
}

// TestMonitorsMadeAtOncePassNoLimit: as many are made as the plan allows, however many requests come at the same time.
func TestMonitorsMadeAtOncePassNoLimit(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "panel": "sandbox"}, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		const most, tried = 20, 32
		var made, refused atomic.Int64
		var all sync.WaitGroup
		for range tried {
			all.Go(func() {
				switch r := a.post(t, w.owner.token, "/api/v1/monitors", `{"type": "heartbeat", "interval_s": 300}`); {
				case r.status == http.StatusCreated:
					made.Add(1)
				case r.status == http.StatusUnprocessableEntity && r.key() == "monitor_limit_reached":
					refused.Add(1)
				default:
					t.Error(r)
				}
			})
		}
		all.Wait()
		if made.Load() != most || refused.Load() != tried-most {
			t.Errorf("%d were made, %d refused", made.Load(), refused.Load())
		}
	})
}

func TestHeartbeats(t *testing.T) {
	engines(t, watching, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		id := w.id(w.post(t, w.owner.token, "/api/v1/monitors", `{"type": "heartbeat", "interval_s": 300, "name": "Nightly job"}`))
		m := w.monitorIs(id, "pending")
		_, path, ok := strings.Cut(*m.PushURL, a.cfg.BaseURL)
		if !ok {
			t.Fatal(*m.PushURL)
		}
		beat := func(method, path string, want int) {
			t.Helper()
			if r := a.do(t, request{method: method, path: path}); r.status != want {
				t.Errorf("%s %s: %s", method, path, r)
			}
		}
		beat(http.MethodHead, path, http.StatusOK)
		w.monitorIs(id, "up")
		beat(http.MethodPost, path+"/3", http.StatusOK)
		if m := w.monitorIs(id, "down"); *m.ErrorKey != "exit_code" {
			t.Errorf("%+v", m)
		}
		beat(http.MethodGet, path+"?exit_code=0", http.StatusOK)
		w.monitorIs(id, "up")
		beat(http.MethodGet, path+"x", http.StatusNotFound)
		beat(http.MethodGet, "/heartbeat/", http.StatusNotFound)
		beat(http.MethodGet, path+"/256", http.StatusUnprocessableEntity)
		beat(http.MethodGet, path+"/-1", http.StatusUnprocessableEntity)
		beat(http.MethodDelete, path, http.StatusMethodNotAllowed)
	})
}

// TestMonitorsAreBoundedByPlans: their number, their interval, and where they may point.
func TestMonitorsAreBoundedByPlans(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		create := func(body string) answer { return a.post(t, w.owner.token, "/api/v1/monitors", body) }
		for target, key := range map[string]string{
			`"type": "http", "url": "http://10.0.0.1/"`:                                          "target_not_allowed",
			`"type": "http", "url": "http://169.254.169.254/latest"`:                             "target_not_allowed",
			`"type": "http", "url": "http://[fd00::1]/"`:                                         "target_not_allowed",
			`"type": "http", "url": "ftp://example.com/"`:                                        "target_not_allowed",
			`"type": "http", "url": "https://user:pass@example.com/"`:                            "target_not_allowed",
			`"type": "http", "url": "http://intranet/"`:                                          "target_not_allowed",
			`"type": "tcp", "host": "192.168.1.1", "port": 22`:                                   "target_not_allowed",
			`"type": "tcp", "host": "example.com"`:                                               "validation_failed",
			`"type": "http"`:                                                                     "validation_failed",
			`"type": "keyword", "url": "https://example.com/"`:                                   "validation_failed",
			`"type": "json", "url": "https://example.com/", "json_path": "$["`:                   "validation_failed",
			`"type": "json", "url": "https://example.com/", "json_path": "$..*..*"`:              "validation_failed",
			`"type": "http", "url": "https://example.com/", "interval_s": 61`:                    "interval_not_allowed",
			`"type": "http", "url": "https://example.com/", "regions": ["atlantis"]`:             "region_not_allowed",
			`"type": "heartbeat", "regions": ["control", "atlantis"]`:                            "region_not_allowed",
			`"type": "http", "url": "https://example.com/", "quorum": 2, "regions": ["control"]`: "validation_failed",
			`"type": "http", "url": "https://example.com/", "service_id": 999`:                   "validation_failed",
			`"type": "http", "url": "https://example.com/", "headers": {"Host": "x"}`:            "validation_failed",
			`"type": "http", "url": "https://example.com/", "headers": {"A": "b\nc"}`:            "validation_failed",
			`"type": "http", "url": "https://example.com/", "headers": {"A": null}`:              "validation_failed",
			`"type": "http", "url": "https://example.com/", "expected_statuses": ["x"]`:          "validation_failed",
			`"type": "http", "url": "https://example.com/", "maintenance_windows": [{}]`:         "validation_failed",
			`"type": "http", "url": "https://example.com/", "interval_s": 60, "name": "a\nb"`:    "validation_failed",
		} {
			if r := create("{" + target + "}"); r.status != http.StatusUnprocessableEntity || r.key() != key {
				t.Errorf("%s: %s, want %s", target, r, key)
			}
		}
		if r := create(`{"type": "tls", "host": "example.com", "interval_s": 3600}`); r.status != http.StatusCreated || !strings.Contains(string(r.body), `"type":"ssl"`) {
			t.Error(r)
		}
		n := 1
		for ; n < 200; n++ {
			r := create(`{"type": "http", "url": "https://example.com/", "interval_s": 3600}`)
			if r.key() == "monitor_limit_reached" {
				break
			}
			if r.status != http.StatusCreated {
				t.Fatal(r)
			}
		}
		var list struct {
			Meta struct{ Total int }
		}
		a.get(t, w.owner.token, "/api/v1/monitors").decode(t, &list)
		if n == 200 || list.Meta.Total != n {
			t.Errorf("%d made, %d there", n, list.Meta.Total)
		}
		if none := a.customer(t, a.application(t, false), 0); a.post(t, none.token, "/api/v1/monitors",
			`{"type": "http", "url": "https://example.com/"}`).key() != "monitor_limit_reached" {
			t.Error("an account without a service has a monitor")
		}
		// Without the service they stand still.
		w.ends(w.service, func() {})
		testkit.Eventually(t, 30*time.Second, func() bool {
			a.get(t, w.owner.token, "/api/v1/monitors?status=paused").decode(t, &list)
			return list.Meta.Total == n
		}, "all are paused")
	})
}

// TestEachServiceHasAMonitor that nobody counts, which is about the server and cannot be changed.
func TestEachServiceHasAMonitor(t *testing.T) {
	engines(t, map[string]string{"demo": "true", "monitors": "true"}, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		var s struct {
			MonitorID *int64 `json:"monitor_id"`
		}
		testkit.Eventually(t, 30*time.Second, func() bool {
			a.get(t, w.owner.token, fmt.Sprintf("/api/v1/services/%d", w.service)).decode(t, &s)
			return s.MonitorID != nil
		}, "the service has a monitor")
		w.monitorIs(*s.MonitorID, "up")
		path := fmt.Sprintf("/api/v1/monitors/%d", *s.MonitorID)
		for _, r := range []answer{
			a.do(t, request{method: http.MethodPatch, path: path, token: w.owner.token, body: `{"paused": true}`}),
			a.do(t, request{method: http.MethodDelete, path: path, token: w.owner.token}),
		} {
			if r.key() != "monitor_built_in" {
				t.Error(r)
			}
		}
	})
}

// TestADomainIsWatched by what registries say: here a list with one RDAP server. Its owner is told that it ends soon.
func TestADomainIsWatched(t *testing.T) {
	var rdap *httptest.Server
	rdap = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/list.json":
			_, _ = fmt.Fprintf(w, `{"services": [[["uz"], [%q]]]}`, rdap.URL+"/uz/")
		case "/uz/domain/shop.uz":
			w.Header().Set("Content-Type", "application/rdap+json")
			_, _ = fmt.Fprintf(w, `{"objectClassName": "domain", "ldhName": "shop.uz", "events": [{"eventAction": "expiration", "eventDate": %q}]}`,
				time.Now().Add(12*24*time.Hour).UTC().Format(time.RFC3339))
		default:
			w.Header().Set("Content-Type", "application/rdap+json")
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(rdap.Close)
	settings := map[string]string{"demo": "true", "panel": "sandbox", "monitors": "true", "rdap_servers": rdap.URL + "/list.json"}
	engines(t, settings, func(t *testing.T, a *App) {
		w := newCustomer(t, a)
		create := func(host string) int64 {
			return w.id(w.post(t, w.owner.token, "/api/v1/monitors", fmt.Sprintf(`{"type": "domain", "host": %q, "interval_s": 3600, "retries": 0}`, host)))
		}
		id := create("www.Shop.uz")
		w.monitorIs(id, "up")
		var m struct {
			Host      string
			ExpiresAt *time.Time `json:"domain_expires_at"`
			Days      []int      `json:"domain_expiry_days"`
		}
		a.get(t, w.owner.token, fmt.Sprintf("/api/v1/monitors/%d", id)).decode(t, &m)
		if m.Host != "shop.uz" || m.ExpiresAt == nil || time.Until(*m.ExpiresAt) > 12*24*time.Hour || len(m.Days) != 4 {
			t.Errorf("%+v", m)
		}
		testkit.Eventually(t, 30*time.Second, func() bool {
			return strings.Contains(string(a.get(t, w.owner.token, "/api/v1/notifications").body), "monitor_domain")
		}, "its owner is told that it ends soon")
		if m := w.monitorIs(create("free.uz"), "down"); m.ErrorKey == nil || *m.ErrorKey != "domain_unregistered" {
			t.Errorf("%+v", m)
		}
		for _, host := range []string{"uz", "203.0.113.9", "co.uz", "shop.invalidtld"} {
			r := a.post(t, w.owner.token, "/api/v1/monitors", fmt.Sprintf(`{"type": "domain", "host": %q}`, host))
			if r.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %s", host, r)
			}
		}
	})
}
