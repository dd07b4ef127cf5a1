package access

import (
	"context"
	"errors"
	"slices"
	"time"

	"stead.dev/stead/internal/panel"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/site"
)

// Apply implements site.Part.
func (s *Service) Apply(ctx context.Context, accountID, serviceID int64) error {
	return site.Apply(ctx, s.DB, s.Services, accountID, serviceID, s.forget, s.follow)
}

func (s *Service) follow(ctx context.Context, on site.Site) error {
	return errors.Join(s.applyFTP(ctx, on), s.applyShell(ctx, on))
}

func (s *Service) forget(ctx context.Context, tx *db.Tx, serviceID int64) error {
	all, err := ftpOf(ctx, tx, serviceID)
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := s.Credentials.Delete(ctx, tx, CredentialKind, f.id); err != nil {
			return err
		}
	}
	return forget(ctx, tx, serviceID)
}

// applyFTP makes the panel's FTP accounts as the rows are.
func (s *Service) applyFTP(ctx context.Context, on site.Site) error {
	ftp, err := site.On[panel.FTP](s.Panels, on, panel.CapFTP)
	if errors.Is(err, panel.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	return site.Follow(ctx, s.DB, site.Kind[ftpAccount, panel.FTPAccount]{
		Rows: func(ctx context.Context, q db.Querier) ([]ftpAccount, error) { return ftpOf(ctx, q, on.ServiceID) },
		Head: func(f ftpAccount) site.Head {
			return site.Head{ID: f.id, Revision: f.revision, Name: f.username, Status: f.status}
		},
		Wish: func(ctx context.Context, f ftpAccount) (panel.FTPAccount, error) {
			var err error
			f.version, err = s.Credentials.Version(ctx, s.DB, CredentialKind, f.id)
			return f.wanted(), err
		},
		Same: sameFTP,
		List: func(ctx context.Context) ([]panel.FTPAccount, error) { return ftp.FTPAccounts(ctx, on.Ref) },
		Name: func(p panel.FTPAccount) string { return p.Username },
		Set: func(ctx context.Context, p panel.FTPAccount) (panel.FTPAccount, error) {
			return s.tell(ctx, on, ftp, p)
		},
		Remove: func(ctx context.Context, name string) error { return ftp.RemoveFTPAccount(ctx, on.Ref, name) },
		Note:   s.noteFTP,
	})
}

// tell sets an FTP account on the panel with its password, which is opened for this and nothing else.
func (s *Service) tell(ctx context.Context, on site.Site, ftp panel.FTP, p panel.FTPAccount) (panel.FTPAccount, error) {
	rows, err := ftpOf(ctx, s.DB, on.ServiceID)
	if err != nil {
		return p, err
	}
	i := slices.IndexFunc(rows, func(f ftpAccount) bool { return f.username == p.Username })
	if i < 0 {
		return p, fault.NotFound.New() // it went meanwhile; the next look tells
	}
	if p.Password, p.PasswordVersion, err = s.Credentials.Secret(ctx, s.DB, CredentialKind, rows[i].id); err != nil {
		return p, err
	}
	return ftp.SetFTPAccount(ctx, on.Ref, p)
}

func (s *Service) noteFTP(ctx context.Context, tx *db.Tx, f ftpAccount, o site.Outcome[panel.FTPAccount]) error {
	switch {
	case o.Gone:
		gone, err := removeFTP(ctx, tx, f)
		if err != nil || !gone {
			return err
		}
		return s.Credentials.Delete(ctx, tx, CredentialKind, f.id)
	case o.Err != nil:
		if key := failureKey(o.Err); f.failureKey == nil || *f.failureKey != key {
			return failFTP(ctx, tx, f, key)
		}
		return nil
	case f.status == site.Active && f.host == o.Now.Host && f.port == o.Now.Port && f.usedMB == o.Now.UsedMB && sameTime(f.lastLoginAt, o.Now.LastLoginAt):
		return nil
	default:
		return noteFTP(ctx, tx, f, o.Now)
	}
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
	l, err := site.ParseLimits(on)
	if err != nil {
		return err
	}
	for {
		row, keys, err := s.wantedShell(ctx, on)
		if err != nil {
			return err
		}
		// A plan that the service moved to may have none.
		row.enabled = row.enabled && l.Of(shellLimit) != 0
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
			if err := failShell(ctx, tx, row, failureKey(failed)); err != nil {
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
