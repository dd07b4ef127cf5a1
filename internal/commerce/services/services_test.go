package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/commerce/services/provisioning"
	"stead.dev/stead/internal/commerce/services/servicestest"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// Sold is package billing, as far as these tests ask it.
type Sold interface {
	Billing
	Extend(ctx context.Context, tx *db.Tx, id int64, price money.USDCents, raises map[string]int64) (bool, error)
	ApplyTariffs(ctx context.Context) error
	PaidTimes(ctx context.Context, q db.Querier, id int64, from, to time.Time) ([]sale.PaidTime, error)
	DueRenewals(ctx context.Context, q db.Querier, accountID int64, within int) (money.USDCents, error)
	Operations() []api.Route
}

// NewSold makes package billing, which imports this one, so that the tests in this package cannot import it: those of package
// services_test say here how it is made.
var NewSold func(*Service, *servicestest.World, *provisioning.Service) Sold

// world is the section with everything around it.
type world struct {
	*servicestest.World
	*Service
	sold Sold
	prov *provisioning.Service
}

func newWorld(t *testing.T, d *db.DB, clk *clock.Fake) *world {
	t.Helper()
	w := &world{World: servicestest.New(t, d, clk)}
	w.Service = New(Config{DB: d, Queue: w.Queue, Events: w.Events, Clock: clk})
	w.prov = provisioning.New(provisioning.Config{
		DB: d, Queue: w.Queue, Panels: w.Panels(), Clock: clk, SandboxPanel: "node",
	})
	w.prov.Connect(provisioning.Needs{Services: w.Service, Domains: servicestest.Senders{}, Keeper: keeping{w}, Placer: provisioning.OnePanel("node")})
	w.sold = NewSold(w.Service, w.World, w.prov)
	w.Connect(Needs{
		Billing: w.sold, Plans: servicestest.Plans{}, Payments: &w.Used, Orders: w.World, Addons: NoAddons{}, Names: &w.Names,
		Keeper: &keeper{}, Provisioner: w.prov, Worlds: &w.Used, Clocks: sale.RealTime{}, Monitors: Unwatched{},
	})
	w.Register(w.Queue.Workers())
	w.prov.Register(w.Queue.Workers())
	w.Serve(append(w.Operations(), w.sold.Operations()...)...)
	return w
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) { f(t, newWorld(t, d, clk)) })
}

func (w *world) reserve(n sale.Reservation) (id int64) {
	w.T.Helper()
	w.In(func(ctx context.Context, tx *db.Tx) (err error) {
		id, err = w.Reserve(ctx, tx, n)
		return err
	})
	return id
}

// provisioning is a service whose order was just paid.
func (w *world) provisioning(n sale.Reservation) int64 {
	w.T.Helper()
	id := w.reserve(n)
	w.In(func(ctx context.Context, tx *db.Tx) error { return w.Provision(ctx, tx, id) })
	return id
}

func (w *world) active(n sale.Reservation) int64 {
	w.T.Helper()
	id := w.provisioning(n)
	if err := w.prov.Provision(w.T.Context(), id, 1); err != nil {
		w.T.Fatal(err)
	}
	return id
}

func (w *world) record(id int64) Row {
	w.T.Helper()
	r, err := get(w.T.Context(), w.DB, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

func (w *world) ids(path string) (ids []int64, total int) {
	w.T.Helper()
	status, body := w.Call("own", "GET", path, "")
	if status != http.StatusOK {
		w.T.Fatalf("%s: %d %s", path, status, body)
	}
	var list struct {
		Data []struct {
			ID int64 `json:"id"`
		} `json:"data"`
		Meta struct {
			Total int `json:"total"`
		} `json:"meta"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		w.T.Fatal(err)
	}
	for _, row := range list.Data {
		ids = append(ids, row.ID)
	}
	return ids, list.Meta.Total
}

func TestTheAnswersAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		first := w.reserve(servicestest.Ask("xn--d1acufc.test"))
		second := servicestest.Ask("shop.test")
		second.Label = "  My shop "
		w.Clk.Advance(time.Minute)
		id := w.active(second)

		for _, c := range []struct{ name, method, path, body string }{
			{"pending", "GET", fmt.Sprintf("/api/v1/services/%d", first), ""},
			{"active", "GET", fmt.Sprintf("/api/v1/services/%d", id), ""},
			{"list", "GET", "/api/v1/services?per_page=1", ""},
			{"updated", "PATCH", fmt.Sprintf("/api/v1/services/%d", id), `{"label":"Shop 2","auto_renew":false}`},
			{"unchanged", "PATCH", fmt.Sprintf("/api/v1/services/%d", first), `{}`},
		} {
			status, body := w.Call("own", c.method, c.path, c.body)
			if status != http.StatusOK {
				t.Fatalf("%s: %d %s", c.name, status, body)
			}
			w.Golden(c.name, body)
		}
		w.Same("events", []string{"service.created", "service.updated", "service.provisioned", "service.updated"}, w.Told(id))
		w.Same("events of the other", []string{"service.created"}, w.Told(first))
	})
}

func TestFiltersFindWhatTheyName(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		pending := w.reserve(servicestest.Ask("first.test"))
		shop := servicestest.Ask("shop.test")
		shop.Label, shop.Type = "Дом 100%", "wordpress"
		early := w.active(shop)
		w.Clk.Advance(10 * 24 * time.Hour)
		late := w.active(servicestest.Ask("second_half.test"))
		foreign := servicestest.Ask("foreign.test")
		foreign.AccountID = 2
		w.active(foreign)

		for query, want := range map[string][]int64{
			"":                                     {late, early, pending},
			"?status=active":                       {late, early},
			"?status=suspended":                    nil,
			"?type=wordpress":                      {early},
			"?q=SHOP":                              {early},
			"?q=%D0%94%D0%9E%D0%9C":                {early},   // дом, in capitals
			"?q=%25":                               {early},   // a sign, not a pattern
			"?q=d_h":                               {late},    // likewise
			"?q=first":                             {pending}, // the label of one without is its domain
			"?expires_before=2026-04-05T00:00:00Z": {early},
			"?status=active&q=test&type=hosting":   {late},
		} {
			got, total := w.ids("/api/v1/services" + query)
			w.Same(query, want, got)
			if total != len(want) {
				t.Errorf("%s: total is %d", query, total)
			}
		}
		got, total := w.ids("/api/v1/services?per_page=2&page=2")
		w.Same("second page", []int64{pending}, got)
		w.Same("total of all pages", 3, total)
		for _, bad := range []string{"?status=on_fire", "?expires_before=tomorrow"} {
			if status, body := w.Call("own", "GET", "/api/v1/services"+bad, ""); status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", bad, status, body)
			}
		}
	})
}

func TestRenewalsThatAreDue(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		due := func(days int) int64 {
			sum, err := w.sold.DueRenewals(t.Context(), d, 1, days)
			if err != nil {
				t.Fatal(err)
			}
			return int64(sum)
		}
		w.Same("without services", int64(0), due(400))
		w.reserve(servicestest.Ask("pending.test"))
		foreign := servicestest.Ask("foreign.test")
		foreign.AccountID = 2
		w.active(foreign)
		first := w.active(servicestest.Ask("first.test"))
		price := int64(w.record(first).RenewPrice)
		w.Clk.Advance(10 * 24 * time.Hour)
		second := w.active(servicestest.Ask("second.test"))
		w.Same("one of two", price, due(25))
		w.Same("both", 2*price, due(40))
		if status, body := w.Call("own", "PATCH", fmt.Sprintf("/api/v1/services/%d", first), `{"auto_renew":false}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		w.Same("only what renews itself", price, due(40))
		w.In(func(ctx context.Context, tx *db.Tx) error { return w.Suspend(ctx, tx, second, Abuse) })
		w.Same("not what no money brings back", int64(0), due(40))
	})
}

func TestAServiceThatIsOverIsNotChanged(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.reserve(servicestest.Ask("shop.test"))
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return w.CancelPending(ctx, tx, id) })
		if err != nil {
			t.Fatal(err)
		}
		status, answer := w.Call("own", "PATCH", fmt.Sprintf("/api/v1/services/%d", id), `{"label":"again"}`)
		if status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), "service_not_active") {
			t.Errorf("%d %s", status, answer)
		}
		w.Same("label", "shop.test", w.record(id).label)
	})
}

func TestAStrangerSeesAndChangesNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(servicestest.Ask("shop.test"))
		path := fmt.Sprintf("/api/v1/services/%d", id)
		for method, body := range map[string]string{"GET": "", "PATCH": `{"label":"mine"}`} {
			if status, answer := w.Call("other", method, path, body); status != http.StatusNotFound {
				t.Errorf("%s: %d %s", method, status, answer)
			}
		}
		w.Same("label", "shop.test", w.record(id).label)
		if _, err := w.Site(t.Context(), d, 2, id); !errors.Is(err, fault.NotFound) {
			t.Errorf("hosted: %v", err)
		}
	})
}

func TestBadUpdatesAreRefused(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := newWorld(t, d, clk)
		id := w.active(servicestest.Ask("shop.test"))
		path := fmt.Sprintf("/api/v1/services/%d", id)
		for _, body := range []string{
			`{"label":""}`, `{"label":"  "}`, `{"label":"a\nb"}`, `{"label":7}`, `{"auto_renew":"no"}`,
			`{"label":"` + strings.Repeat("x", 101) + `"}`,
		} {
			if status, answer := w.Call("own", "PATCH", path, body); status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", body, status, answer)
			}
		}
		w.Same("label", "shop.test", w.record(id).label)
	})
}
