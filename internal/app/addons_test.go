package app

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/commerce/addons"
	"stead.dev/stead/internal/commerce/coupons"
	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/testkit"
)

// shopper is a world with nothing but a customer who has 100 dollars.
func shopper(t *testing.T, a *App) *world {
	t.Helper()
	w := &world{App: a, t: t, client: a.application(t, false)}
	w.owner = a.customer(t, w.client, 10_000)
	w.plan = w.aPlan()
	return w
}

type spent struct {
	Subtotal, Discount, Total cents
	Status                    string
	CouponCode                *string `json:"coupon_code"`
	FailureKey                *string `json:"failure_key"`
	Items                     []struct {
		Kind, Title string
		Quantity    int
		Total       cents
	}
}

func (w *world) spentOn(c customer, orderID int64) (o spent) {
	w.t.Helper()
	w.get(w.t, c.token, fmt.Sprintf("/api/v1/orders/%d", orderID)).decode(w.t, &o)
	return o
}

func (w *world) balanceOf(c customer) money.USDCents {
	w.t.Helper()
	var wallet struct{ Balance, Held cents }
	w.get(w.t, c.token, "/api/v1/wallet").decode(w.t, &wallet)
	return wallet.Balance.Cents
}

// TestAnAddonLivesWithItsService: what is bought for a service is paid from the wallet, raises what the panel allows,
// and is renewed with it in one order.
func TestAnAddonLivesWithItsService(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := shopper(t, a)
		order := w.newOrder(w.owner, unique("site")+".example.com")
		if r := w.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}"); r.status != http.StatusOK {
			t.Fatal(r)
		}
		w.service = w.serviceOf(w.owner)
		path := fmt.Sprintf("/api/v1/services/%d", w.service)
		disk := func() (most int64) {
			var usage struct {
				DiskMB struct {
					Limit *int64 `json:"limit"`
				} `json:"disk_mb"`
			}
			w.get(t, w.owner.token, path+"/usage").decode(t, &usage)
			if usage.DiskMB.Limit != nil {
				most = *usage.DiskMB.Limit
			}
			return most
		}
		price := func() money.USDCents {
			var s struct {
				RenewPrice cents `json:"renew_price"`
			}
			w.get(t, w.owner.token, path).decode(t, &s)
			return s.RenewPrice.Cents
		}
		diskBefore, priceBefore, balanceBefore := disk(), price(), w.balanceOf(w.owner)

		var offers struct {
			Data []struct {
				Key    string
				Charge cents
				Unit   cents `json:"unit_price"`
			}
		}
		w.get(t, w.owner.token, path+"/addons/offers").decode(t, &offers)
		if len(offers.Data) == 0 || offers.Data[0].Key != "extra_disk" || offers.Data[0].Charge.Cents == 0 {
			t.Fatalf("offers: %+v", offers)
		}
		unit, charge := offers.Data[0].Unit.Cents, 2*offers.Data[0].Charge.Cents
		body := fmt.Sprintf(`{"key": "extra_disk", "quantity": 2, "expected_usd_cents": %d}`, charge)
		if r := w.post(t, w.owner.token, path+"/addons", strings.Replace(body, fmt.Sprintf("%d}", charge), "1}", 1)); r.key() != "price_changed" {
			t.Errorf("at another price: %s", r)
		}
		w.addon = w.id(w.post(t, w.owner.token, path+"/addons", body))
		if got := balanceBefore - w.balanceOf(w.owner); got != charge {
			t.Errorf("charged %d, offered %d", got, charge)
		}
		if disk() != diskBefore+2*10240 || price() != priceBefore+2*unit {
			t.Errorf("disk from %d to %d, renewal from %d to %d", diskBefore, disk(), priceBefore, price())
		}

		var renewed struct {
			OrderID int64 `json:"order_id"`
			Total   cents
		}
		w.post(t, w.owner.token, path+"/renew", "{}").decode(t, &renewed)
		o := w.spentOn(w.owner, renewed.OrderID)
		if o.Status != "completed" || o.Total.Cents != priceBefore+2*unit || renewed.Total != o.Total || len(o.Items) != 2 ||
			o.Items[1].Kind != "addon" || o.Items[1].Quantity != 2 || o.Items[1].Total.Cents != 2*unit {
			t.Errorf("renewed for %d by %+v", renewed.Total.Cents, o)
		}

		// What operators make is paid when they have made it, and the money is back when they cannot.
		before := w.balanceOf(w.owner)
		ask := fmt.Sprintf(`{"key": "dedicated_ip", "expected_usd_cents": %d}`, 2*200)
		refused := w.id(w.post(t, w.owner.token, path+"/addons", ask))
		if held := before - w.balanceOf(w.owner); held != 400 {
			t.Errorf("%d are set aside for two months", held)
		}
		if err := a.admin.RefuseAddon(t.Context(), refused); err != nil || w.balanceOf(w.owner) != before {
			t.Errorf("refused: %v, balance %d, before %d", err, w.balanceOf(w.owner), before)
		}
		made := w.id(w.post(t, w.owner.token, path+"/addons", ask))
		var wg sync.WaitGroup
		results := [3]error{}
		for i := range results {
			wg.Go(func() { results[i] = a.admin.MakeAddon(t.Context(), made, "192.0.2.7") })
		}
		wg.Wait()
		done := 0
		for _, err := range results {
			if err == nil {
				done++
			} else if !errors.Is(err, addons.ErrNotPending) {
				t.Error(err)
			}
		}
		if done != 1 || price() != priceBefore+2*unit+200 || w.balanceOf(w.owner) != before-400 {
			t.Errorf("%d made it, renewed for %d, balance %d", done, price(), w.balanceOf(w.owner))
		}
		if found, err := a.wallet.Recompute(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the books: %v, %v", found, err)
		}
	})
}

// TestAnAddonTakesRoomOnItsNode: what is sold of a machine's disk counts what add-ons raise.
func TestAnAddonTakesRoomOnItsNode(t *testing.T) {
	t.Parallel()
	a := start(t, map[string]string{"demo": "true", "panel": "nodes", "nodes_listen": "127.0.0.1:0", "node_listen": "off"})
	_, token, err := a.nodes.Add(t.Context(), nodes.NewNode{Name: "node1", Location: "tashkent", DiskPercent: 1000})
	if err != nil {
		t.Fatal(err)
	}
	runNode(t, a, token, nil)
	testkit.Eventually(t, heard, func() bool {
		n, err := a.nodes.Named(t.Context(), a.db, "node1")
		return err == nil && n.Capacity.DiskMB > 0
	}, "the node has reported")
	w := shopper(t, a)
	order := w.newOrder(w.owner, unique("site")+".example.com")
	if r := w.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", order), "{}"); r.status != http.StatusOK {
		t.Fatal(r)
	}
	path := fmt.Sprintf("/api/v1/services/%d", w.serviceOf(w.owner))
	placed := func() int64 {
		t.Helper()
		n, err := a.nodes.Named(t.Context(), a.db, "node1")
		if err != nil {
			t.Fatal(err)
		}
		return n.PlacedDiskMB
	}
	before := placed()
	w.id(w.post(t, w.owner.token, path+"/addons", `{"key": "extra_disk", "quantity": 2}`))
	if got := placed() - before; got != 2*10240 {
		t.Errorf("the add-on took %d MB of the node", got)
	}
}

// TestACouponGoesToThoseWhoPayFirst: many have ordered with a coupon that there are three of.
func TestACouponGoesToThoseWhoPayFirst(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := shopper(t, a)
		create := func(c coupons.Coupon) {
			t.Helper()
			c.MinMonths = 1
			if _, err := a.coupons.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		create(coupons.Coupon{Code: "THREE", PercentBasisPoints: 2500, MaxTotal: 3, MaxEach: 1})
		ask := func(c customer, domain, code string) answer {
			return w.post(t, c.token, "/api/v1/orders", fmt.Sprintf(`{"plan_id": %d, "domain": %q, "coupon_code": %q}`, w.plan, domain, code))
		}
		if r := ask(w.owner, unique("none")+".example.com", "no-such"); r.key() != "coupon_invalid" {
			t.Errorf("an unknown code: %s", r)
		}
		full := w.spentOn(w.owner, w.newOrder(w.owner, unique("full")+".example.com"))

		const many = 8
		buyers, orders, results := [many]customer{}, [many]int64{}, [many]answer{}
		for i := range many {
			buyers[i] = a.customer(t, w.client, 10_000)
			orders[i] = w.id(ask(buyers[i], unique("site")+".example.com", "three"))
			o := w.spentOn(buyers[i], orders[i])
			if o.CouponCode == nil || *o.CouponCode != "THREE" || o.Subtotal != full.Subtotal || o.Total.Cents != full.Total.Cents-full.Total.Cents/4 {
				t.Fatalf("order: %+v, without the coupon %+v", o, full)
			}
		}
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				results[i] = w.post(t, buyers[i].token, fmt.Sprintf("/api/v1/orders/%d/pay", orders[i]), "{}")
			})
		}
		wg.Wait()
		paid := 0
		for i, r := range results {
			o, balance := w.spentOn(buyers[i], orders[i]), w.balanceOf(buyers[i])
			switch {
			case r.status == http.StatusOK:
				paid++
				if balance != 10_000-o.Total.Cents {
					t.Errorf("paid, balance %d", balance)
				}
			case r.key() != "coupon_exhausted" || o.Status != "pending" || balance != 10_000:
				t.Errorf("%s, order %s, balance %d", r, o.Status, balance)
			}
		}
		if paid != 3 {
			t.Errorf("%d paid with a coupon that there are 3 of", paid)
		}
		if r := ask(w.owner, unique("late")+".example.com", "THREE"); r.key() != "coupon_exhausted" {
			t.Errorf("too late: %s", r)
		}

		// What comes to nothing gives its coupon back, to the very account, too.
		create(coupons.Coupon{Code: "ONCE", Amount: 100, MaxTotal: 1, MaxEach: 1, FirstOrder: true})
		fails := w.id(ask(w.owner, "limit."+unique("site")+".example.com", "ONCE"))
		if r := w.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", fails), "{}"); r.status != http.StatusOK {
			t.Fatal(r)
		}
		testkit.Eventually(t, time.Minute, func() bool { return w.spentOn(w.owner, fails).Status == "refunded" }, "the money is back")
		good := w.id(ask(w.owner, unique("site")+".example.com", "ONCE"))
		if r := w.post(t, w.owner.token, fmt.Sprintf("/api/v1/orders/%d/pay", good), "{}"); r.status != http.StatusOK {
			t.Errorf("the coupon that came back: %s", r)
		}
		if r := ask(w.owner, unique("site")+".example.com", "ONCE"); r.key() != "coupon_exhausted" {
			t.Errorf("again: %s", r)
		}
		create(coupons.Coupon{Code: "WELCOME", Amount: 100, FirstOrder: true})
		if r := ask(w.owner, unique("site")+".example.com", "WELCOME"); r.key() != "coupon_invalid" {
			t.Errorf("not the first order: %s", r)
		}
	})
}

// TestAddonsOfASandboxLiveByItsClock: when a reseller moves the clock of its sandbox, what it cancelled there ends with
// the sandbox's time, and the rest is renewed with its service. The live world has neither seen nor paid any of it.
func TestAddonsOfASandboxLiveByItsClock(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := shopper(t, a)
		key := w.aKey(w.owner, reseller.NewKey{Sandbox: true})
		w.service = w.id(w.post(t, key, "/api/v1/reseller/services", fmt.Sprintf(`{"plan_id": %d, "domain": %q}`, w.plan, unique("site")+".example.com")))
		path := fmt.Sprintf("/api/v1/reseller/services/%d", w.service)
		status := func(path string) string {
			var x struct{ Status string }
			w.get(t, key, path).decode(t, &x)
			return x.Status
		}
		testkit.Eventually(t, time.Minute, func() bool { return status(path) == "active" }, "the service is active")
		// Ten days later it costs less, by the sandbox's clock.
		advance := func(days int) {
			t.Helper()
			if r := w.post(t, key, "/api/v1/reseller/clock/advance", fmt.Sprintf(`{"days": %d}`, days)); r.status != http.StatusAccepted {
				t.Fatal(r)
			}
			testkit.Eventually(t, 60*time.Second, func() bool { return status("/api/v1/reseller/clock") == "ready" }, "the clock has arrived")
		}
		var offers struct {
			Data []struct{ Charge cents }
		}
		advance(10)
		w.get(t, key, path+"/addons/offers").decode(t, &offers)
		if c := offers.Data[0].Charge.Cents; c >= 80 || c == 0 { // of 80 a month, wholesale
			t.Errorf("with 20 days left it costs %d", c)
		}
		goes := w.id(w.post(t, key, path+"/addons", `{"key": "extra_disk"}`))
		stays := w.id(w.post(t, key, path+"/addons", `{"key": "extra_backup"}`))
		if r := w.do(t, request{method: http.MethodDelete, path: fmt.Sprintf("%s/addons/%d", path, goes), token: key}); r.status != http.StatusOK {
			t.Fatal(r)
		}
		advance(40)
		var list struct {
			Data []struct {
				ID       int64
				Status   string
				RenewsAt *time.Time `json:"renews_at"`
			}
		}
		w.get(t, key, path+"/addons").decode(t, &list)
		var service struct {
			Status    string
			ExpiresAt *time.Time `json:"expires_at"`
		}
		w.get(t, key, path).decode(t, &service)
		if len(list.Data) != 2 || list.Data[0].ID != stays || list.Data[0].Status != "active" || !list.Data[0].RenewsAt.Equal(*service.ExpiresAt) ||
			list.Data[1].Status != "cancelled" || service.Status != "active" {
			t.Errorf("%+v of %+v", list.Data, service)
		}
		if w.balanceOf(w.owner) != 10_000 {
			t.Errorf("the live wallet has %d", w.balanceOf(w.owner))
		}
		if found, err := a.wallet.Recompute(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the books: %v, %v", found, err)
		}
	})
}
