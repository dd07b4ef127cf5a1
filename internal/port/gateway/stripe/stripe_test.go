package stripe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stripe/stripe-go/v86/webhook"

	"stead.dev/stead/internal/port/gateway"
	"stead.dev/stead/internal/port/gateway/gatewaytest"
	"stead.dev/stead/internal/port/gateway/stripe"
)

const signing = "whsec_test"

// api is Stripe as far as sessions go: a request repeated with its idempotency
// key is answered the same, and with other parameters refused.
type api struct {
	*httptest.Server
	mu       sync.Mutex
	requests []url.Values
	byKey    map[string]string // key → parameters and answer
	fail     bool
}

func fake(t *testing.T) *api {
	t.Helper()
	a := &api{byKey: map[string]string{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	form, parseErr := url.ParseQuery(string(body))
	key := r.Header.Get("Idempotency-Key")
	switch {
	case err != nil || parseErr != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/checkout/sessions" || key == "":
		http.Error(w, `{"error":{"message":"what?"}}`, http.StatusBadRequest)
		return
	case r.Header.Get("Authorization") != "Bearer sk_test_1":
		http.Error(w, `{"error":{"message":"who?"}}`, http.StatusUnauthorized)
		return
	case a.fail:
		http.Error(w, `{"error":{"message":"down"}}`, http.StatusServiceUnavailable)
		return
	}
	a.requests = append(a.requests, form)
	session := "cs_" + form.Get("client_reference_id")
	if params, again := a.byKey[key]; again && params != form.Encode() {
		http.Error(w, `{"error":{"type":"idempotency_error","message":"other parameters"}}`, http.StatusBadRequest)
		return
	}
	a.byKey[key] = form.Encode()
	_, _ = fmt.Fprintf(w, `{"id":%q,"object":"checkout.session","url":"https://checkout.stripe.test/%s","expires_at":1900000000}`, session, session)
}

func gatewayOf(a *api) *stripe.Gateway {
	return stripe.New(stripe.Config{SecretKey: "sk_test_1", WebhookSecret: signing, APIURL: a.URL})
}

func TestStripe(t *testing.T) {
	gatewaytest.Run(t, func(t *testing.T) gateway.Gateway { return gatewayOf(fake(t)) })
}

func TestASessionAsksForExactlyTheTopUp(t *testing.T) {
	a := fake(t)
	g := gatewayOf(a)
	x, err := gatewaytest.Topup(g, 7)
	if err != nil {
		t.Fatal(err)
	}
	x.Fee, x.Total, x.Language = 55, 1055, "ru"
	s, err := g.Start(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	want := gateway.Started{Reference: "cs_7", URL: "https://checkout.stripe.test/cs_7", ExpiresAt: time.Unix(1900000000, 0).UTC()}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	form := a.requests[0]
	for name, want := range map[string]string{
		"mode": "payment", "client_reference_id": "7", "metadata[stead_topup]": "7", "payment_intent_data[metadata][stead_topup]": "7",
		"line_items[0][price_data][unit_amount]": "1000", "line_items[0][price_data][currency]": "usd", "line_items[0][quantity]": "1",
		"line_items[0][price_data][product_data][name]": "Пополнение кошелька", "line_items[1][price_data][unit_amount]": "55",
		"success_url": x.PageURL + "?back=1", "cancel_url": x.PageURL + "?back=1", "adaptive_pricing[enabled]": "false",
	} {
		if got := form.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestAnAPIThatFailsIsUnavailable(t *testing.T) {
	a := fake(t)
	a.fail = true
	g := gatewayOf(a)
	x, err := gatewaytest.Topup(g, 7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Start(t.Context(), x); !errors.Is(err, gateway.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// event is a notification as Stripe sends it.
func event(t *testing.T, typ string, object map[string]any) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"id": "evt_1", "object": "event", "api_version": "2020-08-27", "type": typ, "data": map[string]any{"object": object},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// signed is the header of a notification, age old.
func signed(body []byte, secret string, age time.Duration) http.Header {
	p := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: time.Now().Add(-age)})
	return http.Header{"Stripe-Signature": {p.Header}}
}

func session(change map[string]any) map[string]any {
	s := map[string]any{
		"id": "cs_7", "object": "checkout.session", "client_reference_id": "7", "metadata": map[string]string{"stead_topup": "7"},
		"amount_total": 1055, "currency": "usd", "payment_status": "paid", "payment_intent": "pi_7",
	}
	for k, v := range change {
		s[k] = v
	}
	return s
}

func TestNotificationsAreReadAsEvents(t *testing.T) {
	g := gatewayOf(fake(t))
	paid := gateway.Event{Kind: gateway.Succeeded, TopupID: 7, Reference: "cs_7", Payment: "pi_7", Total: 1055, Currency: "USD"}
	with := func(change func(e *gateway.Event)) []gateway.Event {
		e := paid
		change(&e)
		return []gateway.Event{e}
	}
	for name, c := range map[string]struct {
		typ    string
		object map[string]any
		want   []gateway.Event
	}{
		"paid":        {"checkout.session.completed", session(nil), []gateway.Event{paid}},
		"on its way":  {"checkout.session.completed", session(map[string]any{"payment_status": "unpaid"}), with(func(e *gateway.Event) { e.Kind = gateway.Waiting })},
		"arrived":     {"checkout.session.async_payment_succeeded", session(nil), []gateway.Event{paid}},
		"not arrived": {"checkout.session.async_payment_succeeded", session(map[string]any{"payment_status": "unpaid"}), nil},
		"bounced": {
			"checkout.session.async_payment_failed", session(map[string]any{"payment_status": "unpaid"}),
			with(func(e *gateway.Event) { e.Kind, e.FailureKey = gateway.Failed, "declined" }),
		},
		"expired": {
			"checkout.session.expired", session(map[string]any{"payment_status": "unpaid", "payment_intent": nil}),
			with(func(e *gateway.Event) { e.Kind, e.Payment = gateway.Expired, "" }),
		},
		"another system's":   {"checkout.session.completed", session(map[string]any{"metadata": map[string]string{}}), nil},
		"ids that disagree":  {"checkout.session.completed", session(map[string]any{"client_reference_id": "8"}), nil},
		"a bad id":           {"checkout.session.completed", session(map[string]any{"client_reference_id": "-7", "metadata": map[string]string{"stead_topup": "-7"}}), nil},
		"nothing to be paid": {"checkout.session.completed", session(map[string]any{"payment_status": "no_payment_required"}), nil},
		"refund": {
			"charge.refunded",
			map[string]any{
				"id": "ch_1", "object": "charge", "metadata": map[string]string{"stead_topup": "7"}, "payment_intent": "pi_7",
				"amount": 1055, "amount_refunded": 400, "currency": "usd",
			},
			[]gateway.Event{{Kind: gateway.Refunded, TopupID: 7, Payment: "pi_7", Total: 400, Currency: "USD"}},
		},
		"refund of another system": {"charge.refunded", map[string]any{"id": "ch_1", "object": "charge", "payment_intent": "pi_9", "amount_refunded": 400}, nil},
		"dispute": {
			"charge.dispute.funds_withdrawn",
			map[string]any{"id": "dp_1", "object": "dispute", "payment_intent": "pi_7", "amount": 1055, "currency": "usd"},
			[]gateway.Event{{Kind: gateway.ChargedBack, Payment: "pi_7", Dispute: "dp_1", Total: 1055, Currency: "USD"}},
		},
		"an inquiry":      {"charge.dispute.created", map[string]any{"id": "dp_1", "object": "dispute", "payment_intent": "pi_7"}, nil},
		"something else":  {"customer.created", map[string]any{"id": "cus_1", "object": "customer"}, nil},
		"a lone dispute":  {"charge.dispute.funds_withdrawn", map[string]any{"id": "dp_1", "object": "dispute"}, nil},
		"expanded intent": {"checkout.session.completed", session(map[string]any{"payment_intent": map[string]any{"id": "pi_7", "object": "payment_intent"}}), []gateway.Event{paid}},
	} {
		t.Run(name, func(t *testing.T) {
			body := event(t, c.typ, c.object)
			got, err := g.Webhook(signed(body, signing, 0), body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNotificationsThatStripeDidNotSignAreRefused(t *testing.T) {
	g := gatewayOf(fake(t))
	body := event(t, "checkout.session.completed", session(nil))
	other := event(t, "checkout.session.completed", session(map[string]any{"amount_total": 999999}))
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
	}{
		"another secret":  {signed(body, "whsec_other", 0), body},
		"another body":    {signed(body, signing, 0), other},
		"too old":         {signed(body, signing, 10*time.Minute), body},
		"no header":       {http.Header{}, body},
		"a broken header": {http.Header{"Stripe-Signature": {"t=1,v1=zz"}}, body},
	} {
		if events, err := g.Webhook(c.header, c.body); !errors.Is(err, gateway.ErrSignature) || events != nil {
			t.Errorf("%s: %v, %v", name, events, err)
		}
	}
	if _, err := g.Webhook(signed(body, signing, 2*time.Minute), body); err != nil {
		t.Errorf("a notification on its way for two minutes: %v", err)
	}
	broken := event(t, "checkout.session.completed", map[string]any{"amount_total": "a lot"})
	if _, err := g.Webhook(signed(broken, signing, 0), broken); !errors.Is(err, gateway.ErrInvalid) || strings.Contains(fmt.Sprint(err), signing) {
		t.Errorf("a signed body that is no session: %v", err)
	}
}

func FuzzWebhook(f *testing.F) {
	g := stripe.New(stripe.Config{SecretKey: "sk_test_1", WebhookSecret: signing})
	f.Add([]byte(`{"type":"checkout.session.completed","data":{"object":{"id":"cs_7"}}}`))
	f.Add([]byte(`{"type":"charge.refunded","data":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := g.Webhook(signed(body, signing, 0), body); err != nil && !errors.Is(err, gateway.ErrSignature) && !errors.Is(err, gateway.ErrInvalid) {
			t.Errorf("an error that is neither: %v", err)
		}
	})
}
