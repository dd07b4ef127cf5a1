package account

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/platform/secret"
)

var sessionRows = db.Map(func(s *Session) db.Fields {
	return db.Fields{
		"s.id": &s.ID, "s.account_id": &s.Account.ID, "s.method": &s.Method, "COALESCE(s.acting_id, 0)": &s.ActingID, "s.second_factor": &s.SecondFactor,
		"s.address": &s.Address, "s.user_agent": &s.UserAgent, "s.created_at": &s.CreatedAt,
		"s.authenticated_at": &s.AuthenticatedAt, "s.last_seen_at": &s.LastSeenAt, "s.expires_at": &s.ExpiresAt,
	}
})

// alive is the condition of a valid session: $1 is now, $2 the time before which an unused session has ended.
const alive = `s.ended_at IS NULL AND s.expires_at > $1 AND s.last_seen_at > $2`

func scanSession(r db.Row) (Session, error) {
	s, err := sessionRows.Scan(r)
	return s, notFound(err)
}

// sessionByToken finds a session that a browser has entered: the ticket of one that waits for its member of staff is no token.
func sessionByToken(ctx context.Context, q db.Querier, hash []byte, now time.Time) (Session, error) {
	return scanSession(q.QueryRow(ctx, `SELECT `+sessionRows.Columns()+` FROM account_sessions s
		WHERE `+alive+` AND s.token_hash = $3 AND s.device_hash <> s.token_hash`, now, now.Add(-sessionIdle), hash))
}

func sessionByID(ctx context.Context, q db.Querier, account, id int64, now time.Time) (Session, error) {
	return scanSession(q.QueryRow(ctx, `SELECT `+sessionRows.Columns()+` FROM account_sessions s
		WHERE `+alive+` AND s.account_id = $3 AND s.id = $4`, now, now.Add(-sessionIdle), account, id))
}

func listSessions(ctx context.Context, q db.Querier, account int64, now time.Time, p page.Params) ([]Session, int, error) {
	var total int
	err := q.QueryRow(ctx, `SELECT count(*) FROM account_sessions s WHERE `+alive+` AND s.account_id = $3`,
		now, now.Add(-sessionIdle), account).Scan(&total)
	if err != nil {
		return nil, 0, err
	}
	rows, err := db.Collect(ctx, q, scanSession, `SELECT `+sessionRows.Columns()+` FROM account_sessions s
		WHERE `+alive+` AND s.account_id = $3 ORDER BY s.last_seen_at DESC, s.id DESC LIMIT $4 OFFSET $5`,
		now, now.Add(-sessionIdle), account, p.Limit(), p.Offset())
	return rows, total, err
}

func insertSession(ctx context.Context, tx *db.Tx, account int64, hash, device []byte, method string, secondFactor bool, c Client) (int64, error) {
	var id int64
	err := tx.QueryRow(ctx, `INSERT INTO account_sessions (account_id, token_hash, method, second_factor, address, user_agent,
			created_at, authenticated_at, last_seen_at, expires_at, device_hash)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $7, $8, $9) RETURNING id`,
		account, hash, method, secondFactor, c.address(), c.userAgent(), tx.Now, tx.Now.Add(sessionLife), device).Scan(&id)
	return id, err
}

// knownDevice reports whether the account has signed in with this browser from this address before. A first sign-in
// counts as known.
func knownDevice(ctx context.Context, q db.Querier, account int64, c Client) (known bool, err error) {
	err = q.QueryRow(ctx, `SELECT NOT EXISTS (SELECT 1 FROM account_sessions WHERE account_id = $1 AND acting_id IS NULL)
		OR EXISTS (SELECT 1 FROM account_sessions WHERE account_id = $1 AND acting_id IS NULL AND user_agent = $2 AND address = $3)`,
		account, c.userAgent(), c.address()).Scan(&known)
	return known, err
}

// deviceOf reports whether the client's browser has signed in to the account of an email address.
func deviceOf(ctx context.Context, q db.Querier, email string, c Client) (known bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM account_sessions s JOIN account_users u ON u.id = s.account_id
		WHERE u.email = $1 AND s.device_hash = $2 AND s.acting_id IS NULL)`, email, secret.Hash(c.Device)).Scan(&known)
	return known, err
}

// provedDevice reports whether the client's browser has proved both factors of an account, or somebody has from its address.
func provedDevice(ctx context.Context, q db.Querier, account int64, c Client) (proved bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM account_sessions WHERE account_id = $1 AND (address = $2 OR device_hash = $3) AND second_factor)`,
		account, c.address(), secret.Hash(c.Device)).Scan(&proved)
	return proved, err
}

func touchSession(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE account_sessions SET last_seen_at = $1 WHERE id = $2 AND last_seen_at < $1`, tx.Now, id)
	return err
}

// reauthenticateSession changes the token together with the rights it gains.
func reauthenticateSession(ctx context.Context, tx *db.Tx, account, id int64, hash []byte) error {
	n, err := tx.Exec(ctx, `UPDATE account_sessions SET authenticated_at = $1, token_hash = $2
		WHERE id = $3 AND account_id = $4 AND ended_at IS NULL`, tx.Now, hash, id, account)
	if err == nil && n == 0 {
		return fault.Unauthenticated.New()
	}
	return err
}

func markSecondFactor(ctx context.Context, tx *db.Tx, account, id int64) error {
	_, err := tx.Exec(ctx, `UPDATE account_sessions SET second_factor = $1 WHERE id = $2 AND account_id = $3`, true, id, account)
	return err
}

// endSession ends one session of the account, and its pending ceremonies.
func endSession(ctx context.Context, tx *db.Tx, account, id int64) error {
	n, err := tx.Exec(ctx, `UPDATE account_sessions SET ended_at = $1 WHERE id = $2 AND account_id = $3 AND ended_at IS NULL`,
		tx.Now, id, account)
	if err == nil && n == 0 {
		return fault.NotFound.New()
	}
	if err != nil {
		return err
	}
	return voidNewAddress(ctx, tx, account)
}

// endSessionByToken returns 0 when there is none.
func endSessionByToken(ctx context.Context, tx *db.Tx, hash []byte) (account, id int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE account_sessions SET ended_at = $1 WHERE token_hash = $2 AND ended_at IS NULL
		RETURNING account_id, id`, tx.Now, hash).Scan(&account, &id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, 0, nil
	}
	return account, id, err
}

// endSessions ends all sessions of the account except one; 0 ends all. It also ends the sessions in which it acts as others, pending
// sign-ins, and the pending ceremonies of the ended sessions.
func endSessions(ctx context.Context, tx *db.Tx, account, except int64) error {
	if _, err := tx.Exec(ctx, `DELETE FROM account_ceremonies WHERE account_id = $1`, account); err != nil {
		return err
	}
	if err := voidNewAddress(ctx, tx, account); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE account_sessions SET ended_at = $1 WHERE account_id = $2 AND id <> $3 AND ended_at IS NULL`,
		tx.Now, account, except)
	if err != nil {
		return err
	}
	return endActing(ctx, tx, account)
}

// The kinds of ceremonies.
const (
	kindSecondFactor        = "second_factor"
	kindPasskeyRegistration = "passkey_registration"
	kindPasskeyLogin        = "passkey_login"
	kindPasskeySecondFactor = "passkey_second_factor"
	kindPasskeyProof        = "passkey_proof"
)

type ceremony struct {
	id        int64
	account   int64 // 0 while the account is unknown
	kind      string
	challenge string
	attempts  int
}

func insertCeremony(ctx context.Context, tx *db.Tx, account int64, kind string, hash []byte, challenge string) error {
	var owner *int64
	if account != 0 {
		owner = &account
	}
	_, err := tx.Exec(ctx, `INSERT INTO account_ceremonies (account_id, kind, token_hash, challenge, attempts, created_at, expires_at)
		VALUES ($1, $2, $3, $4, 0, $5, $6)`, owner, kind, hash, challenge, tx.Now, tx.Now.Add(ceremonyLife))
	return err
}

func ceremonyByToken(ctx context.Context, q db.Querier, kind string, hash []byte, now time.Time) (ceremony, error) {
	return scanCeremony(q.QueryRow(ctx, `SELECT id, COALESCE(account_id, 0), kind, challenge, attempts FROM account_ceremonies
		WHERE token_hash = $1 AND kind = $2 AND expires_at > $3`, hash, kind, now))
}

// takeCeremony removes the ceremony and returns it: it is answered once.
func takeCeremony(ctx context.Context, tx *db.Tx, kind string, hash []byte) (ceremony, error) {
	return scanCeremony(tx.QueryRow(ctx, `DELETE FROM account_ceremonies WHERE token_hash = $1 AND kind = $2 AND expires_at > $3
		RETURNING id, COALESCE(account_id, 0), kind, challenge, attempts`, hash, kind, tx.Now))
}

// tryCeremony counts an attempt; too many end the ceremony.
func tryCeremony(ctx context.Context, tx *db.Tx, kind string, hash []byte) (ceremony, error) {
	return scanCeremony(tx.QueryRow(ctx, `UPDATE account_ceremonies SET attempts = attempts + 1
		WHERE token_hash = $1 AND kind = $2 AND expires_at > $3 AND attempts < $4
		RETURNING id, COALESCE(account_id, 0), kind, challenge, attempts`, hash, kind, tx.Now, ceremonyAttempts))
}

func scanCeremony(r db.Row) (c ceremony, err error) {
	err = r.Scan(&c.id, &c.account, &c.kind, &c.challenge, &c.attempts)
	if errors.Is(err, db.ErrNoRows) {
		return c, ErrCeremony.New()
	}
	return c, err
}

func deleteCeremony(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM account_ceremonies WHERE id = $1`, id)
	return err
}
