package reseller

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

// ownKeyWire is a key in the list of its owner, who sees those of both worlds.
type ownKeyWire struct {
	keyWire
	Sandbox bool `json:"sandbox" doc:"Whether it works on the sandbox"`
}

// newKeyWire is a new key with its secret.
type newKeyWire struct {
	ownKeyWire
	Key string `json:"key" doc:"The secret; in this answer only" example:"rsk_0123456789abcdefghijklmnopqrstuvwxyz"`
}

type newKeyIn struct {
	Body struct {
		Name      string   `json:"name" minLength:"1" maxLength:"100" doc:"What you call it" example:"Billing"`
		Sandbox   bool     `json:"sandbox,omitempty" doc:"It works on the sandbox instead of the live world"`
		ReadOnly  bool     `json:"read_only,omitempty" doc:"It may read and change nothing"`
		Addresses []string `json:"addresses,omitempty" maxItems:"50" doc:"Addresses and networks that it may be used from; all when left out" example:"203.0.113.7"`
	}
}

type keyIn struct {
	Key int64 `path:"key" minimum:"1" doc:"Id of the key"`
}

func wireOwnKey(k Key) ownKeyWire { return ownKeyWire{keyWire: wireKey(k), Sandbox: k.Sandbox} }

// keyOperations are for a browser in which the reseller is signed in: no key makes another.
func (s *Service) keyOperations() []api.Route {
	const (
		base  = "/api/v1/me/api-keys"
		named = base + "/{key}"
	)
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		api.Operation[page.Params, page.List[ownKeyWire]]{
			ID: "reseller.keys.own", Method: http.MethodGet, Path: base, Section: api.Reseller, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary:     "List the keys of both worlds that are not revoked, the newest first",
			Description: "By who has signed in; programs with a key call `GET /reseller/keys`. Empty for who does not resell.",
			Handle: func(ctx context.Context, p auth.Principal, in *page.Params) (*page.List[ownKeyWire], error) {
				keys, err := s.Keys(ctx, p.AccountID)
				if err != nil {
					return nil, err
				}
				keys = slices.DeleteFunc(keys, func(k Key) bool { return k.RevokedAt != nil })
				return page.Slice(*in, keys, wireOwnKey), nil
			},
		},
		api.Operation[newKeyIn, newKeyWire]{
			ID: "reseller.keys.create", Method: http.MethodPost, Path: base, Section: api.Reseller, Auth: api.Token, Scopes: scopes, Recent: true,
			Status: http.StatusCreated, Summary: "Create a key by which your programs call the reseller API",
			Description: "The secret is in this answer only. `not_found` for who does not resell.",
			Example:     `{"name": "Billing", "sandbox": true, "read_only": false, "addresses": ["203.0.113.7", "2001:db8::/32"]}`,
			Errors:      []*fault.Def{fault.NotFound, fault.LimitReached},
			Handle: func(ctx context.Context, p auth.Principal, in *newKeyIn) (*newKeyWire, error) {
				addresses, err := networks(in.Body.Addresses)
				if err != nil {
					return nil, err
				}
				k, secret, err := s.CreateKey(ctx, p.AccountID, NewKey{
					Name: in.Body.Name, Sandbox: in.Body.Sandbox, ReadOnly: in.Body.ReadOnly, Addresses: addresses,
				})
				if err != nil {
					return nil, err
				}
				return &newKeyWire{ownKeyWire: wireOwnKey(k), Key: secret}, nil
			},
		},
		api.Operation[keyIn, api.Empty]{ // a leaked key is revoked at once, without another sign-in
			ID: "reseller.keys.revoke", Method: http.MethodDelete, Path: named, Section: api.Reseller, Auth: api.Token, Scopes: scopes, Session: true,
			Summary: "Revoke a key, from the next request on", Description: "It cannot be undone. Links to services that were made with the key end with it.",
			Handle: func(ctx context.Context, p auth.Principal, in *keyIn) (*api.Empty, error) {
				return nil, s.RevokeOwnKey(ctx, p.AccountID, in.Key)
			},
		},
	}
}

// networks parses networks and single addresses.
func networks(texts []string) ([]netip.Prefix, error) {
	all := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		text = strings.TrimSpace(text)
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil || a.Zone() != "" {
				return nil, fault.Invalid("addresses", "key_networks")
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all, nil
}
