package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/secret"
)

// Ask is a validated authorization request (specification, "OAuth", GET /oauth/authorize).
type Ask struct {
	Application Application
	RedirectURI string
	Scopes      Scopes
	// Prompt is "", "none" or "consent".
	Prompt string
	// Session is the browser session in which the account is asked; 0 without one. Grants of Stead's own applications
	// end with it.
	Session int64

	state     string
	challenge *string
	issuer    string
}

// Ask checks the parameters of an authorization request. A *Refusal with a Redirect may be sent to the application; any
// other must only be shown to the user, because the client or the redirect address is not certain.
func (s *Service) Ask(ctx context.Context, query url.Values) (*Ask, error) {
	// Client and redirect address come first: until both are certain nothing is redirected, not even the refusal of a
	// duplicate parameter.
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(query[name]) > 1 {
			return nil, refuse(ErrInvalidRequest, "duplicate_parameter")
		}
	}
	clientID, redirect := query.Get("client_id"), query.Get("redirect_uri")
	if !validClientID(clientID) {
		return nil, refuse(ErrInvalidClient, "client_unknown")
	}
	app, err := applicationByClientID(ctx, s.DB, clientID)
	if errors.Is(err, db.ErrNoRows) {
		return nil, refuse(ErrInvalidClient, "client_unknown")
	}
	if err != nil {
		return nil, err
	}
	if app.Disabled {
		return nil, refuse(ErrInvalidClient, "client_disabled")
	}
	if redirect == "" {
		return nil, refuse(ErrInvalidRequest, "redirect_uri_missing")
	}
	if !app.matches(redirect) {
		return nil, refuse(ErrInvalidRequest, "redirect_uri_mismatch")
	}
	a := &Ask{Application: app, RedirectURI: redirect, issuer: s.BaseURL}
	if states := query["state"]; len(states) == 1 && printable(states[0]) {
		a.state = states[0]
	}
	if err := a.read(query, s.BaseURL); err != nil {
		if r := AsRefusal(err); r != nil {
			return nil, a.refused(r)
		}
		return nil, err
	}
	return a, nil
}

// read checks the parameters whose refusal is sent to the application.
func (a *Ask) read(query url.Values, baseURL string) error {
	for _, resource := range query["resource"] { // may be given more than once (RFC 8707, section 2)
		if !ownResource(baseURL, resource) {
			return refuse(ErrInvalidTarget, "resource_unknown")
		}
	}
	single := url.Values{}
	for name, values := range query {
		if name != "resource" {
			single[name] = values
		}
	}
	p, err := parseParams(single)
	if err != nil {
		return err
	}
	switch p["response_type"] {
	case "code":
	case "":
		return refuse(ErrInvalidRequest, "response_type_missing")
	default:
		return refuse(ErrUnsupportedResponseType, "response_type_unsupported")
	}
	switch challenge, method := p["code_challenge"], p["code_challenge_method"]; {
	case challenge == "" && method != "":
		return refuse(ErrInvalidRequest, "challenge_missing")
	case challenge == "" && a.Application.Type == Public:
		return refuse(ErrInvalidRequest, "pkce_required")
	case challenge == "":
	case method != "S256": // without a method, plain would be meant (RFC 7636, section 4.3)
		return refuse(ErrInvalidRequest, "challenge_method")
	case !checkChallenge(challenge):
		return refuse(ErrInvalidRequest, "challenge_syntax")
	default:
		a.challenge = &challenge
	}
	switch a.Prompt = p["prompt"]; a.Prompt {
	case "", "none", "consent":
	default:
		return refuse(ErrInvalidRequest, "prompt_unsupported")
	}
	a.Scopes, err = askedScopes(p["scope"], a.Application)
	return err
}

// askedScopes parses the scope parameter. Without one the application asks for profile (RFC 6749, section 3.3: a
// pre-defined default).
func askedScopes(text string, app Application) (Scopes, error) {
	if strings.TrimSpace(text) == "" {
		text = auth.ScopeProfile
	}
	scopes, ok := parseScopes(text)
	if !ok {
		return nil, refuse(ErrInvalidScope, "scope_unknown")
	}
	if !app.Scopes.Has(scopes) {
		return nil, refuse(ErrInvalidScope, "scope_not_allowed")
	}
	return scopes, nil
}

// resources are the names of this API as a resource (RFC 8707), by path. The
// MCP facade is part of it and serves the same tokens.
var resources = []string{"", "/api/v1", "/api/v1/mcp"}

func ownResource(baseURL, resource string) bool {
	for _, path := range resources {
		if strings.TrimSuffix(resource, "/") == baseURL+path {
			return true
		}
	}
	return false
}

// refused builds the redirect of a refusal (RFC 6749, section 4.1.2.1, and RFC 9207 for the issuer).
func (a *Ask) refused(r *Refusal) *Refusal {
	v := url.Values{"error": {r.Def.Key}, "error_description": {description(r)}, "iss": {a.issuer}}
	if a.state != "" {
		v.Set("state", a.state)
	}
	return &Refusal{Def: r.Def, Reason: r.Reason, Redirect: withParams(a.RedirectURI, v)}
}

// Denied is the redirect after the user has refused consent.
func (a *Ask) Denied() string { return a.refused(refuse(ErrAccessDenied, "denied")).Redirect }

// SignInRequired is the refusal for a visitor who may not be asked to sign in.
func (a *Ask) SignInRequired() *Refusal { return a.refused(refuse(ErrLoginRequired, "login_required")) }

// NeedsConsent reports whether the account must be asked. It need not be asked again for scopes that it has granted,
// unless the application requests it or could be impersonated by another program on the device. Stead's own
// applications never need consent.
func (s *Service) NeedsConsent(ctx context.Context, accountID int64, a *Ask) (bool, error) {
	switch {
	case a.Application.FirstParty:
		return false, nil
	case a.Prompt == "consent", !a.Application.assured(a.RedirectURI):
		return true, nil
	}
	allowed, err := consented(ctx, s.DB, accountID, a.Application.ID)
	return !allowed.Has(a.Scopes), err
}

// Approve issues a code for the account and returns the redirect. asked says that the user has just consented;
// otherwise an earlier consent must cover the request.
func (s *Service) Approve(ctx context.Context, accountID int64, a *Ask, asked bool) (redirect string, err error) {
	text := secret.Token(codePrefix, tokenBytes)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// The application may have changed since the request, and must not be deleted during the following steps.
		app, err := lockApplication(ctx, tx, a.Application.ClientID)
		if err != nil {
			return notFound(err)
		}
		if app.Disabled || !app.matches(a.RedirectURI) || !app.Scopes.Has(a.Scopes) || a.Application.Sandbox && !app.Sandbox {
			return refuse(ErrInvalidClient, "client_disabled")
		}
		holder, err := s.Accounts.Holder(ctx, tx, accountID)
		if err != nil {
			return err
		}
		scopes := a.Scopes.forRole(holder.Role)
		if holder.Suspended || len(scopes) == 0 {
			return a.refused(refuse(ErrAccessDenied, "account_may_not"))
		}
		if err := s.remember(ctx, tx, accountID, app, scopes, asked); err != nil {
			if r := AsRefusal(err); r != nil {
				return a.refused(r)
			}
			return err
		}
		expires := tx.Now.Add(CodeLife)
		var session *int64
		if app.FirstParty && a.Session != 0 {
			session = &a.Session
		}
		_, gone, err := s.outlived(ctx, tx, accountID, session, tx.Now)
		if err != nil {
			return err
		}
		if gone {
			return a.SignInRequired()
		}
		id, err := insertGrant(ctx, tx, grant{accountID: accountID, applicationID: app.ID, scopes: scopes, session: session}, expires)
		if err != nil {
			return err
		}
		return insertCode(ctx, tx, secret.Hash(text), code{id, a.RedirectURI, a.challenge, expires})
	})
	if err != nil {
		return "", err
	}
	v := url.Values{"code": {text}, "iss": {a.issuer}}
	if a.state != "" {
		v.Set("state", a.state)
	}
	return withParams(a.RedirectURI, v), nil
}

// remember stores a consent, or checks that there is one.
func (s *Service) remember(ctx context.Context, tx *db.Tx, accountID int64, app Application, scopes Scopes, asked bool) error {
	if app.FirstParty {
		return nil
	}
	before, err := lockConsent(ctx, tx, accountID, app.ID)
	if err != nil {
		return err
	}
	if asked {
		return putConsent(ctx, tx, accountID, app.ID, before.Or(scopes))
	}
	if !before.Has(scopes) {
		return refuse(ErrConsentRequired, "consent_required")
	}
	return nil
}

// ConsentRequired is the refusal for an application that asked for no page.
func (a *Ask) ConsentRequired() *Refusal {
	return a.refused(refuse(ErrConsentRequired, "consent_required"))
}
