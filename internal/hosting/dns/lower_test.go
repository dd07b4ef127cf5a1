package dns

import (
	"context"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/outbox"
)

// TestTheTTLBeforeAMove: what leads to the machine is kept for a minute only, what the customer has stays as it is, and when the
// service has moved all is as before, at its new place.
func TestTheTTLBeforeAMove(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		w.follows(outbox.Stored{Type: "service.provisioned", AccountID: owner1, SubjectID: 10, Data: []byte(`{}`)})
		w.expect("201", "POST", "10/dns", `{"name": "own", "type": "A", "value": "192.0.2.7", "ttl": 7200}`)
		w.follow()
		in := func(f func(ctx context.Context, tx *db.Tx) error) {
			t.Helper()
			if err := w.d.InTx(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			w.follow()
		}
		ttls := func(address string, site, own uint32) {
			t.Helper()
			for line, want := range map[string]uint32{"anna.uz A " + address: site, "own.anna.uz A 192.0.2.7": own, "anna.uz NS ns1.stead.test.": 3600} {
				got := uint32(0)
				for _, r := range w.served["anna.uz"].Records {
					if strings.TrimSuffix(r.Name, ".")+" "+r.Type+" "+r.Data == line {
						got = r.TTL
					}
				}
				if got != want {
					t.Errorf("%s has the TTL %d, want %d", line, got, want)
				}
			}
		}
		ttls("192.0.2.80", 3600, 7200)
		for range 2 { // a process that died lowers it again
			in(func(ctx context.Context, tx *db.Tx) error {
				kept, err := w.s.LowerTTL(ctx, tx, 10)
				if kept != time.Hour {
					t.Errorf("caches may keep it for %s", kept)
				}
				return err
			})
		}
		ttls("192.0.2.80", 60, 7200)
		if _, _, got := w.do("GET", "10/dns", "owner", ""); strings.Contains(got, `"ttl":60,`) {
			t.Errorf("the customer sees %s", got)
		}
		w.sites[10].IPv4 = "192.0.2.81" // the event of the move comes later
		in(func(ctx context.Context, tx *db.Tx) error { return w.s.RestoreTTL(ctx, tx, *w.sites[10]) })
		ttls("192.0.2.81", 3600, 7200)
		in(func(ctx context.Context, tx *db.Tx) error { return w.s.RestoreTTL(ctx, tx, *w.sites[10]) })
		ttls("192.0.2.81", 3600, 7200)
	})
}
