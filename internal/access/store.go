package access

import (
	"context"
	"errors"
	"time"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/site"
)

const ftpColumns = `id, account_id, service_id, username, home, quota_mb, readonly, status, failure_key, revision, host, port, used_mb,
	last_login_at, created_at`

func scanFTP(row db.Row) (f ftpAccount, err error) {
	err = row.Scan(&f.id, &f.accountID, &f.serviceID, &f.username, &f.home, &f.quotaMB, &f.readOnly, &f.status, &f.failureKey,
		&f.revision, &f.host, &f.port, &f.usedMB, &f.lastLoginAt, &f.createdAt)
	return f, err
}

func found[T any](v T, err error) (T, error) {
	if errors.Is(err, db.ErrNoRows) {
		return v, fault.NotFound.New()
	}
	return v, err
}

// listFTP reads one page of the FTP accounts of an account's service.
func listFTP(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []ftpAccount, total int, err error) {
	const where = ` FROM access_ftp_accounts WHERE service_id = $1 AND account_id = $2`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scanFTP, `SELECT `+ftpColumns+where+` ORDER BY id LIMIT $3 OFFSET $4`,
		serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

func ftpOf(ctx context.Context, q db.Querier, serviceID int64) ([]ftpAccount, error) {
	return db.Collect(ctx, q, scanFTP, `SELECT `+ftpColumns+` FROM access_ftp_accounts WHERE service_id = $1 ORDER BY id`, serviceID)
}

func getFTP(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (ftpAccount, error) {
	return found(scanFTP(q.QueryRow(ctx, `SELECT `+ftpColumns+` FROM access_ftp_accounts
		WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID)))
}

// countFTP is how many FTP accounts a service has; one that is on its way out counts no more.
func countFTP(ctx context.Context, q db.Querier, serviceID int64) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM access_ftp_accounts WHERE service_id = $1 AND status <> 'removing'`, serviceID).Scan(&n)
	return n, err
}

// insertFTP answers fault.AlreadyExists when the service has the user name, also while it is on its way out.
func insertFTP(ctx context.Context, tx *db.Tx, f ftpAccount) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO access_ftp_accounts (account_id, service_id, username, home, quota_mb, readonly, status, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (service_id, username) DO NOTHING RETURNING id`,
		f.accountID, f.serviceID, f.username, f.home, f.quotaMB, f.readOnly, f.status, tx.Now).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, fault.AlreadyExists.New()
	}
	return id, err
}

// setFTP moves a row on: what should be is another now.
func setFTP(ctx context.Context, tx *db.Tx, id int64, status site.Status) error {
	_, err := tx.Exec(ctx, `UPDATE access_ftp_accounts SET status = $1, failure_key = NULL, revision = revision + 1 WHERE id = $2`, status, id)
	return err
}

// noteFTP writes that the panel has a row as it is wished, unless it was changed meanwhile.
func noteFTP(ctx context.Context, tx *db.Tx, f ftpAccount, now panel.FTPAccount) error {
	_, err := tx.Exec(ctx, `UPDATE access_ftp_accounts SET status = $1, failure_key = NULL, host = $2, port = $3, used_mb = $4, last_login_at = $5
		WHERE id = $6 AND revision = $7`, site.Active, now.Host, now.Port, now.UsedMB, now.LastLoginAt, f.id, f.revision)
	return err
}

func failFTP(ctx context.Context, tx *db.Tx, f ftpAccount, key string) error {
	_, err := tx.Exec(ctx, `UPDATE access_ftp_accounts SET status = $1, failure_key = $2 WHERE id = $3 AND revision = $4`,
		site.Failed, key, f.id, f.revision)
	return err
}

// removeFTP ends the row of an FTP account that the panel no longer has.
func removeFTP(ctx context.Context, tx *db.Tx, f ftpAccount) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM access_ftp_accounts WHERE id = $1 AND revision = $2 AND status = 'removing'`, f.id, f.revision)
	return n == 1, err
}

const shellColumns = `account_id, service_id, enabled, status, failure_key, revision, host, port, username, fingerprint`

func scanShell(row db.Row) (s shell, err error) {
	err = row.Scan(&s.accountID, &s.serviceID, &s.enabled, &s.status, &s.failureKey, &s.revision, &s.host, &s.port, &s.username, &s.fingerprint)
	return s, err
}

// shellOf reads the row of a service; fault.NotFound while it has none.
func shellOf(ctx context.Context, q db.Querier, serviceID int64) (shell, error) {
	return found(scanShell(q.QueryRow(ctx, `SELECT `+shellColumns+` FROM access_shells WHERE service_id = $1`, serviceID)))
}

// touchShell makes the panel's work of a service's shell and keys due; enabled nil leaves the switch.
func touchShell(ctx context.Context, tx *db.Tx, accountID, serviceID int64, enabled *bool) error {
	_, err := tx.Exec(ctx, `INSERT INTO access_shells (service_id, account_id, enabled, status) VALUES ($1, $2, $3, $4)
		ON CONFLICT (service_id) DO NOTHING`, serviceID, accountID, false, site.Pending)
	if err != nil {
		return err
	}
	if enabled == nil {
		_, err = tx.Exec(ctx, `UPDATE access_shells SET status = $1, failure_key = NULL, revision = revision + 1 WHERE service_id = $2`,
			site.Pending, serviceID)
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE access_shells SET enabled = $1, status = $2, failure_key = NULL, revision = revision + 1 WHERE service_id = $3`,
		*enabled, site.Pending, serviceID)
	return err
}

func noteShell(ctx context.Context, tx *db.Tx, s shell, now panel.ShellAccess) error {
	_, err := tx.Exec(ctx, `UPDATE access_shells SET status = $1, failure_key = NULL, host = $2, port = $3, username = $4, fingerprint = $5
		WHERE service_id = $6 AND revision = $7`, site.Active, now.Host, now.Port, now.Username, now.Fingerprint, s.serviceID, s.revision)
	return err
}

func failShell(ctx context.Context, tx *db.Tx, s shell, key string) error {
	_, err := tx.Exec(ctx, `UPDATE access_shells SET status = $1, failure_key = $2 WHERE service_id = $3 AND revision = $4`,
		site.Failed, key, s.serviceID, s.revision)
	return err
}

const keyColumns = `id, account_id, service_id, name, type, public_key, fingerprint, last_used_at, created_at`

func scanKey(row db.Row) (k sshKey, err error) {
	err = row.Scan(&k.id, &k.accountID, &k.serviceID, &k.name, &k.kind, &k.publicKey, &k.fingerprint, &k.lastUsedAt, &k.createdAt)
	return k, err
}

func listKeys(ctx context.Context, q db.Querier, accountID, serviceID int64, p page.Params) (rows []sshKey, total int, err error) {
	const where = ` FROM access_ssh_keys WHERE service_id = $1 AND account_id = $2`
	if err := q.QueryRow(ctx, `SELECT count(*)`+where, serviceID, accountID).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err = db.Collect(ctx, q, scanKey, `SELECT `+keyColumns+where+` ORDER BY id LIMIT $3 OFFSET $4`,
		serviceID, accountID, p.Limit(), p.Offset())
	return rows, total, err
}

func keysOf(ctx context.Context, q db.Querier, serviceID int64) ([]sshKey, error) {
	return db.Collect(ctx, q, scanKey, `SELECT `+keyColumns+` FROM access_ssh_keys WHERE service_id = $1 ORDER BY id`, serviceID)
}

func getKey(ctx context.Context, q db.Querier, accountID, serviceID, id int64) (sshKey, error) {
	return found(scanKey(q.QueryRow(ctx, `SELECT `+keyColumns+` FROM access_ssh_keys
		WHERE id = $1 AND service_id = $2 AND account_id = $3`, id, serviceID, accountID)))
}

// insertKey answers fault.AlreadyExists when the service has the key.
func insertKey(ctx context.Context, tx *db.Tx, k sshKey) (id int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO access_ssh_keys (account_id, service_id, name, type, public_key, fingerprint, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (service_id, fingerprint) DO NOTHING RETURNING id`,
		k.accountID, k.serviceID, k.name, k.kind, k.publicKey, k.fingerprint, tx.Now).Scan(&id)
	if errors.Is(err, db.ErrNoRows) {
		return 0, fault.AlreadyExists.New()
	}
	return id, err
}

func removeKey(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM access_ssh_keys WHERE id = $1`, id)
	return err
}

func keyUsed(ctx context.Context, tx *db.Tx, id int64, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE access_ssh_keys SET last_used_at = $1 WHERE id = $2`, at, id)
	return err
}

// forget removes all rows of a service that has ended.
func forget(ctx context.Context, tx *db.Tx, serviceID int64) error {
	for _, table := range []string{"access_ftp_accounts", "access_shells", "access_ssh_keys", "access_tickets"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE service_id = $1`, serviceID); err != nil {
			return err
		}
	}
	return nil
}

func insertTicket(ctx context.Context, tx *db.Tx, hash []byte, t ticket, expires time.Time) error {
	if _, err := tx.Exec(ctx, `DELETE FROM access_tickets WHERE expires_at <= $1`, tx.Now); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO access_tickets (hash, account_id, service_id, holder, expires_at) VALUES ($1, $2, $3, $4, $5)`,
		hash, t.accountID, t.serviceID, t.holder, expires)
	return err
}

// takeTicket uses a ticket up and answers what it was for.
func takeTicket(ctx context.Context, tx *db.Tx, hash []byte) (t ticket, expires time.Time, err error) {
	err = tx.QueryRow(ctx, `DELETE FROM access_tickets WHERE hash = $1 RETURNING account_id, service_id, holder, expires_at`, hash).
		Scan(&t.accountID, &t.serviceID, &t.holder, &expires)
	return t, expires, err
}
