package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// Credentials keeps the passwords that the server makes.
type Credentials interface {
	Put(ctx context.Context, tx *db.Tx, accountID, serviceID int64, kind string, subjectID int64, label string) error
	Secret(ctx context.Context, q db.Querier, kind string, subjectID int64) (password, version string, err error)
	Version(ctx context.Context, q db.Querier, kind string, subjectID int64) (string, error)
	Delete(ctx context.Context, tx *db.Tx, kind string, subjectID int64) error
}

// SecurityLog records changes of the ways into an account's services, in their transaction.
type SecurityLog interface {
	SSHKeyAdded(ctx context.Context, tx *db.Tx, accountID int64) error
	SSHKeyRemoved(ctx context.Context, tx *db.Tx, accountID int64) error
	FTPAccountAdded(ctx context.Context, tx *db.Tx, accountID int64) error
}

// CredentialKind is what the passwords of FTP accounts are called in Credentials.
const CredentialKind = "ftp"

// Config is what the section works with; all is needed.
type Config struct {
	site.Base
	Credentials Credentials
	Security    SecurityLog
	BaseURL     string // of the site, where the terminal is
}

// Service is the section's use cases.
type Service struct{ Config }

// New makes the section.
func New(c Config) *Service { return &Service{c} }

// Limits of a plan that the section knows. One that says 0 of shellLimit has no shell.
const (
	shellLimit = "shell"
	keyLimit   = "ssh_keys"
)

// Count implements site.Part.
func (s *Service) Count(ctx context.Context, q db.Querier, serviceID int64, into map[string]int64) error {
	return s.ftp().Count(ctx, q, serviceID, into)
}

// listFTP answers one page of a service's FTP accounts.
func (s *Service) listFTP(ctx context.Context, accountID, serviceID int64, p page.Params) ([]ftpAccount, int, error) {
	_, rows, total, err := s.ftp().Page(ctx, accountID, serviceID, p)
	return rows, total, err
}

// createFTP gives one of the account's services an FTP account with a password that nobody knows yet.
func (s *Service) createFTP(ctx context.Context, accountID, serviceID int64, w ftpWish) (f ftpAccount, err error) {
	err = s.ftp().Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		if f, err = s.addFTP(ctx, tx, on, w); err != nil {
			return err
		}
		return s.Security.FTPAccountAdded(ctx, tx, accountID)
	})
	return f, err
}

// firstFTP is the name of the FTP account that FirstFTP makes.
const firstFTP = "main"

// FirstFTP gives a service that has no FTP account its first one, at home in the primary site, and answers its user
// name; it is empty where there is one already.
func (s *Service) FirstFTP(ctx context.Context, tx *db.Tx, accountID, serviceID int64) (username string, err error) {
	err = site.ChangeIn[panel.FTP](ctx, tx, s.Services, s.Panels, panel.CapFTP, accountID, serviceID,
		func(ctx context.Context, tx *db.Tx, on site.Site) error {
			count := map[string]int64{}
			if err := s.Count(ctx, tx, serviceID, count); err != nil || count[s.ftp().Limit] > 0 {
				return err
			}
			f, err := s.addFTP(ctx, tx, on, ftpWish{username: firstFTP})
			username = f.username
			return err
		})
	return username, err
}

// addFTP writes an FTP account of a locked service.
func (s *Service) addFTP(ctx context.Context, tx *db.Tx, on site.Site, w ftpWish) (f ftpAccount, err error) {
	row, err := w.parse(on)
	if err != nil {
		return f, err
	}
	id, err := s.insertFTP(ctx, tx, on, row)
	if err != nil {
		return f, err
	}
	if f, err = s.ftp().Get(ctx, tx, on.AccountID, on.ServiceID, id); err != nil {
		return f, err
	}
	return f, s.ftp().Enqueue(ctx, tx, on.AccountID, on.ServiceID)
}

// insertFTP adds an FTP account of a locked service, with a new password, where the plan has room for one. It answers
// fault.AlreadyExists when the service has the user name, also while it is on its way out.
func (s *Service) insertFTP(ctx context.Context, tx *db.Tx, on site.Site, row ftpAccount) (id int64, err error) {
	if err := s.ftp().Room(ctx, tx, on, 1); err != nil {
		return 0, err
	}
	if id, err = s.ftp().Insert(ctx, tx, on.AccountID, on.ServiceID, row.values()); err != nil {
		return 0, err
	}
	return id, s.Credentials.Put(ctx, tx, on.AccountID, on.ServiceID, CredentialKind, id, row.username)
}

// FTPAddresses tells where FTP accounts of a service sign in, by their ids; those that the panel has not made are left out.
func (s *Service) FTPAddresses(ctx context.Context, q db.Querier, serviceID int64) (map[int64]string, error) {
	rows, err := s.ftp().OfService(ctx, q, serviceID)
	places := map[int64]string{}
	for _, f := range rows {
		if f.host != "" {
			places[f.ID] = net.JoinHostPort(f.host, strconv.Itoa(f.port))
		}
	}
	return places, err
}

// PasswordReplaced has the panel follow another password of an FTP account. It is called in the transaction
// that makes it, and refuses where the service takes no changes.
func (s *Service) PasswordReplaced(ctx context.Context, tx *db.Tx, accountID, serviceID, ftpID int64) error {
	return s.ftp().Renew(ctx, tx, accountID, serviceID, ftpID, fault.NotFound)
}

// setShell switches the shell of one of the account's services.
func (s *Service) setShell(ctx context.Context, accountID, serviceID int64, enabled bool) (sh shell, err error) {
	err = s.shells().Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, on site.Site) error {
		if enabled && on.Limits.Of(shellLimit) == 0 {
			return fault.FeatureNotInPlan.New()
		}
		if err := s.changeShell(ctx, tx, accountID, serviceID, &enabled); err != nil {
			return err
		}
		if sh, err = s.shellOf(ctx, tx, serviceID); err != nil {
			return err
		}
		sh.terminal = s.hasTerminal(on)
		return s.shells().Enqueue(ctx, tx, accountID, serviceID)
	})
	return sh, err
}

// getShell reads the shell of one of the account's services. One whose keys and shell nobody has touched has no row: its
// shell is off, and the hosting server has nothing to follow.
func (s *Service) getShell(ctx context.Context, accountID, serviceID int64) (sh shell, err error) {
	on, err := s.Services.Site(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return sh, err
	}
	sh, err = s.shellOf(ctx, s.DB, serviceID)
	if errors.Is(err, fault.NotFound) {
		sh = shell{}
		sh.ServiceID, sh.Status, err = serviceID, site.Active, nil
	}
	sh.terminal = s.hasTerminal(on)
	return sh, err
}

// hasTerminal says whether the service's hosting server opens shells in a browser.
func (s *Service) hasTerminal(on site.Site) bool {
	_, err := site.On[panel.Terminal](s.Panels, on, panel.CapTerminal)
	return !errors.Is(err, panel.ErrUnsupported)
}

// listKeys answers one page of a service's keys.
func (s *Service) listKeys(ctx context.Context, accountID, serviceID int64, p page.Params) ([]sshKey, int, error) {
	if _, err := s.Services.Site(ctx, s.DB, accountID, serviceID); err != nil {
		return nil, 0, err
	}
	return keys.List(ctx, s.DB, accountID, serviceID, p)
}

// createKey has a key open one of the account's services.
func (s *Service) createKey(ctx context.Context, accountID, serviceID int64, name, text string) (k sshKey, err error) {
	if k, err = parseKey(name, text); err != nil {
		return k, err
	}
	err = s.changeKeys(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx) error {
		all, err := keys.OfService(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if len(all) >= maxKeys {
			return fault.LimitReached.With(fault.Fields{"limit": keyLimit, "maximum": maxKeys})
		}
		id, err := keys.Insert(ctx, tx, accountID, serviceID, k.values())
		if err != nil {
			return err
		}
		if k, err = keys.Get(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		return s.Security.SSHKeyAdded(ctx, tx, accountID)
	})
	return k, err
}

// removeKey closes one of the account's services to a key.
func (s *Service) removeKey(ctx context.Context, accountID, serviceID, id int64) error {
	return s.changeKeys(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := keys.Get(ctx, tx, accountID, serviceID, id); err != nil {
			return err
		}
		if err := keys.Delete(ctx, tx, id); err != nil {
			return err
		}
		return s.Security.SSHKeyRemoved(ctx, tx, accountID)
	})
}

// changeKeys runs f on the keys of a service that takes changes, and has the panel follow.
func (s *Service) changeKeys(ctx context.Context, accountID, serviceID int64, f func(ctx context.Context, tx *db.Tx) error) error {
	return s.shells().Change(ctx, accountID, serviceID, func(ctx context.Context, tx *db.Tx, _ site.Site) error {
		if err := f(ctx, tx); err != nil {
			return err
		}
		if err := s.changeShell(ctx, tx, accountID, serviceID, nil); err != nil {
			return err
		}
		return s.shells().Enqueue(ctx, tx, accountID, serviceID)
	})
}

// terminalURL is where the terminal of a service is.
func (s *Service) terminalURL(serviceID int64) string {
	return fmt.Sprintf("%s/panel/services/%d/terminal", s.BaseURL, serviceID)
}
