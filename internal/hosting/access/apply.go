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
	return errors.Join(s.ftp().Follow(ctx, on), s.applyShell(ctx, on))
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
			return s.tell(ctx, on, ftp, p)
		},
	}, nil
}

// tell sets an FTP account on the panel with its password, which is opened for this and nothing else.
func (s *Service) tell(ctx context.Context, on site.Site, ftp panel.FTP, p panel.FTPAccount) (panel.FTPAccount, error) {
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

// applyShell makes the panel's shell and keys of a service as the rows are. It looks again after it has
// acted: of two runs at once, the one that acts last leaves the panel as the rows are.
func (s *Service) applyShell(ctx context.Context, on site.Site) error {
	shells, err := site.On[panel.Shell](s.Panels, on, panel.CapShell)
	if errors.Is(err, panel.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	for {
		row, keys, err := s.wantedShell(ctx, on)
		if err != nil {
			return err
		}
		// A plan that the service moved to may have none.
		row.enabled = row.enabled && on.Limits.Of(shellLimit) != 0
		now, used, err := followShell(ctx, shells, on, row, keys)
		if err != nil && !site.ForGood(err) {
			return err
		}
		settled, err := s.noteShell(ctx, row, keys, now, used, err)
		if err != nil || settled {
			return err
		}
	}
}

// wantedShell reads the rows of a service, and makes the first when there is none: where SFTP is to be had is
// known then, before anybody asks.
func (s *Service) wantedShell(ctx context.Context, on site.Site) (row shell, keys []sshKey, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		row, err = shellOf(ctx, tx, on.ServiceID)
		if errors.Is(err, fault.NotFound) {
			if err = touchShell(ctx, tx, on.AccountID, on.ServiceID, nil); err == nil {
				row, err = shellOf(ctx, tx, on.ServiceID)
			}
		}
		if err == nil {
			keys, err = keysOf(ctx, tx, on.ServiceID)
		}
		return err
	})
	return row, keys, err
}

// followShell does what distinguishes the panel from the rows, and answers what the panel then is: what
// closes is done first.
func followShell(ctx context.Context, p panel.Shell, on site.Site, row shell, keys []sshKey) (now panel.ShellAccess, used []panel.SSHKey, err error) {
	if now, err = p.ShellAccess(ctx, on.Ref); err != nil {
		return now, nil, err
	}
	if now.Enabled != row.enabled {
		if now, err = p.SetShellAccess(ctx, on.Ref, row.enabled); err != nil {
			return now, nil, err
		}
	}
	if used, err = p.SSHKeys(ctx, on.Ref); err != nil {
		return now, nil, err
	}
	same := func(a, b panel.SSHKey) bool { return a.Name == b.Name && a.PublicKey == b.PublicKey }
	if want := wantedKeys(keys); !slices.EqualFunc(used, want, same) {
		err = p.SetSSHKeys(ctx, on.Ref, want)
	}
	return now, used, err
}

// noteShell writes how far the panel came; settled is false when the rows are others by now.
func (s *Service) noteShell(ctx context.Context, was shell, keys []sshKey, now panel.ShellAccess, used []panel.SSHKey, failed error) (settled bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		row, err := shellOf(ctx, tx, was.serviceID)
		if errors.Is(err, fault.NotFound) { // the service has ended
			settled = true
			return nil
		}
		if err != nil {
			return err
		}
		if settled = row.revision == was.revision; !settled {
			return nil
		}
		told := row.host == now.Host && row.port == now.Port && row.username == now.Username && row.fingerprint == now.Fingerprint
		switch {
		case failed != nil:
			if err := failShell(ctx, tx, row, site.FailureKey(failed)); err != nil {
				return err
			}
		case row.status != site.Active || !told:
			if err := noteShell(ctx, tx, row, now); err != nil {
				return err
			}
		}
		return noteUses(ctx, tx, keys, used)
	})
	return settled, err
}

func noteUses(ctx context.Context, tx *db.Tx, keys []sshKey, used []panel.SSHKey) error {
	for _, k := range keys {
		i := slices.IndexFunc(used, func(u panel.SSHKey) bool { return u.PublicKey == k.publicKey })
		if i < 0 || used[i].LastUsedAt == nil || sameTime(k.lastUsedAt, used[i].LastUsedAt) {
			continue
		}
		if err := keyUsed(ctx, tx, k.id, *used[i].LastUsedAt); err != nil {
			return err
		}
	}
	return nil
}
