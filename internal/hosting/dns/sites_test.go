package dns

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/outbox"
)

// TestEveryDomainOfAServiceIsFound: what is below the service's zone by addresses in it, another domain by a zone of its
// own, until they go.
func TestEveryDomainOfAServiceIsFound(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		event := func(kind, data string) {
			t.Helper()
			w.follows(outbox.Stored{Type: kind, AccountID: owner1, SubjectID: 10, Data: []byte(data)})
			w.follow()
		}
		event("service.provisioned", `{}`)
		w.expect("201", "POST", "10/dns", `{"name": "old.anna.uz", "type": "CNAME", "value": "elsewhere.test"}`)
		if err := w.setSystem(10, "mail", Record{Name: "second.uz", Type: MX, Value: "mx.stead.test", Priority: number(10)}); err != nil {
			t.Fatal(err)
		}
		w.names[10] = []string{"blog.second.uz", "shop.anna.uz", "anna.uz", "second.uz", "old.anna.uz"}
		for range 2 { // the same again changes nothing
			event("site_domain.added", `{"name": "second.uz"}`)
		}
		count := func(zone, line string) (n int) {
			for l := range strings.SplitSeq(w.zoneLines(zone), "\n") {
				if strings.HasSuffix(" "+l, " "+line) {
					n++
				}
			}
			return n
		}
		for zone, want := range map[string][]string{
			"anna.uz": {
				"anna.uz A 192.0.2.80", "www.anna.uz A 192.0.2.80", "shop.anna.uz A 192.0.2.80", "www.shop.anna.uz A 192.0.2.80",
				"old.anna.uz CNAME elsewhere.test.",
			},
			"second.uz": {
				"second.uz NS ns1.stead.test.", "second.uz A 192.0.2.80", "www.second.uz A 192.0.2.80", "blog.second.uz A 192.0.2.80",
				"second.uz MX 10 mx.stead.test.",
			},
			"catalog.test": {"PTR second.uz."},
		} {
			for _, line := range want {
				if count(zone, line) != 1 {
					t.Errorf("%s has not once %q:\n%s", zone, line, w.zoneLines(zone))
				}
			}
		}
		if count("anna.uz", "old.anna.uz A 192.0.2.80") != 0 {
			t.Errorf("beside the customer's own:\n%s", w.zoneLines("anna.uz"))
		}
		w.sites[10].IPv4 = "192.0.2.81"
		event("service.migrated", `{}`)
		for _, zone := range []string{"anna.uz", "second.uz"} {
			if got := w.zoneLines(zone); strings.Contains(got, "192.0.2.80") || strings.Count(got, "192.0.2.81") < 3 {
				t.Errorf("on another machine:\n%s", got)
			}
		}
		w.names[10] = []string{"anna.uz"}
		event("site_domain.removed", `{"name": "second.uz"}`)
		if got := w.zoneLines("anna.uz"); strings.Contains(got, "shop") || w.zoneLines("second.uz") != "" {
			t.Errorf("when they are gone:\n%s\n%s", got, w.zoneLines("second.uz"))
		}
	})
}

// TestAZoneOfAnotherServiceIsLeftToIt: a domain below it is found by what is said there.
func TestAZoneOfAnotherServiceIsLeftToIt(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 10})
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 11})
		w.names[11] = []string{"other.uz", "shop.anna.uz"}
		w.follows(outbox.Stored{Type: "site_domain.added", AccountID: owner1, SubjectID: 11, Data: []byte(`{"name": "shop.anna.uz"}`)})
		w.follow()
		if got := w.zoneLines("shop.anna.uz") + w.lines("A"); strings.Contains(got, "shop") {
			t.Errorf("served: %s", got)
		}
	})
}
