// Package gatewaytest is the test suite that every adapter of package gateway passes.
package gatewaytest

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/gateway"
)

// Topup is a top-up of ten dollars for tests.
func Topup(g gateway.Gateway, id int64) (gateway.Topup, error) {
	const amount money.USDCents = 1_000
	fee, err := g.Info().Fee(amount)
	return gateway.Topup{
		ID: id, Amount: amount, Fee: fee, Total: amount + fee, PageURL: "https://stead.test/pay/pay_token", Language: "en",
	}, err
}

// Run tests a gateway; fresh returns a new one.
func Run(t *testing.T, fresh func(t *testing.T) gateway.Gateway) {
	t.Run("Info", func(t *testing.T) { info(t, fresh(t)) })
	t.Run("Start", func(t *testing.T) { start(t, fresh(t)) })
	t.Run("Act", func(t *testing.T) { act(t, fresh(t)) })
	if _, ok := fresh(t).(gateway.Notifying); ok {
		t.Run("Webhook", func(t *testing.T) { webhook(t, fresh(t).(gateway.Notifying)) })
	}
}

func info(t *testing.T, g gateway.Gateway) {
	i := g.Info()
	if !regexp.MustCompile(`^[a-z][a-z0-9_]{1,31}$`).MatchString(i.Key) {
		t.Errorf("key %q", i.Key)
	}
	texts(t, "gateway."+i.Key+".name")
	switch i.Kind {
	case gateway.KindRedirect, gateway.KindCard, gateway.KindBankTransfer, gateway.KindCrypto:
	default:
		t.Errorf("kind %q", i.Kind)
	}
	if len(i.Currencies) == 0 || i.Min <= 0 || i.Max < i.Min || i.Lifetime <= 0 {
		t.Errorf("limits: %+v", i)
	}
	for _, amount := range []money.USDCents{i.Min, i.Max} {
		if fee, err := i.Fee(amount); err != nil || fee < 0 {
			t.Errorf("fee of %d: %d, %v", amount, fee, err)
		}
	}
}

// start checks that the customer gets a page, and that a second start makes no second payment.
func start(t *testing.T, g gateway.Gateway) {
	x := topup(t, g, 41)
	first, err := g.Start(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	again, err := g.Start(t.Context(), x)
	if err != nil || again.Reference != first.Reference || again.URL != first.URL {
		t.Errorf("started again: %+v, %v; first %+v", again, err, first)
	}
	other, err := g.Start(t.Context(), topup(t, g, 42))
	if err != nil || other.Reference == first.Reference {
		t.Errorf("another top-up: %+v, %v", other, err)
	}
	if first.Reference == "" || (first.URL == "") == (first.Page == nil) {
		t.Errorf("a payment has a reference, and an address or a page: %+v", first)
	}
	if u, err := url.Parse(first.URL); first.URL != "" && (err != nil || u.Host == "") {
		t.Errorf("address %q", first.URL)
	}
	if first.Page == nil {
		return
	}
	texts(t, first.Page.Text)
	for _, l := range first.Page.Lines {
		texts(t, l.Label)
		if l.Value == "" {
			t.Errorf("%s has no value", l.Label)
		}
	}
	for _, a := range first.Page.Actions {
		texts(t, a.Label)
	}
}

// act checks that every button of the page returns an event of this top-up.
func act(t *testing.T, g gateway.Gateway) {
	x := topup(t, g, 43)
	begun, err := g.Start(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	acting, ok := g.(gateway.Acting)
	if !ok {
		if begun.Page != nil && len(begun.Page.Actions) > 0 {
			t.Error("a page with buttons of a gateway that takes none")
		}
		return
	}
	for _, a := range begun.Page.Actions {
		e, err := acting.Act(t.Context(), x, a.Name)
		if err != nil || e.Kind == "" || e.TopupID != x.ID || e.Reference != begun.Reference {
			t.Errorf("%s: %+v, %v", a.Name, e, err)
		}
		if e.Kind == gateway.Succeeded && (e.Total != x.Total || e.Currency != "USD") {
			t.Errorf("%s: paid %d %s of %d", a.Name, e.Total, e.Currency, x.Total)
		}
	}
	for _, name := range []string{"", "no-such-button"} {
		if _, err := acting.Act(t.Context(), x, name); !errors.Is(err, gateway.ErrInvalid) {
			t.Errorf("button %q: %v", name, err)
		}
	}
}

// webhook checks that a notification without proof of its origin is refused.
func webhook(t *testing.T, notifying gateway.Notifying) {
	for _, body := range []string{"", "{}", "null", "[]", "not json", `{"id":"evt_1","type":"checkout.session.completed"}`} {
		events, err := notifying.Webhook(http.Header{}, []byte(body))
		if !errors.Is(err, gateway.ErrSignature) || len(events) > 0 {
			t.Errorf("unsigned %q: %v, %v", body, events, err)
		}
	}
}

func topup(t *testing.T, g gateway.Gateway, id int64) gateway.Topup {
	t.Helper()
	x, err := Topup(g, id)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func texts(t *testing.T, id string) {
	t.Helper()
	for _, lang := range i18n.Supported() {
		if !i18n.Has(lang, id) {
			t.Errorf("%s has no text in %s", id, lang)
		}
	}
}
