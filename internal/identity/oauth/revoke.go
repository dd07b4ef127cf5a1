package oauth

import (
	"context"
	"strconv"

	"stead.dev/stead/internal/platform/db"
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
	t, kind, err := find(ctx, s.DB, p["token"])
	if err != nil {
		return nil, err
	}
	if kind == "" || t.applicationID != app.ID || t.revoked || !s.Clock.Now().Before(t.expiresAt) {
		return &introspectWire{}, nil
	}
	holder, err := s.Accounts.Holder(ctx, s.DB, t.accountID)
	if err != nil {
		return nil, err
	}
	if holder.Suspended {
		return &introspectWire{}, nil
	}
	w := &introspectWire{
		Active: true, Scope: t.scopes.forRole(holder.Role).String(), ClientID: t.clientID,
		Exp: t.expiresAt.Unix(), Iat: t.createdAt.Unix(), Sub: strconv.FormatInt(t.accountID, 10),
		Aud: []string{s.BaseURL + "/api/v1"}, Iss: s.BaseURL,
	}
	if kind == "access_token" {
		w.TokenType = "Bearer"
	}
	return w, nil
}
