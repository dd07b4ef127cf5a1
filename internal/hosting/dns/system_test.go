package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/nameserver"
	"stead.dev/stead/internal/platform/outbox"
)

func (w *world) setSystem(service int64, owner string, records ...site.Record) error {
	w.t.Helper()
	return w.d.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return w.s.SetSystem(ctx, tx, owner1, service, owner, records)
	})
}

func (w *world) placed(owner string) string {
	w.t.Helper()
	placed, err := w.s.Placed(w.t.Context(), w.d, 10, owner)
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(placed)
}

// lines are the served records of some types.
func (w *world) lines(kinds ...string) string {
	w.t.Helper()
	w.follow()
	var found []string
	for l := range strings.SplitSeq(w.zoneLines(zoneName), "\n") {
		if words := strings.Fields(l); len(words) > 1 && slices.Contains(kinds, words[1]) {
			found = append(found, l)
		}
	}
	return strings.Join(found, ", ")
}

func TestASetOfTheSystemStandsBesideTheCustomersRecords(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		w.expect("201", "POST", "10/dns", `{"name": "_acme-challenge", "type": "TXT", "value": "mine"}`)
		mail := []site.Record{
			{Name: zoneName, Type: "MX", Value: "mx.stead.test", Priority: number(10)},
			{Name: zoneName, Type: "TXT", Value: "v=spf1 include:stead.test ~all"},
			{Name: "_imaps._tcp." + zoneName, Type: "SRV", Value: "imap.stead.test", Priority: number(0), Weight: number(1), Port: number(993)},
			{Name: "elsewhere.uz", Type: "TXT", Value: "in no zone here"},
		}
		for range 2 { // the same again changes nothing
			if err := w.setSystem(10, "mail", mail...); err != nil {
				t.Fatal(err)
			}
			if err := w.setSystem(10, "acme", site.Record{Name: "_acme-challenge." + zoneName, Type: "TXT", Value: "ours", TTL: 60}); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.placed("mail"); got != "[true true true false]" {
			t.Errorf("placed: %s", got)
		}
		want := `anna.uz MX 10 mx.stead.test., anna.uz TXT "v=spf1 include:stead.test ~all", _acme-challenge.anna.uz TXT "mine", ` +
			`_acme-challenge.anna.uz TXT "ours", _imaps._tcp.anna.uz SRV 0 1 993 imap.stead.test.`
		sorted := strings.Split(w.lines("MX", "TXT", "SRV"), ", ")
		wanted := strings.Split(want, ", ")
		slices.Sort(sorted)
		slices.Sort(wanted)
		if !slices.Equal(sorted, wanted) {
			t.Errorf("served:\n%q\nwant\n%q", sorted, wanted)
		}
		var snapshots int
		if err := w.d.QueryRow(t.Context(), `SELECT count(*) FROM dns_snapshots`).Scan(&snapshots); err != nil || snapshots != 3 {
			t.Errorf("%d snapshots of 3 changes (%v)", snapshots, err)
		}
		// The customer cannot change them, and sees whose they are.
		for _, r := range w.expect("200", "GET", "10/dns?type=MX", "")["data"].([]any) {
			mx := r.(map[string]any)
			if mx["system"] != true {
				t.Errorf("a system record is shown as %v", mx)
			}
			w.expect("422 dns_record_conflict system_record", "DELETE", fmt.Sprintf("10/dns/%.0f", mx["id"]), "")
			w.expect("422 dns_record_conflict system_record", "PATCH", fmt.Sprintf("10/dns/%.0f", mx["id"]), `{"disabled": true}`)
		}
		// What was exported is all there.
		_, _, text := w.do("GET", "10/dns?format=bind", "owner", "")
		body, _ := json.Marshal(map[string]string{"bind": text})
		if got := w.expect("201", "POST", "10/dns", string(body)); len(got["added"].([]any)) != 0 {
			t.Errorf("importing the export adds %v", got["added"])
		}
		// Another zone of the service, and other name servers.
		w.s.Nameservers = []string{"ns9.stead.test"}
		w.sites[10].IPv4 = "192.0.2.81"
		if err := w.s.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.lines("MX", "A"); strings.Count(got, "192.0.2.81") != 2 || !strings.Contains(got, "mx.stead.test") {
			t.Errorf("after settling: %s", got)
		}
		// The machine has another address.
		w.sites[10].IPv4 = "192.0.2.82"
		for range 2 {
			if err := w.s.Apply(t.Context(), owner1, 10); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.lines("A"); strings.Count(got, "192.0.2.82") != 2 || strings.Contains(got, "192.0.2.81") {
			t.Errorf("after the machine's address changed: %s", got)
		}
		if err := errors.Join(w.setSystem(10, "mail"), w.setSystem(10, "acme")); err != nil {
			t.Fatal(err)
		}
		if got := w.lines("MX", "TXT", "SRV"); got != `_acme-challenge.anna.uz TXT "mine"` {
			t.Errorf("after the sets went: %s", got)
		}
	})
}

func TestTheCustomersOwnRecordsWin(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		err := w.setSystem(10, "mail",
			site.Record{Name: zoneName, Type: "MX", Value: "mx.stead.test", Priority: number(10)},
			site.Record{Name: zoneName, Type: "TXT", Value: "v=spf1 include:stead.test ~all"},
			site.Record{Name: "_dmarc." + zoneName, Type: "TXT", Value: "v=DMARC1; p=none"},
			site.Record{Name: "mail." + zoneName, Type: "A", Value: "192.0.2.90"})
		if err != nil {
			t.Fatal(err)
		}
		own := func(body string) string {
			return fmt.Sprintf("10/dns/%.0f", w.expect("201", "POST", "10/dns", body)["id"])
		}
		own(`{"type": "TXT", "name": "@", "value": "google-site-verification=x"}`)
		if got := w.placed("mail"); got != "[true true true true]" {
			t.Errorf("beside what is about something else: %s", got)
		}
		for i, body := range []string{
			`{"type": "MX", "name": "@", "value": "mx.elsewhere.test", "priority": 5}`,
			`{"type": "TXT", "name": "@", "value": "V=SPF1 -all"}`,
			`{"type": "TXT", "name": "_dmarc", "value": "v=DMARC1;p=reject"}`,
			`{"type": "CNAME", "name": "mail", "value": "mail.elsewhere.test"}`,
		} {
			before := w.served[zoneName].Serial
			record := own(body)
			want := []bool{true, true, true, true}
			want[i] = false
			if got := w.placed("mail"); got != fmt.Sprint(want) {
				t.Errorf("beside %s: %s", body, got)
			}
			w.expect("200", "PATCH", record, `{"disabled": true}`)
			if got := w.placed("mail"); got != "[true true true true]" {
				t.Errorf("beside a disabled %s: %s", body, got)
			}
			w.expect("200", "PATCH", record, `{"disabled": false}`)
			w.expect("200", "DELETE", record, "")
			if got := w.placed("mail"); got != "[true true true true]" {
				t.Errorf("when %s went: %s", body, got)
			}
			w.follow()
			if w.served[zoneName].Serial == before {
				t.Error("the serial stays")
			}
		}
	})
}

// TestTheServicesAddressesGiveWay: to records of the customer's at their name, and are back when those go, whatever the
// platform settles meanwhile.
func TestTheServicesAddressesGiveWay(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		w.sites[10].IPv6 = "2001:db8::80"
		w.expect("200", "GET", "10/dns", "")
		ours := w.lines("A", "AAAA")
		if strings.Count(ours, ",") != 3 {
			t.Fatalf("of the platform are served %s", ours)
		}
		at := func(name string) (all []string) {
			for l := range strings.SplitSeq(w.lines("A", "AAAA", "ALIAS", "CNAME"), ", ") {
				if strings.HasPrefix(l, name+" ") {
					all = append(all, strings.TrimPrefix(l, name+" "))
				}
			}
			return append(all, w.served[zoneName].Unresolved...)
		}
		for _, c := range []struct{ body, name, want string }{
			{`{"type": "ALIAS", "name": "@", "value": "shop.elsewhere.test"}`, zoneName, "[anna.uz]"},
			{`{"type": "A", "name": "@", "value": "198.51.100.7"}`, zoneName, "[A 198.51.100.7]"},
			{`{"type": "AAAA", "name": "www", "value": "2001:db8::7"}`, "www.anna.uz", "[AAAA 2001:db8::7]"},
			{`{"type": "CNAME", "name": "www", "value": "shop.elsewhere.test"}`, "www.anna.uz", "[CNAME shop.elsewhere.test.]"},
		} {
			record := fmt.Sprintf("10/dns/%.0f", w.expect("201", "POST", "10/dns", c.body)["id"])
			served := func(when string) {
				t.Helper()
				if got := fmt.Sprint(at(c.name)); got != c.want {
					t.Errorf("%s: %s: served %s", c.body, when, got)
				}
			}
			served("added")
			for _, r := range w.expect("200", "GET", "10/dns?type=A&name="+c.name, "")["data"].([]any) {
				if r := r.(map[string]any); r["system"] != r["disabled"] {
					t.Errorf("%s: listed as %v", c.body, r)
				}
			}
			w.sites[10].IPv4, w.sites[10].IPv6 = "192.0.2.81", "" // the service moves
			w.follows(outbox.Stored{Type: "service.migrated", AccountID: owner1, SubjectID: 10})
			served("on another machine")
			w.sites[10].IPv4, w.sites[10].IPv6 = "192.0.2.80", "2001:db8::80"
			w.s.Nameservers = append(w.s.Nameservers, "ns9.stead.test")
			if err := w.s.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			served("settled")
			w.expect("200", "PATCH", record, `{"disabled": true}`)
			if got := w.lines("A", "AAAA"); sorted(got) != sorted(ours) {
				t.Errorf("%s: disabled: served %s, want %s", c.body, got, ours)
			}
			w.expect("200", "PATCH", record, `{"disabled": false}`)
			served("enabled")
			w.expect("200", "DELETE", record, "")
			if got := w.lines("A", "AAAA"); sorted(got) != sorted(ours) {
				t.Errorf("%s: deleted: served %s, want %s", c.body, got, ours)
			}
		}
		// An address with another TTL leads to the service still.
		a := w.expect("200", "GET", "10/dns?type=A&name=www", "")["data"].([]any)[0].(map[string]any)
		w.expect("200", "PATCH", fmt.Sprintf("10/dns/%.0f", a["id"]), `{"ttl": 60}`)
		if got := w.lines("A", "AAAA"); sorted(got) != sorted(ours) {
			t.Errorf("with another TTL: served %s, want %s", got, ours)
		}
	})
}

func sorted(lines string) string {
	all := strings.Split(lines, ", ")
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestASetHoldsOnlyWhatCanBeServed(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		for _, r := range []site.Record{
			{Name: zoneName, Type: "ALIAS", Value: "x.test"},
			{Name: "sub." + zoneName, Type: "NS", Value: "ns.test"},
			{Name: zoneName, Type: "MX", Value: "mx.test"},
			{Name: zoneName, Type: "TXT", Value: ""},
			{Name: "a b." + zoneName, Type: "TXT", Value: "x"},
			{Name: zoneName, Type: "A", Value: "::1"},
		} {
			if err := w.setSystem(10, "mail", site.Record{Name: zoneName, Type: "TXT", Value: "fine"}, r); err == nil {
				t.Errorf("%+v is taken", r)
			}
		}
		if err := w.setSystem(10, "", site.Record{Name: zoneName, Type: "TXT", Value: "fine"}); err == nil {
			t.Error("a set without an owner is taken")
		}
		if got := w.lines("TXT"); got != "" {
			t.Errorf("served: %s", got)
		}
	})
}

func TestASetWaitsForItsZoneAndGoesWithTheService(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		if err := w.setSystem(10, "mail", site.Record{Name: "deep." + zoneName, Type: "TXT", Value: "waiting"}); err != nil {
			t.Fatal(err)
		}
		if got := w.placed("mail"); got != "[false]" {
			t.Errorf("before there is a zone: %s", got)
		}
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 10})
		if got := w.placed("mail"); got != "[true]" {
			t.Errorf("when there is one: %s", got)
		}
		for _, c := range []struct {
			service int64
			name    string
			zone    string
			ok      bool
		}{{10, zoneName, zoneName, true}, {10, "a.b." + zoneName, zoneName, true}, {11, "a." + zoneName, zoneName, false}, {10, "x.uz", "", false}} {
			zone, ok, err := w.s.ZoneOf(t.Context(), w.d, c.service, c.name)
			if err != nil || zone != c.zone || ok != c.ok {
				t.Errorf("%d %s: in %q %v %v", c.service, c.name, zone, ok, err)
			}
		}
		w.sites[10].Status = "terminated"
		w.follows(outbox.Stored{Type: "service.terminated", AccountID: owner1, SubjectID: 10})
		w.sites[10].Status = "active"
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 10})
		if got := w.lines("TXT"); got != "" {
			t.Errorf("of the service before is served %s", got)
		}
	})
}

func TestAFixedRecordSaysWhatKeepsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record record
		keeper string
	}{
		{record{system: true, fields: fields{kind: A}}, ""},
		{record{fields: fields{kind: NS}}, ""},
		{record{system: true, fields: fields{kind: NS}}, "nameservers"},
		{record{system: true, owner: ofSites, fields: fields{kind: A}}, "domains"},
		{record{system: true, owner: "mail", fields: fields{kind: MX}}, "mail"},
		{record{system: true, owner: "acme:7", fields: fields{kind: TXT}}, "certificates"},
	} {
		keeper := ""
		if by := c.record.managedBy(); by != nil {
			keeper = *by
		}
		if keeper != c.keeper {
			t.Errorf("%+v is kept by %q, want %q", c.record, keeper, c.keeper)
		}
	}
}

// TestZonesAreNumberedAnew: secondaries that have newer ones take them again, also twice within a second.
func TestZonesAreNumberedAnew(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		w.expect("200", "GET", "10/dns", "")
		w.follow()
		for range 2 {
			zone, catalog := w.served[zoneName].Serial, w.served["catalog.test"].Serial
			err := w.d.InTx(t.Context(), w.s.Renumber)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.feed.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.served[zoneName].Serial; !nameserver.Newer(got, zone) {
				t.Errorf("the zone's serial is %d after %d", got, zone)
			}
			if got := w.served["catalog.test"].Serial; !nameserver.Newer(got, catalog) {
				t.Errorf("the catalog's serial is %d after %d", got, catalog)
			}
		}
	})
}
