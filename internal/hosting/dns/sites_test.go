package dns

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
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
		if err := w.setSystem(10, "mail", site.Record{Name: "second.uz", Type: "MX", Value: "mx.stead.test", Priority: number(10)}); err != nil {
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
		for _, zone := range []string{"coming.uz", "displaced.uz"} {
			if got := w.zoneLines(zone); got != "" {
				t.Errorf("the panel has no such domain, or another account owns it:\n%s", got)
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

// TestTheZoneOfAnotherDomainIsEdited as that of the primary one, and is in the backups.
func TestTheZoneOfAnotherDomainIsEdited(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		w.names[10] = []string{"anna.uz", "second.uz"}
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 10})
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 11})
		r := w.expect("201", "POST", "10/dns?zone=Second.uz.", `{"name": "api", "type": "A", "value": "192.0.2.1"}`)
		record := fmt.Sprintf("10/dns/%.0f", r["id"])
		w.expect("200", "PATCH", record, `{"value": "192.0.2.2"}`)
		w.expect("201", "POST", "10/dns?zone=second.uz", `{"bind": "mx MX 10 mail.other.test."}`)
		w.follow()
		if got := w.zoneLines("second.uz"); !strings.Contains(got, "api.second.uz A 192.0.2.2") || !strings.Contains(got, "mx.second.uz MX") {
			t.Errorf("served:\n%s", got)
		}
		if got := w.zoneLines(zoneName); strings.Contains(got, "api") {
			t.Errorf("of the primary domain is served:\n%s", got)
		}
		for zone, want := range map[string]int{"": 0, "&zone=anna.uz": 0, "&zone=second.uz": 1} {
			if got := w.expect("200", "GET", "10/dns?name=api"+zone, "")["data"].([]any); len(got) != want {
				t.Errorf("%q lists %v", zone, got)
			}
		}
		if _, _, text := w.do("GET", "10/dns?format=bind&zone=second.uz", "owner", ""); !strings.Contains(text, "$ORIGIN second.uz.") {
			t.Errorf("exported:\n%s", text)
		}
		for _, zone := range []string{"other.uz", "nobody.uz", "-", "api.second.uz"} { // the first is another service's
			w.expect("422 dns_record_invalid zone", "GET", "10/dns?zone="+zone, "")
			w.expect("422 dns_record_invalid zone", "POST", "10/dns?zone="+zone, `{"name": "x", "type": "A", "value": "192.0.2.1"}`)
			w.expect("422 dns_record_invalid zone", "POST", "10/dns?validate_only=true&zone="+zone, `{"bind": "x A 192.0.2.1"}`)
		}
		if status, _, raw := w.do("PATCH", "11/"+strings.TrimPrefix(record, "10/"), "owner", `{"ttl": 60}`); status == 200 {
			t.Errorf("another service changes the record: %s", raw)
		}
		document := w.export()
		w.expect("200", "DELETE", record, "")
		err := w.d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.s.end(ctx, tx, ofTheService, int64(10)) })
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.takeBack(document)
			w.follow()
			if got := w.zoneLines("second.uz"); strings.Count(got, "api.second.uz A 192.0.2.2") != 1 || !strings.Contains(got, "ns1.stead.test") {
				t.Errorf("from the backup is served:\n%s", got)
			}
		}
		w.names[10] = []string{"anna.uz"} // it is the service's no longer
		w.follows(outbox.Stored{Type: "site_domain.removed", AccountID: owner1, SubjectID: 10, Data: []byte(`{"name": "second.uz"}`)})
		w.takeBack(document)
		w.follow()
		if got := w.zoneLines("second.uz"); got != "" {
			t.Errorf("of a domain that is gone is served:\n%s", got)
		}
	})
}
