package account

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
)

// link is a row of account_tokens: a mailed link, or one to be mailed.
type link struct {
	id, account int64
	purpose     string
	email       string
	hash        []byte
	sealed      []byte // nil once the mail is sent
	usable      bool
}

// freshFor is how long a link counts as that of the same request.
const freshFor = time.Minute

func insertToken(ctx context.Context, tx *db.Tx, account int64, purpose, email string, hash, sealed []byte) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO account_tokens (account_id, purpose, email, token_hash, sealed_token, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`, account, purpose, email, hash, sealed, tx.Now, tx.Now.Add(linkLife)).Scan(&id)
	return id, err
}

func readToken(ctx context.Context, q db.Querier, purpose string, hash []byte, now time.Time) (l link, err error) {
	err = q.QueryRow(ctx, `SELECT id, account_id, email FROM account_tokens
		WHERE token_hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3`, hash, purpose, now).
		Scan(&l.id, &l.account, &l.email)
	return l, noLink(err)
}

// useToken uses the link up; of two concurrent uses one gets ErrLink.
func useToken(ctx context.Context, tx *db.Tx, purpose string, hash []byte) (account int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE account_tokens SET used_at = $1, sealed_token = NULL
		WHERE token_hash = $2 AND purpose = $3 AND used_at IS NULL AND expires_at > $1 RETURNING account_id`,
		tx.Now, hash, purpose).Scan(&account)
	return account, noLink(err)
}

func noLink(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return ErrLink.New()
	}
	return err
}

// tokenByID reads the link for the job that mails it.
func tokenByID(ctx context.Context, q db.Querier, account, id int64, now time.Time) (l link, err error) {
	err = q.QueryRow(ctx, `SELECT id, account_id, purpose, email, token_hash, sealed_token, used_at IS NULL AND expires_at > $1
		FROM account_tokens WHERE id = $2 AND account_id = $3`, now, id, account).
		Scan(&l.id, &l.account, &l.purpose, &l.email, &l.hash, &l.sealed, &l.usable)
	return l, noLink(err)
}

func hasFreshToken(ctx context.Context, tx *db.Tx, account int64, purpose string) (fresh bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM account_tokens
		WHERE account_id = $1 AND purpose = $2 AND used_at IS NULL AND created_at > $3)`,
		account, purpose, tx.Now.Add(-freshFor)).Scan(&fresh)
	return fresh, err
}

func voidTokens(ctx context.Context, tx *db.Tx, account int64, purpose string) error {
	_, err := tx.Exec(ctx, `UPDATE account_tokens SET used_at = $1, sealed_token = NULL
		WHERE account_id = $2 AND purpose = $3 AND used_at IS NULL`, tx.Now, account, purpose)
	return err
}

// voidNewAddress ends the link that would give the account another address: somebody who has lost the session or the
// password must not take over the account by a pending mail. A link that verifies the present address stays.
func voidNewAddress(ctx context.Context, tx *db.Tx, account int64) error {
	_, err := tx.Exec(ctx, `UPDATE account_tokens SET used_at = $1, sealed_token = NULL
		WHERE account_id = $2 AND purpose = $3 AND used_at IS NULL AND email <> (SELECT email FROM account_users WHERE id = $2)`,
		tx.Now, account, purposeEmail)
	return err
}

// mailedToken erases the token itself after its mail is sent.
func mailedToken(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE account_tokens SET sealed_token = NULL WHERE id = $1`, id)
	return err
}
