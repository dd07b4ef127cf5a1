package webui_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/front/webui"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

// resellersKeys are those of account 1, which sells on.
type resellersKeys struct{ keys []webui.Key }

func (k *resellersKeys) Resells(_ context.Context, accountID int64) (bool, error) {
	return accountID == 1, nil
}

func (k *resellersKeys) Principal(_ context.Context, accountID int64, _ bool) (auth.Principal, error) {
	return auth.Principal{AccountID: accountID}, nil
}

func (k *resellersKeys) Keys(context.Context, int64) ([]webui.Key, error) { return k.keys, nil }

func (k *resellersKeys) CreateKey(_ context.Context, _ int64, n webui.NewKey) (string, error) {
	if n.Name == "" {
		return "", fault.Invalid("name", "key_name")
	}
	k.keys = append(k.keys, webui.Key{ID: int64(len(k.keys) + 1), NewKey: n, Hint: "wxyz"})
	return "rsk_secret", nil
}

func (k *resellersKeys) RevokeKey(_ context.Context, accountID, id int64) error {
	before := len(k.keys)
	k.keys = slices.DeleteFunc(k.keys, func(one webui.Key) bool { return accountID == 1 && one.ID == id })
	if len(k.keys) == before {
		return fault.NotFound.New()
	}
	return nil
}

func TestAResellerMakesAndRevokesItsKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b, other := s.browser(t), s.browser(t)
	b.register("anna@example.com")
	other.register("boris@example.com")
	if a := b.get("/panel/"); !strings.Contains(html.UnescapeString(a.body), `"reseller":true`) {
		t.Error("nothing leads to the keys")
	}
	if a := other.get("/panel/"); strings.Contains(html.UnescapeString(a.body), `"reseller":true`) {
		t.Error("who does not sell on is led to keys")
	}
	wish := url.Values{"name": {"Billing <1>"}, "world": {"live"}, "read_only": {"1"}, "addresses": {"192.0.2.7\n2001:db8::/32, 198.51.100.0/24"}}
	for path, form := range map[string]url.Values{"/account/keys": wish, "/account/keys/1/revoke": {}} {
		if a := other.post(path, form); a.status != http.StatusNotFound {
			t.Errorf("%s of who does not sell on: %d", path, a.status)
		}
		if a := s.browser(t).post(path, form); a.status != http.StatusSeeOther || !strings.HasPrefix(a.to, "/login") {
			t.Errorf("%s of nobody: %d %s", path, a.status, a.to)
		}
	}
	for name, bad := range map[string]url.Values{"name": {}, "addresses": {"name": {"a"}, "addresses": {"everywhere"}}} {
		if a := b.post("/account/keys", bad); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "e-"+name) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}

	if a := b.post("/account/keys", wish); a.status != http.StatusCreated || strings.Count(a.body, "rsk_secret") != 1 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	want := webui.NewKey{Name: "Billing <1>", ReadOnly: true, Addresses: []netip.Prefix{
		netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("198.51.100.0/24"),
	}}
	if got := s.keys.keys[0].NewKey; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
	if a := b.get("/account/keys"); strings.Contains(a.body, "rsk_secret") || !strings.Contains(a.body, "Billing &lt;1&gt;") || !strings.Contains(a.body, "2001:db8::/32") {
		t.Errorf("%s", a.body)
	}

	// A session that was left open makes no key; it can revoke one.
	s.clk.Advance(time.Hour)
	if a := b.post("/account/keys", wish); a.status != http.StatusOK || !strings.Contains(a.body, `name="password"`) || len(s.keys.keys) != 1 {
		t.Errorf("%d, %d keys: %s", a.status, len(s.keys.keys), a.body)
	}
	wish.Set("password", password)
	if a := b.post("/account/keys", wish); a.status != http.StatusCreated || len(s.keys.keys) != 2 {
		t.Errorf("%d, %d keys", a.status, len(s.keys.keys))
	}
	s.clk.Advance(time.Hour)
	if a := b.post("/account/keys/1/revoke", nil); a.status != http.StatusSeeOther || a.to != "/account/keys" || len(s.keys.keys) != 1 {
		t.Errorf("%d, %d keys", a.status, len(s.keys.keys))
	}
	if a := b.post("/account/keys/1/revoke", nil); a.status != http.StatusNotFound {
		t.Errorf("again: %d", a.status)
	}
}
