package api

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

// PanelThrottle is the throttle of the panel, whose pages send several requests each.
const PanelThrottle = "panel"

// Authenticator finds out who calls. Without one in its context, a request is authenticated by the token or key in its
// headers; one that carries another, such as for the session of a browser, is not, and no other origin may read its answer.
type Authenticator struct {
	// Verify authenticates the caller of an operation for tokens or for everybody. It is called again while a stream lasts.
	// That nobody is known is a fault of kind Unauthenticated.
	Verify func(ctx context.Context) (auth.Principal, error)
	// VerifyReseller authenticates the caller of an operation for keys; nil refuses them all.
	VerifyReseller func(ctx context.Context) (auth.Principal, error)
}

type authenticatorKey struct{}

// WithAuthenticator returns a context in which the edge asks a who calls. Who calls it must have checked that the request
// comes from a page of this site.
func WithAuthenticator(ctx context.Context, a Authenticator) context.Context {
	return context.WithValue(ctx, authenticatorKey{}, a)
}

func authenticatorOf(ctx context.Context) (Authenticator, bool) {
	a, ok := ctx.Value(authenticatorKey{}).(Authenticator)
	return a, ok
}

// byHeaders authenticates by the token or the key in the headers of a request.
func (e *Edge) byHeaders(r *http.Request) Authenticator {
	return Authenticator{
		Verify: func(ctx context.Context) (auth.Principal, error) {
			token, err := bearer(r)
			if err == nil && token == "" {
				err = fault.Unauthenticated.New()
			}
			if err != nil {
				return auth.Principal{}, err
			}
			return e.Verifier.Verify(ctx, token)
		},
		VerifyReseller: func(ctx context.Context) (auth.Principal, error) {
			key, err := apiKey(r)
			if err == nil && key == "" {
				err = fault.Unauthenticated.New()
			}
			if err != nil {
				return auth.Principal{}, err
			}
			return e.Keys.VerifyKey(ctx, key, e.ClientAddr(r).Unmap())
		},
	}
}
