package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/secret"
)

// tokenWire is the token response of the specification; scope says what was granted (RFC 6749, section 5.1).
type tokenWire struct {
	AccessToken  string `json:"access_token" doc:"Bearer token."`
	RefreshToken string `json:"refresh_token" doc:"Good for one refresh; each refresh answers the next one."`
	ExpiresIn    int    `json:"expires_in" doc:"Seconds: 1296000."`
	TokenType    string `json:"token_type" doc:"Bearer"`
	Scope        string `json:"scope" doc:"What was granted, separated by spaces."`
}

// grantTokens serves the token endpoint: all grant types.
func (s *Service) grantTokens(ctx context.Context, app Application, p params) (*tokenWire, error) {
	if r := p["resource"]; r != "" && !ownResource(s.BaseURL, r) {
		return nil, refuse(ErrInvalidTarget, "resource_unknown")
	}
	switch p["grant_type"] {
	case "authorization_code":
		return s.exchange(ctx, app, p)
	case deviceGrant:
		return s.pollDevice(ctx, app, p)
	case "refresh_token":
		return s.refresh(ctx, app, p)
	case "":
		return nil, refuse(ErrInvalidRequest, "grant_type_missing")
	default:
		return nil, refuse(ErrUnsupportedGrantType, "grant_type_unsupported")
	}
}

// exchange issues tokens for a code (specification, "OAuth 2.0", step 3). A code allows one attempt: a failed one
// invalidates it, and ends the tokens that it gave before.
func (s *Service) exchange(ctx context.Context, app Application, p params) (*tokenWire, error) {
	if p["code"] == "" {
		return nil, refuse(ErrInvalidRequest, "code_missing")
	}
	var (
		answer  *tokenWire
		refused error // a refusal that is committed together with what it ended
	)
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		answer, refused = nil, nil
		hash := secret.Hash(p["code"])
		c, found, err := useCode(ctx, tx, hash, app.ID)
		if err != nil {
			return err
		}
		if !found {
			refused, err = s.unusableCode(ctx, tx, hash, app)
			return err
		}
		if !tx.Now.Before(c.expiresAt) {
			return refuse(ErrInvalidGrant, "code_expired")
		}
		if wrong := c.misuse(p); wrong != "" {
			refused = refuse(ErrInvalidGrant, wrong)
			return s.end(ctx, tx, c.grantID, "code_misused")
		}
		answer, err = s.mint(ctx, tx, app, c.grantID, nil, "")
		return err
	})
	if err == nil {
		err = refused
	}
	return answer, err
}

// misuse returns what is wrong with the use of a code; "" when nothing is. A request with a challenge needs its
// verifier, and one without must not bring a verifier: that would prove that somebody removed the challenge from the
// request (RFC 9700, section 4.8.2).
func (c code) misuse(p params) string {
	verifier := p["code_verifier"]
	switch {
	case p["redirect_uri"] != c.redirectURI:
		return "redirect_uri_differs"
	case c.challenge == nil && verifier != "":
		return "verifier_unexpected"
	case c.challenge == nil:
		return ""
	case verifier == "":
		return "verifier_missing"
	case !checkVerifier(verifier) || !proves(verifier, *c.challenge):
		return "verifier_wrong"
	}
	return ""
}

// unusableCode returns why a code cannot be used, and ends the tokens that it gave when it was used before (RFC 6749,
// section 4.1.2).
func (s *Service) unusableCode(ctx context.Context, tx *db.Tx, hash []byte, app Application) (refused, err error) {
	grantID, used, err := grantOfUsedCode(ctx, tx, hash, app.ID)
	switch {
	case err != nil:
		return nil, err
	case used:
		return refuse(ErrInvalidGrant, "code_used"), s.end(ctx, tx, grantID, "code_reused")
	default:
		return refuse(ErrInvalidGrant, "code_unknown"), nil
	}
}

// refresh issues the next tokens for a refresh token, which is then used (rotation; RFC 9700, section 4.14.2).
//
// The answer may get lost, and several processes of a client may refresh at once. So within the grace period, and while
// nobody has used the new tokens, a used token is answered with the very same tokens: another pair would be a second branch
// of the family, in which reuse could never be detected. In any other case two parties hold the used token, and the whole
// family ends.
func (s *Service) refresh(ctx context.Context, app Application, p params) (*tokenWire, error) {
	if p["refresh_token"] == "" {
		return nil, refuse(ErrInvalidRequest, "refresh_token_missing")
	}
	var (
		answer  *tokenWire
		refused error // a refusal that is committed together with what it ended
	)
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		answer, refused = nil, nil
		hash := secret.Hash(p["refresh_token"])
		t, found, err := useRefresh(ctx, tx, hash, app.ID)
		if err != nil {
			return err
		}
		if !found {
			answer, refused, err = s.usedRefresh(ctx, tx, hash, app, p["scope"])
			return err
		}
		if !tx.Now.Before(t.expiresAt) {
			return refuse(ErrInvalidGrant, "refresh_token_expired")
		}
		if t.parent != nil {
			if err := forgetAnswer(ctx, tx, *t.parent); err != nil {
				return err
			}
		}
		if answer, err = s.mint(ctx, tx, app, t.grantID, &t.id, p["scope"]); err != nil {
			return err
		}
		return s.keep(ctx, tx, t.id, answer)
	})
	if err == nil {
		err = refused
	}
	return answer, err
}

// usedRefresh decides about a used refresh token: it repeats the lost answer, or ends the family.
func (s *Service) usedRefresh(ctx context.Context, tx *db.Tx, hash []byte, app Application, scope string) (_ *tokenWire, refused, err error) {
	t, used, err := usedRefresh(ctx, tx, hash, app.ID)
	if err != nil {
		return nil, nil, err
	}
	if !used {
		return nil, refuse(ErrInvalidGrant, "refresh_token_unknown"), nil
	}
	sealed, kept, err := keptAnswer(ctx, tx, t.id, tx.Now.Add(-s.RefreshGrace))
	if err != nil {
		return nil, nil, err
	}
	if kept {
		answer, err := s.unseal(t.id, sealed)
		if err != nil {
			return nil, nil, err
		}
		if sameScope(scope, answer.Scope) { // otherwise it is another request, not a repetition
			return answer, nil, nil
		}
	}
	return nil, refuse(ErrInvalidGrant, "refresh_token_used"), s.end(ctx, tx, t.grantID, "refresh_reused")
}

// sameScope reports whether a repeated request asks for the scope that was answered.
func sameScope(asked, answered string) bool {
	if strings.TrimSpace(asked) == "" {
		return true
	}
	scopes, ok := parseScopes(asked)
	return ok && scopes.String() == answered
}

// mint makes the tokens of a live grant. They expire no later than the session that the grant ends with. narrower, when given, is
// the scope of the access token; the refresh token always keeps the grant's scope (RFC 6749, section 6).
func (s *Service) mint(ctx context.Context, tx *db.Tx, app Application, grantID int64, parent *int64, narrower string) (*tokenWire, error) {
	life, family := AccessLife, RefreshLife
	if app.ClientID == PipelineClientID {
		life, family = PipelineLife, PipelineLife
	}
	g, err := extendGrant(ctx, tx, grantID, tx.Now.Add(family))
	if errors.Is(err, db.ErrNoRows) {
		return nil, refuse(ErrInvalidGrant, "grant_ended")
	}
	if err != nil {
		return nil, err
	}
	sessionEnds, gone, err := s.outlived(ctx, tx, g.accountID, g.session, tx.Now)
	if err != nil {
		return nil, err
	}
	if gone {
		return nil, refuse(ErrInvalidGrant, "grant_ended")
	}
	accessEnds, refreshEnds := tx.Now.Add(life), tx.Now.Add(RefreshLife)
	if g.session != nil {
		accessEnds, refreshEnds = earlier(accessEnds, sessionEnds), earlier(refreshEnds, sessionEnds)
	}
	holder, err := s.Accounts.Holder(ctx, tx, g.accountID)
	if err != nil {
		return nil, err
	}
	if holder.Suspended {
		return nil, refuse(ErrInvalidGrant, "account_may_not")
	}
	scopes := g.scopes.And(app.Scopes).forRole(holder.Role)
	if strings.TrimSpace(narrower) != "" {
		asked, ok := parseScopes(narrower)
		if !ok {
			return nil, refuse(ErrInvalidScope, "scope_unknown")
		}
		if !scopes.Has(asked) {
			return nil, refuse(ErrInvalidScope, "scope_not_granted")
		}
		scopes = asked
	}
	a := &tokenWire{
		AccessToken: secret.Token(accessPrefix, tokenBytes), ExpiresIn: int(accessEnds.Sub(tx.Now) / time.Second), TokenType: "Bearer",
		Scope: scopes.String(),
	}
	if err := insertAccess(ctx, tx, secret.Hash(a.AccessToken), g.id, scopes, accessEnds); err != nil {
		return nil, err
	}
	if app.ClientID == PipelineClientID {
		return a, nil
	}
	a.RefreshToken = secret.Token(refreshPrefix, tokenBytes)
	return a, insertRefresh(ctx, tx, secret.Hash(a.RefreshToken), g.id, parent, refreshEnds)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// keep seals the answer to a refresh for the grace period.
func (s *Service) keep(ctx context.Context, tx *db.Tx, refreshID int64, a *tokenWire) error {
	if s.RefreshGrace < 0 {
		return nil
	}
	plain, err := json.Marshal(a) //nolint:gosec // G117: it is sealed in the next statement
	if err != nil {
		return err
	}
	sealed, err := s.Box.Seal(plain, answerPlace(refreshID))
	if err != nil {
		return err
	}
	return keepAnswer(ctx, tx, refreshID, sealed)
}

func (s *Service) unseal(refreshID int64, sealed []byte) (*tokenWire, error) {
	plain, err := s.Box.Open(sealed, answerPlace(refreshID))
	if err != nil {
		return nil, err
	}
	a := &tokenWire{}
	return a, json.Unmarshal(plain, a)
}

// answerPlace is the additional data that binds a sealed answer to its row.
func answerPlace(refreshID int64) []byte {
	return fmt.Appendf(nil, "oauth_refresh_tokens/%d/answer", refreshID)
}
