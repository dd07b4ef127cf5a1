package wallet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/gateway"
	"stead.dev/stead/internal/port/gateway/stripe"
)

// stripeServer is as much of Stripe's API as kept cards need.
type stripeServer struct {
	mu       sync.Mutex
	saved    bool             // a session asked for the card to be kept
	payments []map[string]any // newest first
	keys     map[string]bool  // idempotency keys
	outcome  string           // status of payments; declined is an error of the card
	cut      bool             // the payment is made and the connection cut
	cards    int
}

func (s *stripeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.Method + " " + r.URL.Path {
	case "POST /v1/checkout/sessions":
		s.saved = r.FormValue("payment_intent_data[setup_future_usage]") == "off_session" && r.FormValue("customer_creation") == "always"
		id := "cs_" + r.FormValue("client_reference_id")
		_, _ = fmt.Fprintf(w, `{"id":%q,"object":"checkout.session","url":"https://checkout.stripe.test/%s"}`, id, id)
	case "GET /v1/payment_intents":
		if r.FormValue("customer") != "cus_1" {
			http.Error(w, `{"error":{"type":"invalid_request_error"}}`, http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprintf(w, `{"object":"list","has_more":false,"data":%s}`, jsonOf(s.payments))
	case "GET /v1/customers/cus_1/payment_methods":
		_, _ = fmt.Fprint(w, `{"object":"list","has_more":false,"data":[`+strings.Repeat(`{"id":"pm_1","object":"payment_method"}`, s.cards)+`]}`)
	case "POST /v1/payment_intents":
		s.pay(w, r)
	default:
		http.Error(w, `{"error":{"type":"invalid_request_error"}}`, http.StatusNotFound)
	}
}

func (s *stripeServer) pay(w http.ResponseWriter, r *http.Request) {
	good := r.FormValue("off_session") == "true" && r.FormValue("confirm") == "true" && r.FormValue("customer") == "cus_1" &&
		r.FormValue("payment_method") == "pm_1" && r.FormValue("currency") == "usd"
	key := r.Header.Get("Idempotency-Key")
	if !good || key == "" || s.keys[key] {
		http.Error(w, `{"error":{"type":"idempotency_error"}}`, http.StatusBadRequest)
		return
	}
	pi := map[string]any{
		"id": fmt.Sprintf("pi_saved_%d", len(s.payments)), "object": "payment_intent", "status": s.outcome, "currency": "usd", "amount_received": 0,
		"metadata": map[string]string{"stead_topup": r.FormValue("metadata[stead_topup]"), "stead_saved": r.FormValue("metadata[stead_saved]")},
	}
	switch s.outcome {
	case "succeeded":
		pi["amount_received"] = 1000
	case "declined":
		pi["status"] = "requires_payment_method"
	}
	s.keys[key] = true
	s.payments = append([]map[string]any{pi}, s.payments...)
	if s.cut {
		panic(http.ErrAbortHandler)
	}
	if s.outcome == "declined" {
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = fmt.Fprintf(w, `{"error":{"type":"card_error","code":"card_declined","payment_intent":%s}}`, jsonOf(pi))
		return
	}
	_, _ = fmt.Fprint(w, jsonOf(pi))
}

func (s *stripeServer) set(outcome string, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome, s.cut = outcome, cut
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if string(b) == "null" {
		return "[]"
	}
	return string(b)
}

// TestAKeptCardOfStripe goes the whole way: a card is kept, pays, is declined, its answer is
// lost, and a payment is decided later.
func TestAKeptCardOfStripe(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		fake := &stripeServer{keys: map[string]bool{}, outcome: "succeeded", cards: 1}
		server := httptest.NewServer(fake)
		t.Cleanup(server.Close)
		w := newWorld(t, d, clk, stripe.New(stripe.Config{SecretKey: "sk_test_1", WebhookSecret: signing, APIURL: server.URL}))
		x := w.topup("anna", "stripe", 1000, `,"save_method":true`)
		if w.visit(x.CheckoutURL); !fake.saved {
			t.Error("the session does not keep the card")
		}
		id := jsonInt(x.ID)
		w.notify("checkout.session.completed", map[string]any{
			"id": "cs_" + id, "object": "checkout.session", "client_reference_id": id, "metadata": map[string]string{"stead_topup": id},
			"amount_total": 1000, "currency": "usd", "payment_status": "paid", "payment_intent": "pi_1", "customer": "cus_1",
		}, signing)
		w.has(1, Balance{Spendable: 1000})
		if status, b := w.call("anna", http.MethodPatch, "/api/v1/wallet", `{"auto_topup": {"enabled": true, "gateway": "stripe",
			"amount_usd_cents": 1000, "threshold_usd_cents": 500, "max_per_day_usd_cents": 9000}}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, b)
		}
		order := int64(0)
		cross := func() topup {
			t.Helper()
			b, err := w.Balance(t.Context(), d, 1)
			order++
			if err == nil {
				err = w.charge(1, b.Spendable-100, order)
			}
			if err == nil {
				_, err = w.AutomaticDue(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			last, err := topupRows.Scan(d.QueryRow(t.Context(), selectTopup+` ORDER BY id DESC LIMIT 1`))
			if err != nil || !last.Automatic || last.Status != processing || last.Method != "cus_1" {
				t.Fatalf("%+v, %v", last, err)
			}
			return last
		}
		work := func(x topup, want error) {
			t.Helper()
			if _, err := w.chargeAutomatic(context.Background(), x.ID); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		is := func(x topup, want status) {
			t.Helper()
			if got := w.follow("anna", x.ID); got.Status != string(want) {
				t.Errorf("%+v, want %s", got, want)
			}
		}
		spendable := func(want int64) {
			t.Helper()
			if b, err := w.Balance(t.Context(), d, 1); err != nil || int64(b.Spendable) != want {
				t.Errorf("%+v, %v; want %d", b, err, want)
			}
		}

		paid := cross()
		work(paid, nil)
		work(paid, nil)
		is(paid, succeeded)
		spendable(1100)

		fake.set("declined", false)
		bad := cross()
		work(bad, nil)
		is(bad, failed)
		spendable(100)
		w.credit(1, 900)

		fake.set("succeeded", true)
		lost := cross()
		work(lost, gateway.ErrUnavailable)
		is(lost, processing)
		fake.set("succeeded", false)
		clk.Advance(48 * time.Hour)
		work(lost, nil)
		is(lost, succeeded)
		spendable(1100)

		fake.set("processing", false)
		later := cross()
		work(later, nil)
		is(later, processing)
		pi := fake.payments[0]
		pi["status"], pi["amount_received"] = "succeeded", 1000
		for range 2 {
			if got := w.notify("payment_intent.succeeded", pi, signing); got != http.StatusOK {
				t.Errorf("the notification: %d", got)
			}
		}
		is(later, succeeded)
		spendable(1100)
		if got := w.notify("charge.refunded", map[string]any{
			"id": "ch_1", "object": "charge", "metadata": map[string]string{"stead_topup": jsonInt(later.ID)}, "payment_intent": pi["id"],
			"amount_refunded": 1000, "currency": "usd",
		}, signing); got != http.StatusOK {
			t.Errorf("the refund: %d", got)
		}
		is(later, refunded)
		spendable(100)

		w.credit(1, 900)
		fake.cards = 0
		none := cross()
		work(none, nil)
		is(none, failed)
		if len(fake.payments) != 4 {
			t.Errorf("%d payments were made", len(fake.payments))
		}
		w.sound()
	})
}
