package dns

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
)

func (w *world) export() json.RawMessage {
	w.t.Helper()
	document, err := w.s.Export(w.t.Context(), w.d, owner1, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	return document
}

func (w *world) takeBack(document json.RawMessage) {
	w.t.Helper()
	err := w.d.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return w.s.Import(ctx, tx, owner1, 10, document, nil)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestAZoneIsAsItsBackupHasIt(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		if document := w.export(); document != nil {
			t.Errorf("a zone that is not there: %s", document)
		}
		w.expect("200", "GET", "10/dns", "")
		empty := w.export()
		w.expect("201", "POST", "10/dns", `{"name": "@", "type": "MX", "value": "mail.elsewhere.example", "priority": 10, "ttl": 300}`)
		w.expect("201", "POST", "10/dns", `{"name": "@", "type": "TXT", "value": "v=spf1 -all"}`)
		// The platform's addresses of www give way to what the customer wants.
		w.expect("201", "POST", "10/dns", `{"name": "www", "type": "CNAME", "value": "cdn.elsewhere.example"}`)
		w.follow()
		before, document := w.zoneLines(zoneName), w.export()

		w.takeBack(empty)
		w.expect("201", "POST", "10/dns", `{"name": "new", "type": "A", "value": "192.0.2.9"}`)
		if now := w.export(); !strings.Contains(string(now), "new") || strings.Contains(string(now), "MX") {
			t.Errorf("emptied: %s", now)
		}
		for range 2 {
			w.takeBack(document)
			w.follow()
			if got := w.zoneLines(zoneName); got != before {
				t.Errorf("served:\n%s\nwant:\n%s", got, before)
			}
			if got := w.export(); string(got) != string(document) {
				t.Errorf("exported again: %s, want %s", got, document)
			}
		}

		// A zone made anew has the platform's addresses again, and they give way.
		err := w.d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.s.end(ctx, tx, ofTheService, int64(10)) })
		if err != nil {
			t.Fatal(err)
		}
		w.takeBack(document)
		w.follow()
		if got := w.zoneLines(zoneName); len(strings.Split(got, "\n")) != len(strings.Split(before, "\n")) || !strings.Contains(got, "www.anna.uz CNAME") {
			t.Errorf("served:\n%s\nwant:\n%s", got, before)
		}
	})
}

// TestWhatAlsoTheSystemWantsIsTakenBack: what a customer had of its own, and the platform put there since, is the customer's
// again.
func TestWhatAlsoTheSystemWantsIsTakenBack(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		id, _ := json.Marshal(w.expect("201", "POST", "10/dns", `{"name": "@", "type": "MX", "value": "mx.stead.test", "priority": 10}`)["id"])
		document := w.export()
		w.expect("200", "DELETE", "10/dns/"+string(id), "")
		if err := w.setSystem(10, "mail", site.Record{Name: zoneName, Type: "MX", Value: "mx.stead.test", Priority: number(10)}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.takeBack(document)
			if got := w.lines("MX"); got != "anna.uz MX 10 mx.stead.test." || w.placed("mail") != "[false]" {
				t.Errorf("served %s, placed %s", got, w.placed("mail"))
			}
		}
	})
}
