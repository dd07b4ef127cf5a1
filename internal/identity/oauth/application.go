package oauth

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

// Type of an application (RFC 6749, section 2.1).
type Type string

// A confidential application keeps a secret on a server; a public one, on a
// device or in a browser, cannot.
const (
	Public       Type = "public"
	Confidential Type = "confidential"
)

// PanelClientID is Stead's own application for the browser panel.
const PanelClientID = "stead-panel"

// ReferenceClientID is Stead's own application for calls from the reference of the API.
const ReferenceClientID = "stead-reference"

// CommandClientID is the application of the command `stead` on a customer's machine. Any program there can pose as it, so
// it is no first-party application: each sign-in asks for consent.
const CommandClientID = "stead-cli"

// PipelineClientID is the application of tokens that a customer gives to a pipeline that deploys. A pipeline has nowhere to keep a
// refresh token, so its access tokens live for long and can do less.
const PipelineClientID = "stead-ci"

const (
	clientIDPrefix = "app_"
	secretPrefix   = "sts_"
	maxName        = 60
	maxClientID    = 64
	// maxPerOwner bounds how many applications an account has.
	maxPerOwner = 50
)

// Application is a client of the API.
type Application struct {
	ID       int64
	ClientID string
	// OwnerID is the account that registered it; 0 for Stead's own.
	OwnerID      int64
	Name         string
	Type         Type
	RedirectURIs []string
	// Scopes are those that it may request.
	Scopes Scopes
	// Sandbox applications' tokens read everything and write nothing.
	Sandbox bool
	// FirstParty applications are Stead's own: they need no consent.
	FirstParty bool
	// Disabled applications get no tokens, and their existing ones are refused.
	Disabled             bool
	CreatedAt, UpdatedAt time.Time

	secretHash []byte
}

// hasSecret compares in constant time.
func (a Application) hasSecret(s string) bool {
	return a.secretHash != nil && secret.Equal(secret.Hash(s), a.secretHash)
}

// Registration is a customer's input for an application.
type Registration struct {
	Name         string
	Type         Type
	RedirectURIs []string
	// Scopes are all but admin when empty.
	Scopes  []string
	Sandbox bool
}

// invalid collects the mistakes of a registration.
type invalid map[string][]fault.Text

func (v invalid) add(field, id string) {
	v[field] = append(v[field], fault.Text{ID: "invalid." + id, Data: map[string]any{"Value": maxRedirects}})
}

func (v invalid) err() error {
	if len(v) == 0 {
		return nil
	}
	return &fault.Error{Def: fault.Validation, Invalid: v}
}

// application checks the registration and returns the application.
func (r Registration) application() (Application, error) {
	bad := invalid{}
	a := Application{Name: strings.TrimSpace(r.Name), Type: r.Type, Sandbox: r.Sandbox}
	if n := utf8.RuneCountInString(a.Name); n == 0 || n > maxName || strings.ContainsFunc(a.Name, unreadable) {
		bad.add("name", "application_name")
	}
	if r.Type != Public && r.Type != Confidential {
		bad.add("type", "application_type")
	}
	if len(r.RedirectURIs) == 0 || len(r.RedirectURIs) > maxRedirects {
		bad.add("redirect_uris", "redirect_uris_count")
	}
	for _, uri := range r.RedirectURIs {
		if wrong := checkRedirect(uri, r.Type); wrong != "" {
			bad.add("redirect_uris", wrong)
		}
	}
	for _, uri := range r.RedirectURIs {
		if !slices.Contains(a.RedirectURIs, uri) {
			a.RedirectURIs = append(a.RedirectURIs, uri)
		}
	}
	a.Scopes = ThirdPartyScopes()
	if len(r.Scopes) > 0 {
		scopes, ok := scopesOf(r.Scopes)
		if !ok || !ThirdPartyScopes().Has(scopes) {
			bad.add("scopes", "application_scopes")
		}
		a.Scopes = scopes
	}
	return a, bad.err()
}

// unreadable matches characters by which a name could deceive on the consent page: controls, line breaks and marks that
// change the direction of writing.
func unreadable(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
}

// validClientID keeps text that cannot be a client id away from the database.
func validClientID(s string) bool {
	if s == "" || len(s) > maxClientID {
		return false
	}
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
