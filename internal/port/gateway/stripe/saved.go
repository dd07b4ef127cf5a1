package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stripe/stripe-go/v86"

	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/port/gateway"
)

// savedMark distinguishes charges of saved cards from payments on Checkout's pages, whose sessions have events of their
// own.
const savedMark = "stead_saved"

// recent is how many of a customer's payments are searched. A customer of Stripe's belongs to one wallet, which has at
// most one pending automatic top-up.
const recent = 20

// FindSaved implements gateway.Saving: it searches the customer's latest payments for the top-up. A method is a
// customer of Stripe's.
func (g *Gateway) FindSaved(ctx context.Context, t gateway.Topup, method string) (gateway.Event, bool, error) {
	params := &stripe.PaymentIntentListParams{Customer: stripe.String(method)}
	params.Limit = stripe.Int64(recent)
	seen := 0
	for pi, err := range g.client.V1PaymentIntents.List(ctx, params).All(ctx) {
		if err != nil {
			return gateway.Event{}, false, fmt.Errorf("%w: stripe: list payments: %w", gateway.ErrUnavailable, err)
		}
		if id, ok := topupID(pi.Metadata); ok && id == t.ID && pi.Metadata[savedMark] != "" {
			return eventOf(pi, t.ID), true, nil
		}
		if seen++; seen == recent {
			break // the library would load the next page
		}
	}
	return gateway.Event{}, false, nil
}

// ChargeSaved implements gateway.Saving. The top-up's id is the idempotency key.
func (g *Gateway) ChargeSaved(ctx context.Context, t gateway.Topup, method string) (gateway.Event, error) {
	card, err := g.card(ctx, method)
	if err != nil {
		return gateway.Event{}, err
	}
	id := strconv.FormatInt(t.ID, 10)
	declined := gateway.Event{Kind: gateway.Failed, TopupID: t.ID, Reference: "saved-" + id, FailureKey: "declined"}
	if card == "" {
		return declined, nil // the customer has removed it
	}
	params := &stripe.PaymentIntentCreateParams{
		Amount: stripe.Int64(int64(t.Total)), Currency: stripe.String(string(stripe.CurrencyUSD)),
		Customer: stripe.String(method), PaymentMethod: stripe.String(card),
		PaymentMethodTypes: []*string{stripe.String("card")},
		Confirm:            stripe.Bool(true), OffSession: stripe.Bool(true),
		Metadata: map[string]string{metadata: id, savedMark: "1"},
	}
	params.SetIdempotencyKey("stead-saved-" + id)
	pi, err := g.client.V1PaymentIntents.Create(ctx, params)
	if err == nil {
		return eventOf(pi, t.ID), nil
	}
	var refusal *stripe.Error
	if !errors.As(err, &refusal) || refusal.Type != stripe.ErrorTypeCard {
		return gateway.Event{}, fmt.Errorf("%w: stripe: charge a kept card: %w", gateway.ErrUnavailable, err)
	}
	if refusal.PaymentIntent != nil && refusal.PaymentIntent.ID != "" {
		declined.Reference = refusal.PaymentIntent.ID
	}
	return declined, nil
}

// card is the latest card of the customer; empty when there is none.
func (g *Gateway) card(ctx context.Context, customer string) (string, error) {
	params := &stripe.CustomerListPaymentMethodsParams{Customer: stripe.String(customer), Type: stripe.String("card")}
	params.Limit = stripe.Int64(1)
	for pm, err := range g.client.V1Customers.ListPaymentMethods(ctx, params).All(ctx) {
		if err != nil {
			return "", fmt.Errorf("%w: stripe: list cards: %w", gateway.ErrUnavailable, err)
		}
		return pm.ID, nil
	}
	return "", nil
}

// eventOf is the state of a charge of a saved card. One that needs its owner, who is absent, has failed.
func eventOf(pi *stripe.PaymentIntent, topup int64) gateway.Event {
	e := gateway.Event{
		TopupID: topup, Reference: pi.ID, Payment: pi.ID, Total: money.USDCents(pi.AmountReceived), Currency: strings.ToUpper(string(pi.Currency)),
	}
	switch pi.Status {
	case stripe.PaymentIntentStatusSucceeded:
		e.Kind = gateway.Succeeded
	case stripe.PaymentIntentStatusProcessing:
		e.Kind = gateway.Waiting
	default:
		e.Kind, e.FailureKey = gateway.Failed, "declined"
	}
	return e
}

// savedEvent parses a charge of a saved card; sessions report other payments.
func savedEvent(raw json.RawMessage) ([]gateway.Event, error) {
	var pi stripe.PaymentIntent
	if err := json.Unmarshal(raw, &pi); err != nil {
		return nil, fmt.Errorf("%w: stripe: payment: %w", gateway.ErrInvalid, err)
	}
	id, ok := topupID(pi.Metadata)
	if !ok || pi.Metadata[savedMark] == "" {
		return nil, nil
	}
	return []gateway.Event{eventOf(&pi, id)}, nil
}
