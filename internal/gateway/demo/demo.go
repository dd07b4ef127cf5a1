// Package demo is the gateway of `stead serve --demo`: no money moves, and the
// customer chooses on a page of ours what becomes of the payment. It must never
// be offered by an installation that sells for real.
package demo

import (
	"context"
	"strconv"
	"time"

	"stead.dev/stead/internal/gateway"
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
	}
}

// Start implements gateway.Gateway.
func (Gateway) Start(_ context.Context, t gateway.Topup) (gateway.Started, error) {
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
func (Gateway) Act(_ context.Context, t gateway.Topup, action string) (gateway.Event, error) {
	e := gateway.Event{TopupID: t.ID, Reference: reference(t.ID), Total: t.Total, Currency: "USD"}
	switch action {
	case "pay":
		e.Kind = gateway.Succeeded
	case "decline":
		e.Kind, e.FailureKey = gateway.Failed, "declined"
	case "cancel":
		e.Kind = gateway.Cancelled
	default:
		return gateway.Event{}, gateway.ErrInvalid
	}
	return e, nil
}

func reference(id int64) string { return "demo-" + strconv.FormatInt(id, 10) }
