package oauth

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"

	"stead.dev/stead/internal/platform/db"
)

// credentials are an application's client authentication.
type credentials struct {
	clientID, secret string
}

// readCredentials takes them from the Authorization header (HTTP Basic) or the form, never from both (RFC 6749, section
// 2.3).
func readCredentials(header string, p params) (credentials, error) {
	if header == "" {
		if p["client_id"] == "" {
			return credentials{}, refuse(ErrInvalidRequest, "client_id_missing")
		}
		return credentials{p["client_id"], p["client_secret"]}, nil
	}
	if p["client_secret"] != "" {
		return credentials{}, refuse(ErrInvalidRequest, "client_authenticates_twice")
	}
	c, ok := parseBasic(header)
	if !ok {
		return credentials{}, refuse(ErrInvalidClient, "client_authorization")
	}
	if p["client_id"] != "" && p["client_id"] != c.clientID {
		return credentials{}, refuse(ErrInvalidRequest, "client_id_differs")
	}
	return c, nil
}

// parseBasic decodes HTTP Basic; both parts are form-encoded before they are joined (RFC 6749, section 2.3.1).
func parseBasic(header string) (c credentials, ok bool) {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return c, false
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return c, false
	}
	id, password, found := strings.Cut(string(plain), ":")
	if !found {
		return c, false
	}
	var errID, errPassword error
	c.clientID, errID = url.QueryUnescape(id)
	c.secret, errPassword = url.QueryUnescape(password)
	return c, errID == nil && errPassword == nil
}

// authenticate finds the application and verifies its credentials. A public one has no secret and must not send one:
// PKCE and possession of its codes and tokens are its proof.
func (s *Service) authenticate(ctx context.Context, c credentials) (Application, error) {
	if !validClientID(c.clientID) {
		return Application{}, refuse(ErrInvalidClient, "client_unknown")
	}
	app, err := s.application(ctx, c.clientID)
	switch {
	case errors.Is(err, db.ErrNoRows):
		return app, refuse(ErrInvalidClient, "client_unknown")
	case err != nil:
		return app, err
	case app.Type == Public && c.secret != "":
		return app, refuse(ErrInvalidClient, "client_is_public")
	case app.Type == Confidential && !app.hasSecret(c.secret):
		return app, refuse(ErrInvalidClient, "client_secret_wrong")
	case app.Disabled:
		return app, refuse(ErrInvalidClient, "client_disabled")
	}
	return app, nil
}
