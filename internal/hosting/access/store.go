package access

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// ftp describes the FTP accounts of services.
func (s *Service) ftp() site.Collection[ftpAccount, panel.FTP, panel.FTPAccount] {
	return site.Collection[ftpAccount, panel.FTP, panel.FTPAccount]{
		Base:       s.Base,
		Capability: panel.CapFTP, Limit: "ftp_accounts",
		Job: func(t site.Target) river.JobArgs { return applyArgs{t} },
		Table: site.Table[ftpAccount]{
			Name: "access_ftp_accounts", Scan: scanFTP, Columns: "username, home, quota_mb, readonly, host, port, used_mb, last_login_at, created_at",
			Unique: "service_id, username", Others: []string{"access_shells", "access_ssh_keys", "access_tickets"},
		},
		On:       s.kindFTP,
		Observed: observedFTP,
		Forget: func(ctx context.Context, tx *db.Tx, f ftpAccount) error {
			return s.Credentials.Delete(ctx, tx, CredentialKind, f.ID)
		},
	}
}

func scanFTP(row db.Row) (f ftpAccount, err error) {
	err = row.Scan(f.Fields(&f.username, &f.home, &f.quotaMB, &f.readOnly, &f.host, &f.port, &f.usedMB, &f.lastLoginAt, &f.createdAt)...)
	return f, err
}

func (f ftpAccount) values() site.Values {
	return site.Values{"username": f.username, "home": f.home, "quota_mb": f.quotaMB, "readonly": f.readOnly}
}

// setReported keeps what the panel reports of an FTP account that it has as it should.
func setReported(ctx context.Context, tx *db.Tx, f ftpAccount, now panel.FTPAccount) error {
	_, err := tx.Exec(ctx, `UPDATE access_ftp_accounts SET host = $1, port = $2, used_mb = $3, last_login_at = $4
		WHERE id = $5 AND revision = $6`, now.Host, now.Port, now.UsedMB, now.LastLoginAt, f.ID, f.Revision)
	return err
}

func found[T any](v T, err error) (T, error) {
	if errors.Is(err, db.ErrNoRows) {
		return v, fault.NotFound.New()
	}
	return v, err
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
