package account

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/secret"
)

// EnsureSandbox returns the account on which the sandbox keys of an account work, and creates it at the first call. All
// rows of a sandbox belong to it, so no query of one world finds a row of the other.
func (s *Service) EnsureSandbox(ctx context.Context, tx *db.Tx, accountID int64) (id int64, err error) {
	if err := lockUser(ctx, tx, accountID); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT id FROM account_users WHERE sandbox_of = $1`, accountID).Scan(&id)
	if !errors.Is(err, db.ErrNoRows) {
		return id, err
	}
	owner, err := profile(ctx, tx, accountID)
	if err != nil {
		return 0, err
	}
	id, err = insertUser(ctx, tx, newUser{
		// An address that belongs to nobody and gets no mail (RFC 2606), and no password.
		email: fmt.Sprintf("sandbox-%d-%s@sandbox.invalid", accountID, strings.ToLower(rand.Text())),
		name:  owner.Name, locale: owner.Locale, currency: owner.Currency, handle: []byte(secret.Token("", 32)),
	})
	if err != nil {
		return 0, fmt.Errorf("account: sandbox of %d: %w", accountID, err)
	}
	_, err = tx.Exec(ctx, `UPDATE account_users SET sandbox_of = $1 WHERE id = $2`, accountID, id)
	return id, err
}

// SandboxOf is the sandbox of an account; fault.NotFound when it has none. A sandbox is its own.
func (s *Service) SandboxOf(ctx context.Context, q db.Querier, accountID int64) (id int64, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM account_users WHERE sandbox_of = $1 OR (id = $1 AND sandbox_of IS NOT NULL)`, accountID).Scan(&id)
	return id, notFound(err)
}

// Sandbox reports whether the account is a reseller's sandbox.
func (s *Service) Sandbox(ctx context.Context, q db.Querier, accountID int64) (sandbox bool, err error) {
	err = q.QueryRow(ctx, `SELECT sandbox_of IS NOT NULL FROM account_users WHERE id = $1`, accountID).Scan(&sandbox)
	return sandbox, notFound(err)
}
