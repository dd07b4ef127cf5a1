// Package bank is the gateway of manual transfers: the customer sees the bank details and a reference, and an operator
// confirms the money when it has arrived (`stead admin`).
package bank

import (
	"context"
	"fmt"
	"time"

	"stead.dev/stead/internal/port/gateway"
)

// Key of the gateway.
const Key = "bank"

// Gateway implements gateway.Gateway.
type Gateway struct{ details string }

// New makes the gateway; details say where to transfer to.
func New(details string) Gateway { return Gateway{details: details} }

// Info implements gateway.Gateway. Banks take days.
func (Gateway) Info() gateway.Info {
	return gateway.Info{
		Key: Key, Kind: gateway.KindBankTransfer, Currencies: []string{"USD"}, Min: 1_000, Max: 5_000_000, Lifetime: 14 * 24 * time.Hour,
	}
}

// Start implements gateway.Gateway.
func (g Gateway) Start(_ context.Context, t gateway.Topup) (gateway.Started, error) {
	ref := fmt.Sprintf("TOPUP-%06d", t.ID)
	return gateway.Started{Reference: ref, Page: &gateway.Page{
		Text: "gateway.bank.text",
		Lines: []gateway.Line{
			{Label: "gateway.bank.details", Value: g.details},
			{Label: "gateway.bank.reference", Value: ref},
		},
	}}, nil
}
