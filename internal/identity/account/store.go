package account

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
)

var profileRows = db.Map(func(p *Profile) db.Fields {
	return db.Fields{
		"u.id": &p.ID, "u.email": &p.Email, "u.email_verified_at IS NOT NULL": &p.EmailVerified, "u.name": &p.Name,
		"u.locale": &p.Locale, "u.currency": &p.Currency, "u.role": &p.Role,
		"u.suspended_at": &p.SuspendedAt, "u.suspend_reason": &p.SuspendReason, "u.closed_at": &p.ClosedAt,
		"u.created_at": &p.CreatedAt, "u.sandbox_of IS NOT NULL": &p.Sandbox,
		"EXISTS (SELECT 1 FROM account_totp t WHERE t.account_id = u.id AND t.confirmed_at IS NOT NULL)": &p.TwoFactor,
	}
})

var selectProfile = `SELECT ` + profileRows.Columns() + ` FROM account_users u`

func scanProfile(r db.Row) (Profile, error) {
	p, err := profileRows.Scan(r)
	return p, notFound(err)
}

// notFound translates the absence of a row into the public refusal.
func notFound(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return fault.NotFound.Wrap(err)
	}
	return err
}

func profile(ctx context.Context, q db.Querier, id int64) (Profile, error) {
	return scanProfile(q.QueryRow(ctx, selectProfile+` WHERE u.id = $1`, id))
}

// profiles reads those of several accounts.
func profiles(ctx context.Context, q db.Querier, ids []int64) ([]Profile, error) {
	in, args := db.In(q, 1, ids)
	return db.Collect(ctx, q, scanProfile, selectProfile+` WHERE u.id `+in, args...)
}

func profileByEmail(ctx context.Context, q db.Querier, email string) (Profile, error) {
	return scanProfile(q.QueryRow(ctx, selectProfile+` WHERE u.email = $1`, email))
}

func listProfiles(ctx context.Context, q db.Querier, p page.Params) ([]Profile, int, error) {
	var total int
	if err := q.QueryRow(ctx, `SELECT count(*) FROM account_users WHERE sandbox_of IS NULL`).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := db.Collect(ctx, q, scanProfile, selectProfile+` WHERE u.sandbox_of IS NULL ORDER BY u.id LIMIT $1 OFFSET $2`, p.Limit(), p.Offset())
	return rows, total, err
}

// lockUser blocks other changes of the account until tx ends. Every change of credentials begins with it.
func lockUser(ctx context.Context, tx *db.Tx, id int64) error {
	var found int64
	return notFound(tx.QueryRow(ctx, `SELECT id FROM account_users WHERE id = $1`+tx.ForUpdate(), id).Scan(&found))
}

type newUser struct {
	email, passwordHash, name, locale, currency string
	role                                        auth.Role
	verified                                    bool
	handle                                      []byte
}

func insertUser(ctx context.Context, tx *db.Tx, u newUser) (id int64, err error) {
	var verified *time.Time
	if u.verified {
		verified = &tx.Now
	}
	err = tx.QueryRow(ctx, `INSERT INTO account_users (email, email_verified_at, password_hash, password_changed_at, name,
			locale, currency, role, passkey_handle, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $4) RETURNING id`,
		u.email, verified, u.passwordHash, tx.Now, u.name, u.locale, u.currency, u.role, u.handle).Scan(&id)
	return id, err
}

func insertImport(ctx context.Context, tx *db.Tx, from ImportedFrom, id int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO account_imports (source, source_id, account_id, imported_at) VALUES ($1, $2, $3, $4)`,
		from.Source, from.ID, id, tx.Now)
	return err
}

// imported reads the accounts of a source by their ids there.
func imported(ctx context.Context, q db.Querier, source string) (map[string]int64, error) {
	rows, err := q.Query(ctx, `SELECT source_id, account_id FROM account_imports WHERE source = $1`, source)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]int64{}
	for rows.Next() {
		var from string
		var id int64
		if err := rows.Scan(&from, &id); err != nil {
			return nil, err
		}
		all[from] = id
	}
	return all, rows.Err()
}

// passwordOf reads the hash of an open account's password, empty for any other.
func passwordOf(ctx context.Context, q db.Querier, email string) (id int64, hash string, err error) {
	err = q.QueryRow(ctx, `SELECT id, password_hash FROM account_users
		WHERE email = $1 AND closed_at IS NULL AND sandbox_of IS NULL`, email).Scan(&id, &hash)
	if errors.Is(err, db.ErrNoRows) {
		return 0, "", nil
	}
	return id, hash, err
}

func passwordOfID(ctx context.Context, q db.Querier, id int64) (hash string, err error) {
	err = q.QueryRow(ctx, `SELECT password_hash FROM account_users WHERE id = $1 AND closed_at IS NULL`, id).Scan(&hash)
	return hash, notFound(err)
}

func setPassword(ctx context.Context, tx *db.Tx, id int64, hash string) error {
	_, err := tx.Exec(ctx, `UPDATE account_users SET password_hash = $1, password_changed_at = $2 WHERE id = $3`, hash, tx.Now, id)
	return err
}

// upgradePassword replaces the hash of the same password, made with other parameters, unless the password was changed
// meanwhile.
func upgradePassword(ctx context.Context, tx *db.Tx, id int64, old, hash string) error {
	_, err := tx.Exec(ctx, `UPDATE account_users SET password_hash = $1 WHERE id = $2 AND password_hash = $3`, hash, id, old)
	return err
}

func setName(ctx context.Context, tx *db.Tx, id int64, name string) error {
	_, err := tx.Exec(ctx, `UPDATE account_users SET name = $1 WHERE id = $2`, name, id)
	return err
}

func setPreferences(ctx context.Context, tx *db.Tx, id int64, locale, currency string) error {
	_, err := tx.Exec(ctx, `UPDATE account_users SET locale = $1, currency = $2 WHERE id = $3`, locale, currency, id)
	return err
}

func setEmail(ctx context.Context, tx *db.Tx, id int64, email string) error {
	_, err := tx.Exec(ctx, `UPDATE account_users SET email = $1, email_verified_at = $2 WHERE id = $3`, email, tx.Now, id)
	return err
}

func setRole(ctx context.Context, tx *db.Tx, id int64, role auth.Role) error {
	_, err := tx.Exec(ctx, `UPDATE account_users SET role = $1 WHERE id = $2`, role, id)
	return err
}

func staff(ctx context.Context, q db.Querier) ([]Profile, error) {
	return db.Collect(ctx, q, scanProfile, selectProfile+` WHERE u.role <> '' ORDER BY u.id`)
}

func setSuspended(ctx context.Context, tx *db.Tx, id int64, at *time.Time, reason string) error {
	_, err := tx.Exec(ctx, `UPDATE account_users SET suspended_at = $1, suspend_reason = $2 WHERE id = $3`, at, reason, id)
	return err
}

// closeUser removes personal data and every way to sign in.
func closeUser(ctx context.Context, tx *db.Tx, id int64, email string) error {
	_, err := tx.Exec(ctx, `UPDATE account_users SET email = $1, email_verified_at = NULL, password_hash = '', name = '',
		role = '', closed_at = $2 WHERE id = $3`, email, tx.Now, id)
	if err != nil {
		return err
	}
	for _, q := range []string{
		`DELETE FROM account_sessions WHERE account_id = $1`,
		`DELETE FROM account_notes WHERE account_id = $1`,
		`DELETE FROM account_ceremonies WHERE account_id = $1`,
		`DELETE FROM account_totp WHERE account_id = $1`,
		`DELETE FROM account_recovery_codes WHERE account_id = $1`,
		`DELETE FROM account_passkeys WHERE account_id = $1`,
		`DELETE FROM account_tokens WHERE account_id = $1`,
		`DELETE FROM account_security_events WHERE account_id = $1`,
	} {
		if _, err := tx.Exec(ctx, q, id); err != nil {
			return err
		}
	}
	return nil
}

// deleteStale removes rows that have no use any more.
func deleteStale(ctx context.Context, tx *db.Tx) error {
	for _, stale := range []struct {
		query  string
		before time.Time
	}{
		{`DELETE FROM account_ceremonies WHERE expires_at < $1`, tx.Now},
		{`DELETE FROM account_tokens WHERE expires_at < $1`, tx.Now},
		{`DELETE FROM account_security_events WHERE last_at < $1`, tx.Now.Add(-keepEvents)},
		{`DELETE FROM account_sessions WHERE expires_at < $1`, tx.Now.Add(sessionLife - keepEnded)},
	} {
		if _, err := tx.Exec(ctx, stale.query, stale.before); err != nil {
			return err
		}
	}
	return nil
}
