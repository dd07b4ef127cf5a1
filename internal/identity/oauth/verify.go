package oauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// Verify returns the principal of an access token (specification, "Authentication": a missing or expired token gives
// 401). It answers from memory, and reads the database for a token that is new to this process, was not checked for
// minutes, or while the process gets no signals of revocations.
func (s *Service) Verify(ctx context.Context, token string) (auth.Principal, error) {
	if !strings.HasPrefix(token, accessPrefix) {
		return auth.Principal{}, fault.Unauthenticated.New()
	}
	e, err := s.access(ctx, token)
	if err != nil {
		return auth.Principal{}, err
	}
	s.uses.note(e, s.Clock.Now())
	return e.principal, nil
}

// access returns a valid access token, from memory where Verify may answer from it.
func (s *Service) access(ctx context.Context, token string) (*entry, error) {
	hash, now := sha256.Sum256([]byte(token)), s.Clock.Now()
	fresh := s.Hub.Fresh()
	if fresh {
		if e := s.cache.get(hash, now); e != nil {
			return e, nil
		}
	} else {
		s.cache.clear()
	}
	mark := s.cache.mark()
	e, err := s.look(ctx, hash)
	if err != nil {
		return nil, err
	}
	e.filledAt = now
	if !now.Before(e.expiresAt) {
		return nil, fault.TokenExpired.New()
	}
	if fresh {
		s.cache.put(mark, e)
	}
	return e, nil
}

// look reads a token and its account from the database.
func (s *Service) look(ctx context.Context, hash tokenHash) (*entry, error) {
	t, found, err := accessByHash(ctx, s.DB, hash[:])
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fault.Unauthenticated.New()
	case t.revoked:
		return nil, fault.TokenRevoked.New()
	}
	if _, gone, err := s.outlived(ctx, s.DB, t.accountID, t.session, s.Clock.Now()); err != nil {
		return nil, err
	} else if gone {
		return nil, fault.TokenRevoked.New()
	}
	if err := s.noteFirstUse(ctx, t); err != nil {
		return nil, err
	}
	holder, err := s.Accounts.Holder(ctx, s.DB, t.accountID)
	switch {
	case errors.Is(err, fault.NotFound):
		return nil, fault.TokenRevoked.Wrap(err)
	case err != nil:
		return nil, err
	case holder.Suspended:
		return nil, fault.AccountSuspended.New()
	}
	return &entry{
		hash: hash, grantID: t.grantID, createdAt: t.createdAt, expiresAt: t.expiresAt, noted: new(atomic.Int64),
		principal: auth.Principal{
			AccountID: t.accountID, ApplicationID: t.applicationID, ClientID: t.clientID, TokenID: t.id,
			// A withdrawn role withdraws its scope.
			Scopes:  slices.Clip(t.scopes.forRole(holder.Role)),
			Sandbox: t.sandbox, FirstParty: t.firstParty, Role: holder.Role, TwoFactor: holder.TwoFactor,
			Locale: holder.Locale, Currency: holder.Currency,
		},
	}, nil
}

// noteFirstUse ends the grace of the refresh that made a token: whoever uses the token has got the answer. A token is looked
// up at its first use, so later uses cost nothing.
func (s *Service) noteFirstUse(ctx context.Context, t issued) error {
	if s.RefreshGrace < 0 || s.Clock.Now().Sub(t.createdAt) > s.RefreshGrace {
		return nil
	}
	if has, err := hasAnswer(ctx, s.DB, t.grantID, t.createdAt); err != nil || !has {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return forgetAnswers(ctx, tx, t.grantID, t.createdAt)
	})
}
