package oauth

import (
	"slices"
	"strings"

	"stead.dev/stead/internal/platform/auth"
)

// Scopes is a set of scopes in the specification's order.
type Scopes []string

// ThirdPartyScopes are all scopes but admin, which is never granted to third
// parties.
func ThirdPartyScopes() Scopes {
	return slices.DeleteFunc(slices.Clone(auth.Scopes), func(s string) bool { return s == auth.ScopeAdmin })
}

// parseScopes parses a space-separated list; ok is false when it names an unknown scope.
func parseScopes(text string) (_ Scopes, ok bool) {
	var asked []string
	for name := range strings.SplitSeq(text, " ") {
		if name != "" {
			asked = append(asked, name)
		}
	}
	return scopesOf(asked)
}

// scopesOf orders names and removes duplicates.
func scopesOf(names []string) (_ Scopes, ok bool) {
	set := Scopes{}
	for _, s := range auth.Scopes {
		if slices.Contains(names, s) {
			set = append(set, s)
		}
	}
	for _, n := range names {
		if !slices.Contains(set, n) {
			return nil, false
		}
	}
	return set, true
}

// String is the form of the protocol and of the tables.
func (s Scopes) String() string { return strings.Join(s, " ") }

// Has reports whether s contains all of other.
func (s Scopes) Has(other Scopes) bool {
	for _, o := range other {
		if !slices.Contains(s, o) {
			return false
		}
	}
	return true
}

// And is the intersection.
func (s Scopes) And(other Scopes) Scopes {
	return slices.DeleteFunc(slices.Clone(s), func(x string) bool { return !slices.Contains(other, x) })
}

// Or is the union.
func (s Scopes) Or(other Scopes) Scopes {
	set, _ := scopesOf(append(slices.Clone(s), other...)) // both are sets of known scopes
	return set
}

// forRole removes admin when the account is not one of staff.
func (s Scopes) forRole(r auth.Role) Scopes {
	if r != "" {
		return s
	}
	return s.And(ThirdPartyScopes())
}
