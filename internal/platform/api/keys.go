package api

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

// KeyVerifier authenticates a reseller's API key and returns its principal. Its errors are faults: of kind
// Unauthenticated, or fault.AddressNotAllowed.
type KeyVerifier interface {
	VerifyKey(ctx context.Context, key string, from netip.Addr) (auth.Principal, error)
}

// ResellerThrottle is the throttle of operations that are called with a key
// (specification, "Limits").
const ResellerThrottle = "reseller"

// resellerBase is the path of the reseller API, and publicBase the path of the public interface, with which it shares
// operations.
const (
	publicBase   = "/api/v1/"
	resellerBase = "/api/v1/reseller/"
)

// Resold is an operation of the public interface as resellers call it: the same function below /api/v1/reseller, with a
// key instead of a token. It works on the account of the key, so only the authentication differs.
func Resold(r Route) Route { return resold{r} }

type resold struct{ Route }

func (r resold) declare() (*declared, error) {
	d, err := r.Route.declare()
	if err != nil {
		return d, err
	}
	d.ID, d.Path = "reseller."+d.ID, resellerBase+strings.TrimPrefix(d.Path, publicBase)
	d.Section, d.Auth, d.Scopes, d.FirstParty = Reseller, Key, nil, false
	return d, nil
}

// apiKey reads the key of a request, from Authorization or X-Api-Key (specification,
// "Reseller API").
func apiKey(r *http.Request) (string, error) {
	token, err := bearer(r)
	header := r.Header.Get("X-Api-Key")
	switch {
	case err != nil:
		return "", err
	case header == "":
		return token, nil
	case token != "" && token != header, len(header) > 512:
		return "", fault.APIKeyInvalid.New() // both are present: refuse instead of choosing one
	default:
		return header, nil
	}
}

// InfoOf describes an operation before it is mounted.
func InfoOf(r Route) (Info, error) {
	d, err := r.declare()
	if err != nil {
		return Info{}, err
	}
	return d.Info, nil
}
