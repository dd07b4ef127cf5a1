package access

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/port/panel"
)

var ftpRows = db.Map(func(f *ftpAccount) db.Fields {
	return f.Fields(db.Fields{
		"username": &f.username, "home": &f.home, "quota_mb": &f.quotaMB, "readonly": &f.readOnly, "host": &f.host, "port": &f.port,
		"used_mb": &f.usedMB, "last_login_at": &f.lastLoginAt, "created_at": &f.createdAt,
	})
})

// ftp describes the FTP accounts of services.
func (s *Service) ftp() site.Collection[ftpAccount, panel.FTP, panel.FTPAccount] {
	return site.Collection[ftpAccount, panel.FTP, panel.FTPAccount]{
		Base:       s.Base,
		Capability: panel.CapFTP, Limit: "ftp_accounts", Event: "ftp_account",
		Job: func(t site.Target) river.JobArgs { return applyArgs{t} },
		Table: site.Table[ftpAccount]{
			Name: "access_ftp_accounts", Rows: ftpRows,
			Unique: "service_id, username", Others: []string{"access_shells", "access_ssh_keys", "access_tickets"},
		},
		On:       s.kindFTP,
		Observed: observedFTP,
		Forget: func(ctx context.Context, tx *db.Tx, f ftpAccount) error {
			return s.Credentials.Delete(ctx, tx, CredentialKind, f.ID)
		},
	}
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

var shellRows = db.Map(func(s *shell) db.Fields {
	return s.OnlyFields(db.Fields{
		"enabled": &s.enabled, "host": &s.host, "port": &s.port, "username": &s.username, "fingerprint": &s.fingerprint,
	})
})

// shells describes the shells of services, each with the keys that open it: one row of a service.
func (s *Service) shells() site.Collection[shell, panel.Shell, shellState] {
	return site.Collection[shell, panel.Shell, shellState]{
		Base:       s.Base,
		Capability: panel.CapShell, Event: "shell",
		Job:      func(t site.Target) river.JobArgs { return applyArgs{t} },
		Table:    site.Table[shell]{Name: "access_shells", Key: "service_id", Rows: shellRows},
		On:       s.kindShell,
		Observed: s.observedShell,
	}
}

// shellOf reads the row of a service; fault.NotFound while it has none.
func (s *Service) shellOf(ctx context.Context, q db.Querier, serviceID int64) (shell, error) {
	return s.shells().Find(ctx, q, serviceID)
}

// changeShell has the panel follow the shell and the keys of a service, and makes their row when there is none. enabled nil
// leaves the switch as it is.
func (s *Service) changeShell(ctx context.Context, tx *db.Tx, accountID, serviceID int64, enabled *bool) error {
	_, err := tx.Exec(ctx, `INSERT INTO access_shells (service_id, account_id, enabled, status) VALUES ($1, $2, $3, $4)
		ON CONFLICT (service_id) DO NOTHING`, serviceID, accountID, false, site.Pending)
	if err != nil {
		return err
	}
	values := site.Values{}
	if enabled != nil {
		values["enabled"] = *enabled
	}
	return s.shells().Update(ctx, tx, serviceID, values)
}

// setReportedShell keeps where the panel says that the shell of a service is, unless the row has changed.
func setReportedShell(ctx context.Context, tx *db.Tx, s shell, now panel.ShellAccess) error {
	_, err := tx.Exec(ctx, `UPDATE access_shells SET host = $1, port = $2, username = $3, fingerprint = $4 WHERE service_id = $5 AND revision = $6`,
		now.Host, now.Port, now.Username, now.Fingerprint, s.ServiceID, s.Revision)
	return err
}

// keys has the keys that open the shells of services.
var keys = site.Table[sshKey]{
	Name: "access_ssh_keys", Plain: true, Unique: "service_id, fingerprint",
	Rows: db.Map(func(k *sshKey) db.Fields {
		return k.Fields(db.Fields{
			"name": &k.name, "type": &k.kind, "public_key": &k.publicKey, "fingerprint": &k.fingerprint, "last_used_at": &k.lastUsedAt,
			"created_at": &k.createdAt,
		})
	}),
}

func (k sshKey) values() site.Values {
	return site.Values{"name": k.name, "type": k.kind, "public_key": k.publicKey, "fingerprint": k.fingerprint}
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
