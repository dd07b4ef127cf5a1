package app

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/testkit"
)

// TestACustomerBringsAnother goes from the share link to the reward in the ledger.
func TestACustomerBringsAnother(t *testing.T) {
	settings := map[string]string{"referral_percent": "10", "loyalty_tiers": "bronze=0:1,gold=500"}
	for name, value := range simulated {
		settings[name] = value
	}
	engines(t, settings, func(t *testing.T, a *App) {
		app := a.application(t, false)
		anna := a.customer(t, app, 1)
		var link struct {
			Code      string `json:"code"`
			ShareLink string `json:"share_link"`
		}
		a.get(t, anna.token, "/api/v1/me/referral").decode(t, &link)
		_, path, found := strings.Cut(link.ShareLink, "/register")
		if r := a.do(t, request{method: http.MethodGet, path: "/register" + path}); !found || !strings.Contains(string(r.body), `value="`+link.Code+`"`) {
			t.Fatalf("%s: %s", link.ShareLink, r)
		}
		out, err := a.accounts.SignUp(t.Context(), account.Registration{
			Name: "Boris", Email: unique("boris") + "@example.com", Password: "correct horse battery", Locale: "en", Referral: link.Code,
		}, account.Client{Address: netip.MustParseAddr("192.0.2.7")})
		if err != nil {
			t.Fatal(err)
		}
		boris := out.Session.Account.ID
		if _, err := a.admin.Credit(t.Context(), out.Session.Account.Email, 10_000, "gift"); err != nil {
			t.Fatal(err)
		}
		token := a.token(t, boris, app, thirdParty()...)
		w := &world{App: a, t: t, client: app, owner: customer{id: boris, token: token}}
		w.plan = w.aPlan()
		order := w.newOrder(w.owner, unique("site")+".example.com")
		var paid struct {
			Total struct {
				Cents int64 `json:"usd_cents"`
			} `json:"total"`
		}
		a.post(t, token, "/api/v1/orders/"+strconv.FormatInt(order, 10)+"/pay", "{}").decode(t, &paid)
		if paid.Total.Cents < 100 {
			t.Fatalf("paid %d", paid.Total.Cents)
		}
		testkit.Eventually(t, time.Minute, func() bool {
			b, err := a.wallet.Balance(t.Context(), a.db, anna.id)
			return err == nil && int64(b.Spendable) == 1+paid.Total.Cents/10
		}, "the one who brought the customer is rewarded")
		b, err := a.wallet.Balance(t.Context(), a.db, boris)
		if err != nil || int64(b.Spendable) != 10_000-paid.Total.Cents+paid.Total.Cents/100 {
			t.Errorf("the customer has %+v (%v) of 10000 after %d", b, err, paid.Total.Cents)
		}
		var of struct {
			Tier struct {
				Key string `json:"key"`
			} `json:"tier"`
			Spent struct {
				Cents int64 `json:"usd_cents"`
			} `json:"spent"`
		}
		a.get(t, token, "/api/v1/me/loyalty").decode(t, &of)
		if of.Tier.Key != "bronze" || of.Spent.Cents != paid.Total.Cents {
			t.Errorf("%+v", of)
		}
		if found, err := a.wallet.Recompute(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the books: %v, %v", found, err)
		}
	})
}

// TestMovingThereAndBackEarnsNoReward: what comes back of an order is not spent, and is not rewarded.
func TestMovingThereAndBackEarnsNoReward(t *testing.T) {
	settings := map[string]string{"loyalty_tiers": "bronze=0:10,gold=500:10"}
	for name, value := range simulated {
		settings[name] = value
	}
	engines(t, settings, func(t *testing.T, a *App) {
		app := a.application(t, false)
		w := &world{App: a, t: t, client: app, owner: a.customer(t, app, 100_000)}
		w.plan = w.aPlan()
		a.post(t, w.owner.token, "/api/v1/orders/"+strconv.FormatInt(w.newOrder(w.owner, unique("site")+".example.com"), 10)+"/pay", "{}")
		path := "/api/v1/services/" + strconv.FormatInt(w.serviceOf(w.owner), 10) + "/tariff"
		var list struct {
			Data []struct {
				Plan struct {
					ID int64 `json:"id"`
				} `json:"plan"`
				Charge struct {
					Cents int64 `json:"usd_cents"`
				} `json:"charge"`
			} `json:"data"`
		}
		a.get(t, w.owner.token, path+"s").decode(t, &list)
		dearest := list.Data[0]
		for _, p := range list.Data {
			if p.Charge.Cents > dearest.Charge.Cents {
				dearest = p
			}
		}
		if dearest.Charge.Cents < 100 {
			t.Fatalf("no plan is dearer: %+v", list)
		}
		for range 3 {
			for _, plan := range []int64{dearest.Plan.ID, w.plan} {
				if r := a.do(t, request{method: http.MethodPost, path: path, token: w.owner.token, body: `{"plan_id": ` + strconv.FormatInt(plan, 10) + `}`}); r.status != http.StatusOK {
					t.Fatalf("%s", r)
				}
			}
		}
		testkit.Eventually(t, time.Minute, func() bool {
			var unheard int
			err := a.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM outbox_events WHERE fan_out AND fanned_at IS NULL`).Scan(&unheard)
			return err == nil && unheard == 0
		}, "all have heard")
		var spent, rewards int64
		err := a.db.QueryRow(t.Context(), `SELECT CAST(-SUM(CASE WHEN type IN ('charge', 'refund') THEN amount ELSE 0 END) AS BIGINT),
			CAST(SUM(CASE WHEN type IN ('bonus', 'reversal') THEN amount ELSE 0 END) AS BIGINT)
			FROM wallet_transactions WHERE account_id = $1`, w.owner.id).Scan(&spent, &rewards)
		if err != nil || rewards > spent/10 || rewards <= 0 {
			t.Errorf("%d cents were spent in the end, and %d given for it: %v", spent, rewards, err)
		}
	})
}
