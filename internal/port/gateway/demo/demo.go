// Package demo is the gateway of `stead serve --demo`: no money moves, and the customer chooses the result of the
// payment on a page of ours. An installation that sells for real must never offer it.
package demo

import (
	"context"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/port/gateway"
)

// Key of the gateway.
const Key = "demo"

// Gateway implements gateway.Acting.
type Gateway struct{}

// New makes the gateway.
func New() Gateway { return Gateway{} }

// Info implements gateway.Gateway.
func (Gateway) Info() gateway.Info {
	return gateway.Info{
		Key: Key, Kind: gateway.KindRedirect, Currencies: []string{"USD"}, Min: 100, Max: 1_000_000, Lifetime: 24 * time.Hour,
		Simulated: true,
	}
}

// Start implements gateway.Gateway.
func (Gateway) Start(ctx context.Context, t gateway.Topup) (gateway.Started, error) {
	if err := intx.Check(ctx); err != nil {
		return gateway.Started{}, err
	}
	return gateway.Started{Reference: reference(t.ID), Page: &gateway.Page{
		Text: "gateway.demo.text",
		Actions: []gateway.Action{
			{Name: "pay", Label: "gateway.demo.pay"},
			{Name: "decline", Label: "gateway.demo.decline"},
			{Name: "cancel", Label: "gateway.demo.cancel"},
		},
	}}, nil
}

// Act implements gateway.Acting.
func (Gateway) Act(ctx context.Context, t gateway.Topup, action string) (gateway.Event, error) {
	if err := intx.Check(ctx); err != nil {
		return gateway.Event{}, err
	}
	e := gateway.Event{TopupID: t.ID, Reference: reference(t.ID), Total: t.Total, Currency: "USD"}
	switch action {
	case "pay":
		e.Kind = gateway.Succeeded
		if t.Save {
			e.Method = &gateway.Method{Reference: savedCard, Label: "Demo 4242"}
		}
	case "decline":
		e.Kind, e.FailureKey = gateway.Failed, "declined"
	case "cancel":
		e.Kind = gateway.Cancelled
	default:
		return gateway.Event{}, gateway.ErrInvalid
	}
	return e, nil
}

// savedCard is the demonstration's saved card: it always pays.
const savedCard = "demo-card"

// FindSaved implements gateway.Saving. Every charge succeeds at once, so no outcome is ever unknown.
func (Gateway) FindSaved(ctx context.Context, _ gateway.Topup, _ string) (gateway.Event, bool, error) {
	return gateway.Event{}, false, intx.Check(ctx)
}

// ChargeSaved implements gateway.Saving.
func (Gateway) ChargeSaved(ctx context.Context, t gateway.Topup, method string) (gateway.Event, error) {
	if err := intx.Check(ctx); err != nil {
		return gateway.Event{}, err
	}
	e := gateway.Event{Kind: gateway.Succeeded, TopupID: t.ID, Reference: reference(t.ID), Total: t.Total, Currency: "USD"}
	if method != savedCard {
		e.Kind, e.FailureKey = gateway.Failed, "declined"
	}
	return e, nil
}

func reference(id int64) string { return "demo-" + strconv.FormatInt(id, 10) }
