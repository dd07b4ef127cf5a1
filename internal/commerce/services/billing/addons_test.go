package billing

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
)

// extras is one add-on of every service: two of it for 50 each month, or 400 a year.
type extras struct {
	renewed int
	until   time.Time
}

func (e *extras) Renewals(_ context.Context, _ db.Querier, asked []sale.Renewal) (map[int64][]sale.Extra, error) {
	all := map[int64][]sale.Extra{}
	for _, r := range asked {
		if r.Own != (r.Months == 1) {
			return nil, errors.New("the period of the tests' services is a month")
		}
		unit := money.USDCents(50)
		if r.Months == 12 {
			unit = 400
		}
		all[r.ServiceID] = []sale.Extra{{Title: "Disk", Quantity: 2, UnitPrice: unit}}
	}
	return all, nil
}

func (e *extras) Renewed(_ context.Context, _ *db.Tx, _ int64, until time.Time) error {
	e.renewed++
	e.until = until
	return nil
}

func withLimits(limits string) sale.Reservation {
	n := servicestest.Ask("shop.test")
	n.Limits = json.RawMessage(limits)
	return n
}

func (w *world) extend(id int64, price money.USDCents, raises map[string]int64) {
	w.T.Helper()
	w.In(func(ctx context.Context, tx *db.Tx) error {
		_, err := w.Extend(ctx, tx, id, price, raises)
		return err
	})
}

// measuring notes the room that services are given.
type measuring struct {
	provisioning.OnePanel
	resized *[]int64
}

func (m measuring) Resize(_ context.Context, _ *db.Tx, p provisioning.Placement) error {
	*m.resized = append(*m.resized, p.Limits["disk_mb"])
	return nil
}

func TestTheRoomOfAServiceFollowsItsAddons(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		var resized []int64
		w.prov.Placer = measuring{"node", &resized}
		id := w.active(withLimits(`{"disk_mb":1000}`))
		for _, raises := range []map[string]int64{{"disk_mb": 500}, {"disk_mb": 500}, nil} {
			w.extend(id, 100, raises)
		}
		if want := []int64{1500, 1000}; !slices.Equal(resized, want) {
			t.Errorf("the room became %v, want %v", resized, want)
		}
	})
}

func TestAddonsAreRenewedWithTheirServiceAndRaiseItsLimits(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		e := &extras{}
		w.Addons = e
		id := w.active(withLimits(`{"disk_mb":1000,"domains":-1}`))
		before := w.Jobs("services.limits")
		for range 2 { // the second time nothing differs
			w.extend(id, 100, map[string]int64{"disk_mb": 500, "domains": 5, "mailboxes": 7})
		}
		if n := w.Jobs("services.limits") - before; n != 1 {
			t.Errorf("%d jobs for the panel", n)
		}
		r := w.record(id)
		var limits map[string]any
		if err := json.Unmarshal([]byte(r.Limits), &limits); err != nil {
			t.Fatal(err)
		}
		if r.RenewPrice != 599 || limits["disk_mb"] != 1500.0 || limits["domains"] != -1.0 || limits["mailboxes"] != nil {
			t.Errorf("renewed for %d, limits %s", r.RenewPrice, r.Limits)
		}
		site, err := w.Services.Site(t.Context(), w.DB, 1, id)
		if err != nil || site.Limits["disk_mb"] != 1500 {
			t.Errorf("the sections see %v, %v", site.Limits, err)
		}

		// What is not the price of all is refused; a dry run tells it.
		w.refuses(id, "renew", `{"expected_usd_cents": 499}`, 422, "price_changed")
		status, answer := w.Post("own", id, "renew", `{"expected_usd_cents": 599}`)
		sold := w.Till.Sales[0]
		if status != 200 || sold.Price != 499 || len(sold.Extras) != 1 || sold.Extras[0] != (sale.Extra{Title: "Disk", Quantity: 2, UnitPrice: 50}) || e.renewed != 1 {
			t.Errorf("%d %v: %+v, %d renewed", status, answer, sold, e.renewed)
		}
		if r := w.record(id); !e.until.Equal(*r.ExpiresAt) || r.RenewPrice != 599 {
			t.Errorf("renewed until %s, the service until %s for %d", e.until, r.ExpiresAt, r.RenewPrice)
		}
		// Only the plan's money counts when the plan is changed.
		if n := w.Texts(`SELECT CAST(amount AS TEXT) FROM services_periods WHERE service_id = $1 ORDER BY id DESC LIMIT 1`, id); n[0] != "499" {
			t.Errorf("the period was paid with %v", n)
		}
		status, answer = w.Post("own", id, "renew", `{"period_months": 12, "dry_run": true}`)
		if total := answer["total"].(map[string]any)["usd_cents"]; status != 200 || total != 5790.0 {
			t.Errorf("a year: %d %v", status, answer)
		}

		// The add-on stays when the plan changes.
		if status, answer := w.Post("own", id, "tariff", `{"plan_id": 4}`); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		if r := w.record(id); r.RenewPrice != 1100 || r.PlanLimits != `{"disk_mb":1000,"domains":1}` || r.Limits != `{"disk_mb":1500,"domains":6}` {
			t.Errorf("renewed for %d, limits %s", r.RenewPrice, r.Limits)
		}
	})
}

func TestWhatIsUsedOfAnAddonIsKept(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w *world) {
		id := w.active(withLimits(`{"disk_mb":1000,"domains":1}`))
		w.extend(id, 100, map[string]int64{"disk_mb": 500})
		w.Used.Counts = map[string]int64{"disk_mb": 1200, "domains": 5} // beyond what has nothing to do with it
		for more, allowed := range map[int64]bool{0: false, 100: false, 200: true, 500: true} {
			err := w.CheckExtend(t.Context(), w.DB, 1, id, map[string]int64{"disk_mb": more})
			if allowed && err != nil || !allowed && !errors.Is(err, fault.DowngradeExceeds) {
				t.Errorf("raised by %d: %v", more, err)
			}
		}
		// A smaller plan that is large enough with what is raised will do: plan 4 has 1000.
		w.Used.Counts = map[string]int64{"disk_mb": 1400}
		if status, answer := w.Post("own", id, "tariff", `{"plan_id": 4, "dry_run": true}`); status != 200 {
			t.Errorf("%d %v", status, answer)
		}
	})
}
