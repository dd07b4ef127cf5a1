package app

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/account"
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
		if _, err := a.admin.Credit(t.Context(), out.Session.Account.Email, 10_000, "gift", "test"); err != nil {
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
