package oauth

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

// revoke ends a token of the application (RFC 7009): a refresh token with its whole family, an access token alone. An
// unknown token counts as revoked.
func (s *Service) revoke(ctx context.Context, app Application, p params) error {
	if p["token"] == "" {
		return refuse(ErrInvalidRequest, "token_missing")
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		t, kind, err := find(ctx, tx, p["token"])
		switch {
		case err != nil || kind == "":
			return err
		case t.applicationID != app.ID:
			return refuse(ErrInvalidGrant, "token_of_another")
		case kind == "refresh_token":
			return s.end(ctx, tx, t.grantID, "revoked")
		}
		if err := revokeAccess(ctx, tx, t.id); err != nil {
			return err
		}
		return s.tell(ctx, tx, ref{refToken, t.id})
	})
}

// find looks up a token of either kind; kind is "" when there is none. The token's prefix is more reliable than
// token_type_hint.
func find(ctx context.Context, q db.Querier, token string) (t issued, kind string, err error) {
	hash := secret.Hash(token)
	t, found, err := accessByHash(ctx, q, hash)
	if err != nil || found {
		return t, "access_token", err
	}
	t, found, err = refreshByHash(ctx, q, hash)
	if err != nil || found {
		return t, "refresh_token", err
	}
	return t, "", nil
}

// introspectWire is the answer of RFC 7662. For a token that is not active, or not the caller's, it says only that.
type introspectWire struct {
	Active    bool     `json:"active"`
	Scope     string   `json:"scope,omitempty"`
	ClientID  string   `json:"client_id,omitempty"`
	TokenType string   `json:"token_type,omitempty" doc:"Bearer, of access tokens."`
	Exp       int64    `json:"exp,omitempty"`
	Iat       int64    `json:"iat,omitempty"`
	Sub       string   `json:"sub,omitempty" doc:"The account's id."`
	Aud       []string `json:"aud,omitempty"`
	Iss       string   `json:"iss,omitempty"`
}

// introspect describes a confidential application's own tokens.
func (s *Service) introspect(ctx context.Context, app Application, p params) (*introspectWire, error) {
	if app.Type != Confidential {
		return nil, refuse(ErrUnauthorizedClient, "client_not_confidential")
	}
	if p["token"] == "" {
		return nil, refuse(ErrInvalidRequest, "token_missing")
	}
	if strings.HasPrefix(p["token"], accessPrefix) {
		return s.introspectAccess(ctx, app, p["token"])
	}
	t, found, err := refreshByHash(ctx, s.DB, secret.Hash(p["token"]))
	if err != nil {
		return nil, err
	}
	if !found || t.applicationID != app.ID || t.revoked || !s.Clock.Now().Before(t.expiresAt) {
		return &introspectWire{}, nil
	}
	_, gone, err := s.outlived(ctx, s.DB, t.accountID, t.session, s.Clock.Now())
	if err != nil {
		return nil, err
	}
	holder, err := s.Accounts.Holder(ctx, s.DB, t.accountID)
	if err != nil {
		return nil, err
	}
	if gone || holder.Suspended {
		return &introspectWire{}, nil
	}
	return s.activeWire(t.scopes.forRole(holder.Role), t.clientID, t.accountID, t.createdAt, t.expiresAt), nil
}

// activeWire describes a valid token.
func (s *Service) activeWire(scopes Scopes, clientID string, account int64, issued, ends time.Time) *introspectWire {
	return &introspectWire{
		Active: true, Scope: scopes.String(), ClientID: clientID, Exp: ends.Unix(), Iat: issued.Unix(),
		Sub: strconv.FormatInt(account, 10), Aud: []string{s.BaseURL + "/api/v1"}, Iss: s.BaseURL,
	}
}

// introspectAccess answers of an access token as the API would judge it, from memory where the API does.
func (s *Service) introspectAccess(ctx context.Context, app Application, token string) (*introspectWire, error) {
	e, err := s.access(ctx, token)
	for _, refused := range []*fault.Def{fault.Unauthenticated, fault.TokenRevoked, fault.TokenExpired, fault.AccountSuspended} {
		if errors.Is(err, refused) {
			return &introspectWire{}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if e.principal.ApplicationID != app.ID {
		return &introspectWire{}, nil
	}
	p := e.principal
	w := s.activeWire(p.Scopes, p.ClientID, p.AccountID, e.createdAt, e.expiresAt)
	w.TokenType = "Bearer"
	return w, nil
}
