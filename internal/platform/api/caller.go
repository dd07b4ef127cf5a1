package api

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

// PanelThrottle is the throttle of the panel, whose pages send several requests each.
const PanelThrottle = "panel"

// Caller authenticates a request by other means than the token or key in its headers, such as the session of a browser.
// A request that carries one is not authenticated by its headers, and no other origin may read its answer.
type Caller struct {
	// Verify authenticates the caller of an operation for tokens or for everybody. It is called again while a stream lasts.
	// Its errors are faults of kind Unauthenticated.
	Verify func(ctx context.Context) (auth.Principal, error)
	// VerifyReseller authenticates the caller of an operation for keys; nil refuses them all.
	VerifyReseller func(ctx context.Context) (auth.Principal, error)
}

type callerKey struct{}

// WithCaller returns a context in which the edge asks c who calls. The caller of WithCaller must have checked that the
// request comes from a page of this site.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// identify authenticates the caller of an operation.
func (c Caller) identify(r *http.Request, d *declared) (auth.Principal, error) {
	if d.Auth == Key {
		if c.VerifyReseller == nil {
			return auth.Principal{}, fault.Forbidden.New()
		}
		return c.VerifyReseller(r.Context())
	}
	p, err := c.Verify(r.Context())
	if err != nil && d.Auth == Open && fault.From(err).Def.Kind == fault.KindUnauthenticated {
		return auth.Principal{}, nil
	}
	return p, err
}
