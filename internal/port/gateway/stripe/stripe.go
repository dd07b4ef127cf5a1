// Package stripe takes payments on Stripe's Checkout page, through Stripe's own library.
//
// The session is created with the top-up's id as idempotency key, so every start of one top-up is the same session; its
// parameters therefore must depend on nothing but the top-up. The result comes as a webhook, whose signature the
// library checks.
package stripe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"
	"github.com/stripe/stripe-go/v86/webhook"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/gateway"
)

// Key of the gateway.
const Key = "stripe"

// metadata is the key under which sessions and charges have the top-up's id.
const metadata = "stead_topup"

// Config of the gateway.
type Config struct {
	SecretKey     string
	WebhookSecret string
	// APIURL is another address of Stripe's API, for tests.
	APIURL string
}

// Gateway implements gateway.Notifying.
type Gateway struct {
	client *stripe.Client
	secret string
}

// New makes the gateway.
func New(c Config) *Gateway {
	backend := &stripe.BackendConfig{
		// The customer waits for a start; the library retries by itself.
		HTTPClient:        &http.Client{Timeout: 15 * time.Second, Transport: intx.Transport{Next: http.DefaultTransport}},
		MaxNetworkRetries: stripe.Int64(1),
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		EnableTelemetry:   stripe.Bool(false),
	}
	if c.APIURL != "" {
		backend.URL = stripe.String(c.APIURL)
	}
	return &Gateway{
		client: stripe.NewClient(c.SecretKey, stripe.WithBackends(stripe.NewBackendsWithConfig(backend))),
		secret: c.WebhookSecret,
	}
}

// Info implements gateway.Gateway.
func (*Gateway) Info() gateway.Info {
	return gateway.Info{
		Key: Key, Kind: gateway.KindRedirect, Currencies: []string{"USD"}, Min: 100, Max: 1_000_000, Lifetime: 24 * time.Hour,
	}
}

// Start implements gateway.Gateway.
func (g *Gateway) Start(ctx context.Context, t gateway.Topup) (gateway.Started, error) {
	id := strconv.FormatInt(t.ID, 10)
	params := &stripe.CheckoutSessionCreateParams{
		Mode:              stripe.String(string(stripe.CheckoutSessionModePayment)),
		ClientReferenceID: stripe.String(id),
		Metadata:          map[string]string{metadata: id},
		SuccessURL:        stripe.String(t.PageURL + "?back=1"),
		CancelURL:         stripe.String(t.PageURL + "?back=1"),
		LineItems:         []*stripe.CheckoutSessionCreateLineItemParams{item(t.Language, "gateway.stripe.item", t.Amount)},
		// Charges have the metadata of their payment intent; refunds name charges.
		PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{Metadata: map[string]string{metadata: id}},
		// Without it Stripe may charge in the customer's currency.
		AdaptivePricing: &stripe.CheckoutSessionCreateAdaptivePricingParams{Enabled: stripe.Bool(false)},
	}
	if t.Save {
		// The card is kept with a customer of Stripe's, who consents on Stripe's page.
		params.CustomerCreation = stripe.String(string(stripe.CheckoutSessionCustomerCreationAlways))
		params.PaymentIntentData.SetupFutureUsage = stripe.String(string(stripe.PaymentIntentSetupFutureUsageOffSession))
	}
	if t.Fee > 0 {
		params.LineItems = append(params.LineItems, item(t.Language, "gateway.stripe.fee", t.Fee))
	}
	params.SetIdempotencyKey("stead-topup-" + id)
	session, err := g.client.V1CheckoutSessions.Create(ctx, params)
	if err != nil {
		return gateway.Started{}, fmt.Errorf("%w: stripe: create session: %w", gateway.ErrUnavailable, err)
	}
	s := gateway.Started{Reference: session.ID, URL: session.URL}
	if session.ExpiresAt > 0 {
		s.ExpiresAt = time.Unix(session.ExpiresAt, 0).UTC()
	}
	return s, nil
}

func item(lang, text string, amount money.USDCents) *stripe.CheckoutSessionCreateLineItemParams {
	return &stripe.CheckoutSessionCreateLineItemParams{
		Quantity: stripe.Int64(1),
		PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
			Currency:    stripe.String(string(stripe.CurrencyUSD)),
			UnitAmount:  stripe.Int64(int64(amount)),
			ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: stripe.String(i18n.T(lang, text, nil))},
		},
	}
}

// Webhook implements gateway.Notifying. The library refuses wrong signatures and timestamps older than five minutes.
// Other API versions than the library's are accepted: all of them have the members that are read, and the wallet
// compares them with its own record.
func (g *Gateway) Webhook(h http.Header, body []byte) ([]gateway.Event, error) {
	e, err := webhook.ConstructEventWithOptions(body, h.Get("Stripe-Signature"), g.secret,
		webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", gateway.ErrSignature, err)
	}
	if e.Data == nil {
		return nil, fmt.Errorf("%w: stripe: event %s has no data", gateway.ErrInvalid, e.ID)
	}
	switch e.Type {
	case stripe.EventTypeCheckoutSessionCompleted:
		return sessionEvent(e.Data.Raw, "")
	case stripe.EventTypeCheckoutSessionAsyncPaymentSucceeded:
		return sessionEvent(e.Data.Raw, gateway.Succeeded)
	case stripe.EventTypeCheckoutSessionAsyncPaymentFailed:
		return sessionEvent(e.Data.Raw, gateway.Failed)
	case stripe.EventTypeCheckoutSessionExpired:
		return sessionEvent(e.Data.Raw, gateway.Expired)
	case stripe.EventTypePaymentIntentSucceeded, stripe.EventTypePaymentIntentPaymentFailed, stripe.EventTypePaymentIntentCanceled:
		return savedEvent(e.Data.Raw)
	case stripe.EventTypeChargeRefunded:
		return refundEvent(e.Data.Raw)
	case stripe.EventTypeChargeDisputeFundsWithdrawn:
		return disputeEvent(e.Data.Raw)
	default:
		return nil, nil
	}
}

// sessionEvent parses a session. A completed one (kind empty) is paid, or its money is on its way.
func sessionEvent(raw json.RawMessage, kind gateway.EventKind) ([]gateway.Event, error) {
	var s stripe.CheckoutSession
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%w: stripe: session: %w", gateway.ErrInvalid, err)
	}
	id, ok := topupID(s.Metadata)
	if !ok || s.ClientReferenceID != s.Metadata[metadata] {
		return nil, nil // another system's session on the same Stripe account
	}
	e := gateway.Event{
		Kind: kind, TopupID: id, Reference: s.ID, Total: money.USDCents(s.AmountTotal), Currency: strings.ToUpper(string(s.Currency)),
	}
	if s.PaymentIntent != nil {
		e.Payment = s.PaymentIntent.ID
	}
	if s.Customer != nil && s.Customer.ID != "" {
		e.Method = &gateway.Method{Reference: s.Customer.ID}
	}
	switch {
	case kind == "" && s.PaymentStatus == stripe.CheckoutSessionPaymentStatusPaid:
		e.Kind = gateway.Succeeded
	case kind == "" && s.PaymentStatus == stripe.CheckoutSessionPaymentStatusUnpaid:
		e.Kind = gateway.Waiting
	case kind == "":
		return nil, nil
	case kind == gateway.Succeeded && s.PaymentStatus != stripe.CheckoutSessionPaymentStatusPaid:
		return nil, nil
	case kind == gateway.Failed:
		e.FailureKey = "declined"
	}
	return []gateway.Event{e}, nil
}

func refundEvent(raw json.RawMessage) ([]gateway.Event, error) {
	var c stripe.Charge
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("%w: stripe: charge: %w", gateway.ErrInvalid, err)
	}
	id, ok := topupID(c.Metadata)
	if !ok || c.PaymentIntent == nil {
		return nil, nil
	}
	return []gateway.Event{{
		Kind: gateway.Refunded, TopupID: id, Payment: c.PaymentIntent.ID, Total: money.USDCents(c.AmountRefunded),
		Currency: strings.ToUpper(string(c.Currency)),
	}}, nil
}

// disputeEvent reports that the money of a disputed payment was withdrawn. Inquiries, which withdraw nothing, are
// events of other types.
func disputeEvent(raw json.RawMessage) ([]gateway.Event, error) {
	var d stripe.Dispute
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("%w: stripe: dispute: %w", gateway.ErrInvalid, err)
	}
	if d.PaymentIntent == nil {
		return nil, nil
	}
	return []gateway.Event{{
		Kind: gateway.ChargedBack, Payment: d.PaymentIntent.ID, Dispute: d.ID, Total: money.USDCents(d.Amount),
		Currency: strings.ToUpper(string(d.Currency)),
	}}, nil
}

func topupID(m map[string]string) (int64, bool) {
	id, err := strconv.ParseInt(m[metadata], 10, 64)
	return id, err == nil && id > 0
}
