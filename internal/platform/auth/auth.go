// Package auth describes the caller of a request. It does not authenticate: the sections that issue tokens and keys do,
// and give the edge a Principal.
package auth

import (
	"slices"
	"strconv"
	"strings"
)

// The scopes of the specification ("Scopes").
const (
	ScopeProfile       = "profile"
	ScopeServicesRead  = "services:read"
	ScopeServicesWrite = "services:write"
	ScopeOrdersRead    = "orders:read"
	ScopeOrdersWrite   = "orders:write"
	ScopeWalletRead    = "wallet:read"
	ScopeWalletWrite   = "wallet:write"
	ScopeAIRead        = "ai:read"
	ScopeAIWrite       = "ai:write"
	ScopeDomainsRead   = "domains:read"
	ScopeDomainsWrite  = "domains:write"
	ScopeMonitorsRead  = "monitors:read"
	ScopeMonitorsWrite = "monitors:write"
	ScopeAdmin         = "admin"
)

// Scopes in the order of the specification.
var Scopes = []string{
	ScopeProfile, ScopeServicesRead, ScopeServicesWrite, ScopeOrdersRead, ScopeOrdersWrite,
	ScopeWalletRead, ScopeWalletWrite, ScopeAIRead, ScopeAIWrite, ScopeDomainsRead,
	ScopeDomainsWrite, ScopeMonitorsRead, ScopeMonitorsWrite, ScopeAdmin,
}

// ReadScopes are the scopes that let an application see everything and change nothing.
func ReadScopes() []string {
	var read []string
	for _, s := range Scopes {
		if s == ScopeProfile || strings.HasSuffix(s, ":read") {
			read = append(read, s)
		}
	}
	return read
}

// Principal is the authenticated caller of one request. The zero value is
// nobody, as on open-data routes.
type Principal struct {
	// AccountID is the account whose data the caller sees; every WHERE checks it.
	AccountID int64
	// ApplicationID and ClientID name the OAuth application.
	ApplicationID int64
	ClientID      string
	// TokenID is the access token's row, for logs; never the token.
	TokenID int64
	Scopes  []string
	// Sandbox tokens read all their scopes allow and write nothing.
	Sandbox bool
	// FirstParty applications are Stead's own, such as the panel.
	FirstParty bool
	// KeyID is the reseller's API key; ReadOnly keys write nothing.
	KeyID    int64
	ReadOnly bool
	// Role is that of a member of staff; customers have none.
	Role Role
	// TwoFactor says that nobody signs in to the account without a second factor.
	TwoFactor bool
	// ActingID is the member of staff who is signed in as the account; 0 when its owner is.
	ActingID int64
	// SessionID is the session of the browser that calls; 0 for tokens and keys.
	SessionID int64
	// Recent says that the account's owner has proved who they are in that session a short time ago.
	Recent bool
	// OnlyService, when not 0, is the one service whose management the caller may call, such as a reseller's client.
	OnlyService int64
	// Locale and Currency are the account's display preferences.
	Locale   string
	Currency string
}

// IsNobody tells whether nobody is signed in.
func (p Principal) IsNobody() bool { return p.AccountID == 0 }

// HasScope tells whether the token bears the scope.
func (p Principal) HasScope(s string) bool { return slices.Contains(p.Scopes, s) }

// HasAny tells whether the token bears one of the scopes.
func (p Principal) HasAny(scopes []string) bool { return slices.ContainsFunc(scopes, p.HasScope) }

// Key identifies the caller for throttles and idempotency: account and application, so that refreshing a token changes
// nothing.
func (p Principal) Key() string {
	if p.KeyID != 0 {
		return "k" + strconv.FormatInt(p.KeyID, 10)
	}
	key := "a" + strconv.FormatInt(p.AccountID, 10) + "/c" + strconv.FormatInt(p.ApplicationID, 10)
	if p.OnlyService != 0 {
		key += "/s" + strconv.FormatInt(p.OnlyService, 10)
	}
	return key
}
