package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/nameserver"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/signal"
	"stead.dev/stead/internal/platform/testkit"
)

const (
	owner1   = 1
	stranger = 2
)

// sites are the services that there are.
type sites map[int64]*site.Site

func (ss sites) Site(_ context.Context, _ db.Querier, accountID, serviceID int64) (site.Site, error) {
	s, ok := ss[serviceID]
	if !ok || s.AccountID != accountID {
		return site.Site{}, fault.NotFound.New()
	}
	return *s, nil
}

func (ss sites) LockSite(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (site.Site, error) {
	return ss.Site(ctx, tx, accountID, serviceID)
}

// names are the domains of services besides the primary ones.
type names map[int64][]string

func (ns names) Hosted(_ context.Context, _ db.Querier, _, serviceID int64) (all []site.Domain, err error) {
	for _, name := range ns[serviceID] {
		all = append(all, site.Domain{Name: name, Served: true})
	}
	return append(all, site.Domain{Name: "coming.uz"}, site.Domain{Name: "displaced.uz", Served: true, Displaced: true}), nil
}

// Cleared implements Domains: all names are their owners'.
func (names) Cleared(context.Context, db.Querier, int64, string) (bool, error) { return true, nil }

// answers are what names lead to; a name that is not among them cannot be looked up.
type answers map[string][]string

func (as answers) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	found, ok := as[host]
	if !ok {
		return nil, errors.New("no answer")
	}
	if len(found) == 0 {
		return nil, &net.DNSError{IsNotFound: true}
	}
	var all []netip.Addr
	for _, a := range found {
		all = append(all, netip.MustParseAddr(a))
	}
	return all, nil
}

type noJobs struct{}

func (noJobs) Enqueue(context.Context, *db.Tx, river.JobArgs, *river.InsertOpts) error { return nil }

// served is what the name server was handed.
type servedZones map[string]nameserver.Zone

func (z servedZones) Set(in nameserver.Zone) error {
	z[in.Name] = in
	return nameserver.New(nameserver.Config{Now: time.Now}).Set(in)
}

func (z servedZones) Serial(name string) (uint32, bool) {
	zone, ok := z[name]
	return zone.Serial, ok
}

func (z servedZones) Remove(name string) { delete(z, name) }

type world struct {
	http.Handler
	t       *testing.T
	d       *db.DB
	clk     *clock.Fake
	s       *Service
	sites   sites
	names   names
	answers answers
	feed    *Feed
	served  servedZones
}

func onEngines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := &world{t: t, d: d, clk: clk, answers: answers{}, names: names{}, served: servedZones{}, sites: sites{
			10: {ServiceID: 10, AccountID: owner1, Status: "active", Domain: zoneName, IPv4: "192.0.2.80"},
			11: {ServiceID: 11, AccountID: owner1, Status: "suspended", Domain: "other.uz"},
			12: {ServiceID: 12, AccountID: owner1, Status: "provisioning", Domain: "new.uz"},
		}}
		hub := signal.NewHub(d, clk, slog.New(slog.DiscardHandler))
		w.s = New(Config{
			DB: d, Clock: clk, Queue: noJobs{}, Signals: hub, Services: w.sites, Domains: w.names, Resolver: w.answers,
			Nameservers: []string{"ns1.stead.test", "ns2.stead.test"}, Catalog: "catalog.test",
		})
		w.feed = NewFeed(w.s, w.served, hub, slog.New(slog.DiscardHandler))
		scopes := []string{"services:read", "services:write"}
		w.Handler = api.Outer(slog.New(slog.DiscardHandler), clk, nil, apitest.NewEdge(t, d, clk, apitest.Tokens{
			"owner":    {AccountID: owner1, ApplicationID: 1, Scopes: scopes},
			"stranger": {AccountID: stranger, ApplicationID: 1, Scopes: auth.Scopes},
		}, w.s.Operations()))
		f(t, w)
	})
}

func (w *world) do(method, path, token, body string) (int, map[string]any, string) {
	w.t.Helper()
	rec := apitest.Call(w, token, method, "/api/v1/services/"+path, body)
	var decoded map[string]any
	_ = json.Unmarshal(rec.Body.Bytes(), &decoded)
	return rec.Code, decoded, rec.Body.String()
}

// expect makes a request of the owner's and fails when it is answered otherwise; want is
// the status and, where there is one, the error key and the reason.
func (w *world) expect(want, method, path, body string) map[string]any {
	w.t.Helper()
	status, decoded, raw := w.do(method, path, "owner", body)
	got := strings.TrimSpace(fmt.Sprint(status))
	if key, ok := decoded["error"].(string); ok {
		got += " " + key
		if why, ok := decoded["reason"].(string); ok {
			got += " " + why
		}
	}
	if got != want {
		w.t.Fatalf("%s %s %s: %s, want %s\n%s", method, path, body, got, want, raw)
	}
	return decoded
}

// follow has the feed hear what was signalled.
func (w *world) follow() {
	w.t.Helper()
	if err := w.feed.follow(w.t.Context(), w.feed.take()); err != nil {
		w.t.Fatal(err)
	}
}

// zoneLines are the records that are served under the name, as "name type data".
func (w *world) zoneLines(name string) string {
	var all []string
	for _, r := range w.served[name].Records {
		all = append(all, r.Name+" "+r.Type+" "+r.Data)
	}
	return strings.Join(all, "\n")
}

func TestAZoneIsThereFromTheBeginning(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		got := w.expect("200", "GET", "10/dns", "")
		if total := got["meta"].(map[string]any)["total"]; total != 4.0 {
			t.Errorf("%v records, want two name servers and two addresses", total)
		}
		w.follow()
		want := "anna.uz NS ns1.stead.test.\nanna.uz NS ns2.stead.test.\nanna.uz A 192.0.2.80\nwww.anna.uz A 192.0.2.80"
		if got := w.zoneLines(zoneName); got != want {
			t.Errorf("served:\n%s\nwant:\n%s", got, want)
		}
		if got := w.zoneLines("catalog.test"); !strings.Contains(got, "PTR anna.uz.") {
			t.Errorf("the catalog is\n%s", got)
		}
		w.expect("422 service_not_active", "GET", "12/dns", "")
		w.expect("200", "GET", "11/dns", "")
		w.expect("422 service_suspended", "POST", "11/dns", `{"type": "A", "name": "a", "value": "192.0.2.1"}`)
	})
}

func TestRecordsAreAddedChangedAndDeletedOneByOne(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		r := w.expect("201", "POST", "10/dns", `{"name": "api", "type": "A", "value": "192.0.2.1", "ttl": 600}`)
		record := fmt.Sprintf("10/dns/%.0f", r["id"])
		w.follow()
		first := w.served[zoneName].Serial
		w.expect("422 dns_record_conflict cname_beside", "POST", "10/dns", `{"name": "api", "type": "CNAME", "value": "host.test"}`)
		w.expect("422 dns_record_conflict duplicate", "POST", "10/dns", `{"name": "api.anna.uz.", "type": "A", "value": "192.0.2.1"}`)
		w.expect("422 dns_record_invalid ttl", "PATCH", record, `{"ttl": 10}`)
		w.expect("200", "PATCH", record, `{"value": "192.0.2.2"}`)
		w.follow()
		if second := w.served[zoneName].Serial; !nameserver.Newer(second, first) || !strings.Contains(w.zoneLines(zoneName), "api.anna.uz A 192.0.2.2") {
			t.Errorf("serial %d after %d, served\n%s", second, first, w.zoneLines(zoneName))
		}
		w.expect("200", "PATCH", record, `{"disabled": true}`)
		w.follow()
		if strings.Contains(w.zoneLines(zoneName), "api.anna.uz") {
			t.Error("a disabled record is served")
		}
		list := w.expect("200", "GET", "10/dns?type=A&name=api", "")
		if len(list["data"].([]any)) != 1 {
			t.Errorf("the filter finds %v", list["data"])
		}
		w.expect("200", "DELETE", record, "")
		w.expect("404 not_found", "DELETE", record, "")
		var snapshots int
		if err := w.d.QueryRow(t.Context(), `SELECT count(*) FROM dns_snapshots`).Scan(&snapshots); err != nil || snapshots != 4 {
			t.Errorf("%d snapshots of 4 changes (%v)", snapshots, err)
		}
	})
}

func TestNameServersStayAndAddressesAreTheCustomers(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		find := func(query string) string {
			data := w.expect("200", "GET", "10/dns?"+query, "")["data"].([]any)
			return fmt.Sprintf("10/dns/%.0f", data[0].(map[string]any)["id"])
		}
		w.expect("422 dns_record_conflict system_record", "DELETE", find("type=NS"), "")
		w.expect("422 dns_record_conflict system_record", "PATCH", find("type=NS"), `{"value": "ns.evil.test"}`)
		w.expect("422 dns_record_conflict system_record", "POST", "10/dns", `{"type": "NS", "value": "ns.evil.test"}`)
		if r := w.expect("200", "PATCH", find("type=A&name=www"), `{"value": "198.51.100.1"}`); r["system"] != false {
			t.Error("a record that the customer changed is still the system's")
		}
		// The service moves: its own address follows, the customer's stays.
		w.sites[10].IPv4 = "192.0.2.81"
		w.follows(outbox.Stored{Type: "service.updated", AccountID: owner1, SubjectID: 10})
		w.follow()
		if got := w.zoneLines(zoneName); !strings.Contains(got, "anna.uz A 192.0.2.81") || !strings.Contains(got, "www.anna.uz A 198.51.100.1") {
			t.Errorf("served:\n%s", got)
		}
		// Other name servers are configured.
		w.s.Nameservers = []string{"ns9.stead.test"}
		for range 2 { // a job may run twice
			if err := w.s.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.follow()
		if got := w.zoneLines(zoneName); strings.Count(got, " NS ") != 1 || !strings.Contains(got, "NS ns9.stead.test.") {
			t.Errorf("served:\n%s", got)
		}
	})
}

func (w *world) follows(e outbox.Stored) {
	w.t.Helper()
	err := w.d.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.s.Follow(ctx, tx, e) })
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestAServiceThatComesBackFindsItsZone: its zone stays until its final backup is made, and events of its end may be told when
// it is back.
func TestAServiceThatComesBackFindsItsZone(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		w.expect("201", "POST", "10/dns", `{"name": "api", "type": "A", "value": "192.0.2.1"}`)
		there := func(when string) {
			t.Helper()
			if got := w.expect("200", "GET", "10/dns?name=api", "")["data"].([]any); len(got) != 1 {
				t.Errorf("%s: %v", when, got)
			}
		}
		for _, status := range []string{"terminating", "provisioning"} {
			w.sites[10].Status = status
			w.s.Nameservers = []string{"ns9." + status + ".test"}
			if err := errors.Join(w.s.Apply(t.Context(), owner1, 10), w.s.Settle(t.Context())); err != nil {
				t.Fatal(err)
			}
			w.sites[10].Status = "active"
			there(status)
		}
		w.follows(outbox.Stored{Type: "service.terminated", AccountID: owner1, SubjectID: 10})
		there("its end is told late")
		w.follows(outbox.Stored{Type: "site_domain.removed", AccountID: owner1, SubjectID: 10, Data: []byte(`{"name": "` + zoneName + `"}`)})
		there("the end of its domain is told late")
		w.sites[10].Status = "terminated"
		w.follows(outbox.Stored{Type: "service.terminated", AccountID: owner1, SubjectID: 10})
		w.sites[10].Status = "active"
		if got := w.expect("200", "GET", "10/dns?name=api", "")["data"].([]any); len(got) != 0 {
			t.Errorf("after its end: %v", got)
		}
	})
}

func TestAnImportOnlyAdds(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		file := "@ 3600 IN SOA ns.old.test. host.old.test. 1 2 3 4 5\n@ IN NS ns.old.test.\n@ 30 IN MX 10 mail\nmail IN A 192.0.2.9\n" +
			"@ A 192.0.2.80\n@ IN TXT \"v=spf1\" \" -all\"\n@ HTTPS 1 .\n"
		body := func(text string) string {
			b, _ := json.Marshal(map[string]string{"bind": text})
			return string(b)
		}
		conflicting := file + "mail CNAME host.test.\nbad TLSA 3 1 1 00\n"
		got := w.expect("200", "POST", "10/dns?validate_only=true", body(conflicting))
		count := func(of map[string]any, list string) int { return len(of[list].([]any)) }
		if count(got, "added") != 3 || count(got, "skipped") != 4 || count(got, "conflicts") != 2 {
			t.Errorf("the preview is %v", got)
		}
		w.expect("422 dns_record_conflict import", "POST", "10/dns", body(conflicting))
		if list := w.expect("200", "GET", "10/dns", ""); len(list["data"].([]any)) != 4 {
			t.Error("a preview or a refused import has changed the zone")
		}
		if got := w.expect("201", "POST", "10/dns", body(file)); count(got, "added") != 3 {
			t.Errorf("the import says %v", got)
		}
		w.expect("422 dns_record_invalid bind", "POST", "10/dns", body("@ IN A nonsense\n"))
		status, _, text := w.do("GET", "10/dns?format=bind", "owner", "")
		if status != 200 || !strings.Contains(text, `@ 60 IN TXT "v=spf1 -all"`) || !strings.Contains(text, "@ 60 IN MX 10 mail.anna.uz.") {
			t.Errorf("the export is %d\n%s", status, text)
		}
		// What was exported is all there.
		if got := w.expect("200", "POST", "10/dns?validate_only=true", body(text)); count(got, "added") != 0 || count(got, "conflicts") != 0 {
			t.Errorf("importing the export would do %v", got)
		}
	})
}

func TestAnAliasIsServedAsTheAddressesOfItsTarget(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		record := fmt.Sprintf("10/dns/%.0f", w.expect("201", "POST", "10/dns", `{"name": "shop", "type": "ALIAS", "value": "host.other.test"}`)["id"])
		state := func(want string) {
			t.Helper()
			alias := w.expect("200", "GET", "10/dns?type=ALIAS", "")["data"].([]any)[0].(map[string]any)["alias"].(map[string]any)
			if got := fmt.Sprint(alias["status"], alias["addresses"], alias["checked_at"] != nil); got != want {
				t.Errorf("the state is %s, want %s", got, want)
			}
		}
		state("pending[] false")
		resolve := func() string {
			for range 2 { // a job may run twice
				if err := w.s.ResolveAliases(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			w.follow()
			var lines []string
			for l := range strings.SplitSeq(w.zoneLines(zoneName), "\n") {
				if strings.HasPrefix(l, "shop.") {
					lines = append(lines, l)
				}
			}
			w.clk.Advance(aliasInterval + time.Second)
			if unresolved := w.served[zoneName].Unresolved; (len(lines) == 0) != slices.Equal(unresolved, []string{"shop.anna.uz"}) {
				t.Errorf("unresolved are %v beside %v", unresolved, lines)
			}
			return strings.Join(lines, ", ")
		}
		if got := resolve(); got != "" {
			t.Errorf("before anything was found: %s", got)
		}
		state("unresolved[] true")
		w.answers["host.other.test."] = []string{"2620:fe::fe", "9.9.9.9", "10.0.0.1", "127.0.0.1", "::ffff:192.168.1.1", "fe80::1%eth0", "fd00::1"}
		if got := resolve(); got != "shop.anna.uz AAAA 2620:fe::fe, shop.anna.uz A 9.9.9.9" {
			t.Errorf("found: %s", got)
		}
		state("resolved[2620:fe::fe 9.9.9.9] true")
		before := w.served[zoneName].Serial
		delete(w.answers, "host.other.test.")
		if got := resolve(); !strings.Contains(got, "9.9.9.9") || w.served[zoneName].Serial != before {
			t.Errorf("a failing look changes the zone: %s", got)
		}
		state("resolved[2620:fe::fe 9.9.9.9] true")
		w.answers["host.other.test."] = nil
		if got := resolve(); got != "" || w.served[zoneName].Serial == before {
			t.Errorf("a target that is gone is served: %s", got)
		}
		w.answers["host.other.test."] = []string{"127.0.0.1"}
		if got := resolve(); got != "" {
			t.Errorf("an internal address is served: %s", got)
		}
		// Another target is served when it is looked up, and the former one not beyond that.
		w.answers["host.other.test."] = []string{"9.9.9.9"}
		resolve()
		w.expect("200", "PATCH", record, `{"ttl": 60}`)
		state("resolved[9.9.9.9] true")
		w.expect("200", "PATCH", record, `{"value": "silent.other.test"}`)
		state("pending[9.9.9.9] false")
		if got := resolve(); got != "" {
			t.Errorf("of a target that does not answer is served %s", got)
		}
		state("unresolved[] true")
		w.expect("200", "PATCH", record, `{"disabled": true}`)
		w.follow()
		if unresolved := w.served[zoneName].Unresolved; len(unresolved) > 0 {
			t.Errorf("a disabled record leaves %v unresolved", unresolved)
		}
	})
}

// TestManyAliasesAreOneJob: they are looked up at servers of the customer's, while everybody's jobs wait.
func TestManyAliasesAreOneJob(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		queue, err := jobs.New(w.d, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w.s.Register(queue.Workers())
		w.s.Queue = queue
		waiting := func() (n int) {
			if err := w.d.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = $1`, resolveArgs{}.Kind()).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		w.expect("201", "POST", "10/dns", `{"name": "text", "type": "TXT", "value": "x"}`)
		if n := waiting(); n != 0 {
			t.Errorf("%d jobs without an ALIAS", n)
		}
		names := 0
		add := func(prefix string) (records []savedRecord) {
			for range 20 {
				names++
				records = append(records, savedRecord{Name: fmt.Sprintf("%s%d", prefix, names), Type: ALIAS, Value: fmt.Sprintf("%d.other.test", names), TTL: 300})
			}
			return records
		}
		for range 2 {
			document, err := json.Marshal(savedZone{Zone: zoneName, Records: add("shop")})
			if err != nil {
				t.Fatal(err)
			}
			err = w.d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return w.s.Import(ctx, tx, owner1, 10, document, nil)
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range add("one")[:3] {
				w.expect("201", "POST", "10/dns", fmt.Sprintf(`{"name": %q, "type": "ALIAS", "value": %q}`, k.Name, k.Value))
			}
			if n := waiting(); n != 1 {
				t.Errorf("%d jobs wait", n)
			}
		}
	})
}

func TestZonesGoWithTheirServices(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 10})
		w.follow()
		if len(w.served[zoneName].Records) == 0 {
			t.Fatal("a service that is provisioned has no zone")
		}
		// Another service has the name by now.
		w.sites[10].Domain = "renamed.uz"
		w.sites[20] = &site.Site{ServiceID: 20, AccountID: stranger, Status: "active", Domain: zoneName}
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: stranger, SubjectID: 20})
		w.follow()
		if got := w.zoneLines(zoneName); strings.Contains(got, "192.0.2.80") || !strings.Contains(got, "ns1.stead.test") {
			t.Errorf("of the new owner's zone is served\n%s", got)
		}
		if status, _, _ := w.do("GET", "20/dns", "owner", ""); status != 404 {
			t.Errorf("who had the name before sees %d", status)
		}
		w.sites[20].Status = "terminated"
		w.follows(outbox.Stored{Type: "service.terminated", AccountID: stranger, SubjectID: 20})
		w.follow()
		if _, there := w.served[zoneName]; there || strings.Contains(w.zoneLines("catalog.test"), zoneName) {
			t.Error("the zone of a terminated service is served")
		}
		if err := w.feed.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestHowFarTheNameServerIsBehind(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		lag := func() time.Duration {
			t.Helper()
			lag, err := w.feed.Lag(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return lag
		}
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 10})
		w.clk.Advance(3 * time.Second)
		if got := lag(); got != 3*time.Second {
			t.Errorf("a new zone that is not served: %v", got)
		}
		w.follow()
		if got := lag(); got != 0 {
			t.Errorf("all is served: %v", got)
		}
		w.expect("201", "POST", "10/dns", `{"name": "api", "type": "A", "value": "192.0.2.1"}`)
		w.clk.Advance(time.Minute)
		if got := lag(); got != time.Minute {
			t.Errorf("a record that is not served: %v", got)
		}
	})
}

func TestAStrangersRequestsFindNothing(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		r := w.expect("201", "POST", "10/dns", `{"name": "api", "type": "A", "value": "192.0.2.1"}`)
		record := fmt.Sprintf("10/dns/%.0f", r["id"])
		for _, c := range [][3]string{
			{"GET", "10/dns", ""},
			{"GET", "10/dns?format=bind", ""},
			{"POST", "10/dns", `{"name": "x", "type": "A", "value": "192.0.2.1"}`},
			{"POST", "10/dns?validate_only=true", `{"bind": "x A 192.0.2.1"}`},
			{"PATCH", record, `{"ttl": 60}`},
			{"DELETE", record, ""},
		} {
			if status, _, raw := w.do(c[0], c[1], "stranger", c[2]); status != 404 {
				t.Errorf("%s %s: %d %s", c[0], c[1], status, raw)
			}
		}
	})
}
