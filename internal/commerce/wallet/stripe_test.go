package wallet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v86/webhook"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/gateway/stripe"
)

const signing = "whsec_test"

// notify sends a notification as Stripe signs it and answers the status.
func (w *world) notify(typ string, object map[string]any, secret string) int {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{
		"id": "evt_1", "object": "event", "api_version": "2026-01-01", "type": typ, "data": map[string]any{"object": object},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: time.Now()})
	return w.browse(http.MethodPost, base+"/pay/webhooks/stripe", string(body), "Stripe-Signature", p.Header).Code
}

// TestATopUpThroughStripe goes the whole way: session, notifications repeated,
// forged and early, refunds and a dispute.
func TestATopUpThroughStripe(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		var sessions atomic.Int64
		down := atomic.Bool{}
		api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if down.Load() {
				http.Error(rw, `{"error":{"message":"down"}}`, http.StatusInternalServerError)
				return
			}
			sessions.Add(1)
			id := "cs_" + r.FormValue("client_reference_id")
			_, _ = fmt.Fprintf(rw, `{"id":%q,"object":"checkout.session","url":"https://checkout.stripe.test/%s"}`, id, id)
		}))
		t.Cleanup(api.Close)
		w := newWorld(t, d, clk, stripe.New(stripe.Config{SecretKey: "sk_test_1", WebhookSecret: signing, APIURL: api.URL}))
		x := w.topup("anna", "stripe", 1000, `,"return_url":"https://shop.example/"`)
		id := jsonInt(x.ID)

		down.Store(true)
		if got := w.visit(x.CheckoutURL); got.Code != http.StatusServiceUnavailable || !strings.Contains(text(got), "href=\"/pay/pay_") {
			t.Errorf("while Stripe is down: %d", got.Code)
		}
		if got := w.follow("anna", x.ID).Status; got != "pending" {
			t.Errorf("while Stripe is down: %s", got)
		}
		down.Store(false)
		for range 2 {
			got := w.visit(x.CheckoutURL)
			if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "https://checkout.stripe.test/cs_"+id {
				t.Fatalf("the visit: %d %s", got.Code, got.Header().Get("Location"))
			}
		}
		if sessions.Load() != 1 {
			t.Errorf("%d sessions were asked for", sessions.Load())
		}
		if got := w.visit(x.CheckoutURL + "?back=1"); got.Code != http.StatusOK || got.Header().Get("Refresh") != "5" {
			t.Errorf("back before the notification: %d", got.Code)
		}

		session := func(total int64) map[string]any {
			return map[string]any{
				"id": "cs_" + id, "object": "checkout.session", "client_reference_id": id, "metadata": map[string]string{"stead_topup": id},
				"amount_total": total, "currency": "usd", "payment_status": "paid", "payment_intent": "pi_1",
			}
		}
		refund := func(sum int64) map[string]any {
			return map[string]any{
				"id": "ch_1", "object": "charge", "metadata": map[string]string{"stead_topup": id}, "payment_intent": "pi_1",
				"amount_refunded": sum, "currency": "usd",
			}
		}
		if got := w.notify("checkout.session.completed", session(1000), "whsec_forged"); got != http.StatusBadRequest {
			t.Errorf("forged: %d", got)
		}
		if got := w.notify("charge.refunded", refund(100), signing); got != http.StatusConflict {
			t.Errorf("a refund before the payment: %d", got)
		}
		w.has(1, Balance{})
		for range 3 {
			if got := w.notify("checkout.session.completed", session(1000), signing); got != http.StatusOK {
				t.Errorf("paid: %d", got)
			}
		}
		w.has(1, Balance{Spendable: 1000})
		if got := w.notify("checkout.session.completed", session(5000), signing); got != http.StatusOK {
			t.Errorf("paid again, of another amount: %d", got)
		}
		w.has(1, Balance{Spendable: 1000})

		for range 2 {
			w.notify("charge.refunded", refund(250), signing)
		}
		w.has(1, Balance{Spendable: 750})
		if got := w.follow("anna", x.ID).Status; got != "succeeded" {
			t.Errorf("after a part was refunded: %s", got)
		}
		if err := w.charge(1, 700, 1); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.notify("charge.refunded", refund(1000), signing)
		}
		w.has(1, Balance{Held: 700, Debt: 700})
		if got := w.follow("anna", x.ID).Status; got != "refunded" {
			t.Errorf("after the refund: %s", got)
		}
		w.notify("charge.dispute.funds_withdrawn", map[string]any{"id": "dp_1", "payment_intent": "pi_1", "amount": 1000, "currency": "usd"}, signing)
		w.has(1, Balance{Held: 700, Debt: 700})
		if got := w.notify("checkout.session.expired", session(1000), signing); got != http.StatusOK {
			t.Errorf("expired after all: %d", got)
		}
		large := w.browse(http.MethodPost, base+"/pay/webhooks/stripe", strings.Repeat("x", maxWebhook+1))
		if large.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("a large notification: %d", large.Code)
		}
		if strings.Contains(w.logs.String(), signing) || strings.Contains(w.logs.String(), "sk_test") {
			t.Error("a secret is in the log")
		}
		w.sound()
	})
}
