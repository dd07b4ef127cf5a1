package auth

import (
	"context"
	"net/netip"
)

// Caller is where a request comes from, for the security log of an account. The zero value is the program itself.
type Caller struct {
	Address   netip.Addr
	UserAgent string
}

type callerKey struct{}

// WithCaller puts where a request comes from into its context.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is where the request under ctx comes from.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

type unattendedKey struct{}

// Unattended marks a context in which nobody acts, such as that of a stream which an open page reads: it prolongs no session.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

// IsUnattended reports whether nobody acts under ctx.
func IsUnattended(ctx context.Context) bool {
	is, _ := ctx.Value(unattendedKey{}).(bool)
	return is
}
