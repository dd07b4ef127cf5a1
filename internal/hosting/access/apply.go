package access

import (
	"context"
	"errors"
	"slices"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Apply implements site.Part.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	return site.Apply(ctx, s.DB, s.Services, accountID, serviceID, s.ftp().End, s.follow)
}

func (s *Service) follow(ctx context.Context, on site.Site) error {
	return errors.Join(s.ftp().Follow(ctx, on), s.followShell(ctx, on))
}

// kindFTP is how the FTP accounts of a service follow.
func (s *Service) kindFTP(_ context.Context, on site.Site, ftp panel.FTP) (site.Kind[ftpAccount, panel.FTPAccount], error) {
	return site.Kind[ftpAccount, panel.FTPAccount]{
		Wish: func(ctx context.Context, f ftpAccount) (p panel.FTPAccount, err error) {
			f.version, err = s.Credentials.Version(ctx, s.DB, CredentialKind, f.ID)
			return f.wanted(), err
		},
		Same: sameFTP,
		List: ftp.FTPAccounts, Remove: ftp.RemoveFTPAccount,
		Name: func(p panel.FTPAccount) string { return p.Username },
		Set: func(ctx context.Context, _ string, p panel.FTPAccount) (panel.FTPAccount, error) {
			return s.setWithPassword(ctx, on, ftp, p)
		},
	}, nil
}

// setWithPassword sets an FTP account on the panel with its password, which is decrypted only here.
func (s *Service) setWithPassword(ctx context.Context, on site.Site, ftp panel.FTP, p panel.FTPAccount) (panel.FTPAccount, error) {
	rows, err := s.ftp().OfService(ctx, s.DB, on.ServiceID)
	if err != nil {
		return p, err
	}
	i := slices.IndexFunc(rows, func(f ftpAccount) bool { return f.username == p.Username })
	if i < 0 {
		return p, fault.NotFound.New() // it went meanwhile; the next look tells
	}
	if p.Password, p.PasswordVersion, err = s.Credentials.Secret(ctx, s.DB, CredentialKind, rows[i].ID); err != nil {
		return p, err
	}
	return ftp.SetFTPAccount(ctx, on.Ref, p)
}

func observedFTP(ctx context.Context, tx *db.Tx, f ftpAccount, now panel.FTPAccount) error {
	if f.host == now.Host && f.port == now.Port && f.usedMB == now.UsedMB && sameTime(f.lastLoginAt, now.LastLoginAt) {
		return nil
	}
	return setReported(ctx, tx, f, now)
}

// sameTime compares times as the database keeps them.
func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}

// followShell has the panel follow the shell and the keys of a service, where it has shells.
func (s *Service) followShell(ctx context.Context, on site.Site) error {
	if _, err := site.On[panel.Shell](s.Panels, on, panel.CapShell); errors.Is(err, panel.ErrUnsupported) {
		return nil
	}
	_, err := s.shellOf(ctx, s.DB, on.ServiceID)
	if errors.Is(err, fault.NotFound) {
		// With a row, where SFTP is to be had is known before anybody asks.
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			return s.changeShell(ctx, tx, on.AccountID, on.ServiceID, nil)
		})
	}
	if err != nil {
		return err
	}
	return s.shells().Follow(ctx, on)
}

// shellState is the shell of a service with its keys, as the panel is to have it, or has it.
type shellState struct {
	panel.ShellAccess
	keys []panel.SSHKey
}

// kindShell is how the shell and the keys of a service follow.
func (s *Service) kindShell(_ context.Context, on site.Site, p panel.Shell) (site.Kind[shell, shellState], error) {
	var have shellState
	sameKeys := func(a, b []panel.SSHKey) bool {
		return slices.EqualFunc(a, b, func(a, b panel.SSHKey) bool { return a.Name == b.Name && a.PublicKey == b.PublicKey })
	}
	return site.Kind[shell, shellState]{
		Wish: func(ctx context.Context, row shell) (shellState, error) {
			all, err := keys.OfService(ctx, s.DB, on.ServiceID)
			// A plan that the service moved to may have no shell.
			return shellState{panel.ShellAccess{Enabled: row.enabled && on.Limits.Of(shellLimit) != 0}, wantedKeys(all)}, err
		},
		Same: func(have, wish shellState) bool {
			return have.Enabled == wish.Enabled && sameKeys(have.keys, wish.keys)
		},
		List: func(ctx context.Context, ref string) (all []shellState, err error) {
			if have.ShellAccess, err = p.ShellAccess(ctx, ref); err == nil {
				have.keys, err = p.SSHKeys(ctx, ref)
			}
			return []shellState{have}, err
		},
		Name: func(shellState) string { return onlyShell },
		Set: func(ctx context.Context, ref string, wish shellState) (now shellState, err error) {
			now = have
			if have.Enabled != wish.Enabled { // what closes is done first
				if now.ShellAccess, err = p.SetShellAccess(ctx, ref, wish.Enabled); err != nil {
					return now, err
				}
			}
			if !sameKeys(have.keys, wish.keys) {
				err = p.SetSSHKeys(ctx, ref, wish.keys)
			}
			return now, err
		},
		// Without a row it stays as it is.
		Remove: func(context.Context, string, string) error { return nil },
	}, nil
}

// observedShell writes where the panel says that the shell is, and when its keys were last used.
func (s *Service) observedShell(ctx context.Context, tx *db.Tx, row shell, now shellState) error {
	if row.host != now.Host || row.port != now.Port || row.username != now.Username || row.fingerprint != now.Fingerprint {
		if err := setReportedShell(ctx, tx, row, now.ShellAccess); err != nil {
			return err
		}
	}
	all, err := keys.OfService(ctx, tx, row.ServiceID)
	if err != nil {
		return err
	}
	for _, k := range all {
		i := slices.IndexFunc(now.keys, func(u panel.SSHKey) bool { return u.PublicKey == k.publicKey })
		if i < 0 || now.keys[i].LastUsedAt == nil || sameTime(k.lastUsedAt, now.keys[i].LastUsedAt) {
			continue
		}
		if err := keys.Set(ctx, tx, k.ID, site.Values{"last_used_at": *now.keys[i].LastUsedAt}); err != nil {
			return err
		}
	}
	return nil
}
