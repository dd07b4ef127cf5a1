package account

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

type totpRow struct {
	sealed    []byte
	confirmed bool
}

func (r totpRow) found() bool { return r.sealed != nil }

func scanTOTP(r db.Row) (row totpRow, err error) {
	var confirmed *time.Time
	err = r.Scan(&row.sealed, &confirmed)
	row.confirmed = confirmed != nil
	return row, err
}

// readTOTP returns an empty row when there is none.
func readTOTP(ctx context.Context, q db.Querier, account int64) (totpRow, error) {
	row, err := scanTOTP(q.QueryRow(ctx, `SELECT sealed_seed, confirmed_at FROM account_totp WHERE account_id = $1`, account))
	if errors.Is(err, db.ErrNoRows) {
		return totpRow{}, nil
	}
	return row, err
}

// pendingTOTP stores the seed unless the account has one, and returns the stored one. It replaces a seed that was not
// confirmed within the life of a ceremony.
func pendingTOTP(ctx context.Context, tx *db.Tx, account int64, sealed []byte) (totpRow, error) {
	_, err := tx.Exec(ctx, `DELETE FROM account_totp WHERE account_id = $1 AND confirmed_at IS NULL AND created_at < $2`,
		account, tx.Now.Add(-ceremonyLife))
	if err != nil {
		return totpRow{}, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO account_totp (account_id, sealed_seed, last_step, created_at) VALUES ($1, $2, 0, $3)
		ON CONFLICT (account_id) DO NOTHING`, account, sealed, tx.Now)
	if err != nil {
		return totpRow{}, err
	}
	return readTOTP(ctx, tx, account)
}

func confirmTOTP(ctx context.Context, tx *db.Tx, account int64) error {
	_, err := tx.Exec(ctx, `UPDATE account_totp SET confirmed_at = $1 WHERE account_id = $2`, tx.Now, account)
	return err
}

// useStep marks a time step as used; it returns false when it, or a later one, was used before.
func useStep(ctx context.Context, tx *db.Tx, account, step int64) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE account_totp SET last_step = $1 WHERE account_id = $2 AND last_step < $1`, step, account)
	return n == 1, err
}

// deleteTOTP reports whether the second factor was on.
func deleteTOTP(ctx context.Context, tx *db.Tx, account int64) (was bool, err error) {
	row, err := readTOTP(ctx, tx, account)
	if err != nil {
		return false, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM account_totp WHERE account_id = $1`, account); err != nil {
		return false, err
	}
	return row.confirmed, deleteRecoveryCodes(ctx, tx, account)
}

func insertRecoveryCode(ctx context.Context, tx *db.Tx, account int64, hash []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO account_recovery_codes (account_id, code_hash) VALUES ($1, $2)`, account, hash)
	return err
}

func deleteRecoveryCodes(ctx context.Context, tx *db.Tx, account int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM account_recovery_codes WHERE account_id = $1`, account)
	return err
}

func useRecoveryCode(ctx context.Context, tx *db.Tx, account int64, hash []byte) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE account_recovery_codes SET used_at = $1
		WHERE account_id = $2 AND code_hash = $3 AND used_at IS NULL`, tx.Now, account, hash)
	return n == 1, err
}

func countRecoveryCodes(ctx context.Context, q db.Querier, account int64) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM account_recovery_codes WHERE account_id = $1 AND used_at IS NULL`, account).Scan(&n)
	return n, err
}

const selectPasskey = `SELECT id, credential_id, sealed_credential, name, created_at, last_used_at FROM account_passkeys` //nolint:gosec // no secret: names of columns

func scanPasskey(r db.Row) (p Passkey, err error) {
	err = r.Scan(&p.ID, &p.credentialID, &p.sealed, &p.Name, &p.CreatedAt, &p.LastUsedAt)
	return p, notFound(err)
}

func listPasskeys(ctx context.Context, q db.Querier, account int64) ([]Passkey, error) {
	return db.Collect(ctx, q, scanPasskey, selectPasskey+` WHERE account_id = $1 ORDER BY id`, account)
}

// accountOfHandle finds the account whose authenticators use that handle.
func accountOfHandle(ctx context.Context, q db.Querier, handle []byte) (id int64, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM account_users WHERE passkey_handle = $1 AND closed_at IS NULL`, handle).Scan(&id)
	return id, notFound(err)
}

func handleOf(ctx context.Context, q db.Querier, account int64) (handle []byte, err error) {
	err = q.QueryRow(ctx, `SELECT passkey_handle FROM account_users WHERE id = $1`, account).Scan(&handle)
	return handle, notFound(err)
}

func insertPasskey(ctx context.Context, tx *db.Tx, account int64, credentialID, sealed []byte, name string) error {
	_, err := tx.Exec(ctx, `INSERT INTO account_passkeys (account_id, credential_id, sealed_credential, name, created_at)
		VALUES ($1, $2, $3, $4, $5)`, account, credentialID, sealed, name, tx.Now)
	return err
}

func usedPasskey(ctx context.Context, tx *db.Tx, account int64, credentialID, sealed []byte) error {
	n, err := tx.Exec(ctx, `UPDATE account_passkeys SET sealed_credential = $1, last_used_at = $2
		WHERE account_id = $3 AND credential_id = $4`, sealed, tx.Now, account, credentialID)
	if err == nil && n == 0 {
		return ErrPasskey.New() // the passkey was removed while it was being used
	}
	return err
}

func deletePasskey(ctx context.Context, tx *db.Tx, account, id int64) error {
	n, err := tx.Exec(ctx, `DELETE FROM account_passkeys WHERE id = $1 AND account_id = $2`, id, account)
	if err == nil && n == 0 {
		return fault.NotFound.New()
	}
	return err
}

func deletePasskeys(ctx context.Context, tx *db.Tx, account int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM account_passkeys WHERE account_id = $1`, account)
	return err
}

// deleteFactors removes every factor beside the password: the authenticator app, its recovery codes and all passkeys.
func deleteFactors(ctx context.Context, tx *db.Tx, account int64) error {
	if _, err := deleteTOTP(ctx, tx, account); err != nil {
		return err
	}
	return deletePasskeys(ctx, tx, account)
}

func passkeyAAD(credentialID []byte) []byte {
	return []byte("account_passkeys/" + hex.EncodeToString(credentialID) + "/credential")
}

// sealCredential encrypts the stored form of a passkey, so that nobody can insert a key of their own by writing to the
// database.
func sealCredential(box *secret.Box, c *webauthn.Credential) ([]byte, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a passkey: %w", err)
	}
	return box.Seal(b, passkeyAAD(c.ID))
}

func openCredential(box *secret.Box, p Passkey) (c webauthn.Credential, err error) {
	b, err := box.Open(p.sealed, passkeyAAD(p.credentialID))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("decode a passkey: %w", err)
	}
	return c, nil
}
