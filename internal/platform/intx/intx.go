// Package intx keeps calls to the network out of database transactions. A transaction holds locks and a connection, on
// SQLite the only one that writes: while it waits for somebody else's server, all others wait for it.
//
// Package db marks the context that it gives to the function of a transaction. Whoever calls the outside refuses a marked
// context: the adapters of the ports, panel.Of, and the clients of HTTP, DNS and SMTP. Calls of the network are made before
// the transaction, or by a job after it.
package intx

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
)

// ErrInTransaction refuses a call.
var ErrInTransaction = errors.New("intx: a call to the outside within a database transaction")

type key struct{}

// Mark is ctx within a transaction.
func Mark(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Marked tells whether ctx is within a transaction.
func Marked(ctx context.Context) bool { return ctx.Value(key{}) != nil }

// Check answers ErrInTransaction when ctx is within a transaction.
func Check(ctx context.Context) error {
	if Marked(ctx) {
		return ErrInTransaction
	}
	return nil
}

// Transport is Next for requests outside of transactions, and refuses the others.
type Transport struct{ Next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := Check(r.Context()); err != nil {
		if r.Body != nil {
			err = errors.Join(err, r.Body.Close())
		}
		return nil, err
	}
	return t.Next.RoundTrip(r)
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (t Transport) CloseIdleConnections() {
	if next, ok := t.Next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// Resolver is Next outside of transactions, and refuses to look up anything within one.
type Resolver struct{ Next *net.Resolver }

// LookupNetIP is that of net.Resolver.
func (r Resolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if err := Check(ctx); err != nil {
		return nil, err
	}
	return r.Next.LookupNetIP(ctx, network, host)
}

// LookupMX is that of net.Resolver.
func (r Resolver) LookupMX(ctx context.Context, name string) ([]*net.MX, error) {
	if err := Check(ctx); err != nil {
		return nil, err
	}
	return r.Next.LookupMX(ctx, name)
}

// LookupTXT is that of net.Resolver.
func (r Resolver) LookupTXT(ctx context.Context, name string) ([]string, error) {
	if err := Check(ctx); err != nil {
		return nil, err
	}
	return r.Next.LookupTXT(ctx, name)
}

// LookupAddr is that of net.Resolver.
func (r Resolver) LookupAddr(ctx context.Context, address string) ([]string, error) {
	if err := Check(ctx); err != nil {
		return nil, err
	}
	return r.Next.LookupAddr(ctx, address)
}
