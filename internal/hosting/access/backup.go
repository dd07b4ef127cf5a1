package access

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// savedAccess is the access to a service in a backup. It has no passwords: new ones are made.
type savedAccess struct {
	FTP   []savedFTP     `json:"ftp,omitempty"`
	Shell bool           `json:"shell"`
	Keys  []panel.SSHKey `json:"keys,omitempty"`
}

// savedFTP is an FTP account in a backup; its name is the part that the customer chose.
type savedFTP struct {
	Name     string `json:"name"`
	Home     string `json:"home"`
	QuotaMB  int64  `json:"quota_mb"`
	ReadOnly bool   `json:"readonly"`
}

// Export answers the ways in to a service for its backup; nil when it has none of its own.
func (s *Service) Export(ctx context.Context, q db.Querier, accountID, serviceID int64) (json.RawMessage, error) {
	on, err := s.Services.Site(ctx, q, accountID, serviceID)
	if err != nil {
		return nil, err
	}
	var k savedAccess
	accounts, err := s.ftp().OfService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	for _, f := range accounts {
		if f.Status != site.Removing {
			k.FTP = append(k.FTP, savedFTP{strings.TrimPrefix(f.username, on.Username+"_"), f.home, f.quotaMB, f.readOnly})
		}
	}
	sh, err := s.shellOf(ctx, q, serviceID)
	if err != nil && !errors.Is(err, fault.NotFound) {
		return nil, err
	}
	k.Shell = sh.enabled
	all, err := keys.OfService(ctx, q, serviceID)
	if err != nil {
		return nil, err
	}
	k.Keys = wantedKeys(all)
	if len(k.FTP) == 0 && len(k.Keys) == 0 && !k.Shell {
		return nil, nil
	}
	return json.Marshal(k)
}

// Import gives a service that came back the ways in that it had. What it has by now stays. FTP accounts
// have passwords that nobody knows yet, as new ones do.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, _ []string) error {
	var k savedAccess
	return s.ftp().Import(ctx, tx, accountID, serviceID, document, &k, func(on site.Site, rows []ftpAccount) error {
		if err := s.importFTP(ctx, tx, on, rows, k.FTP); err != nil {
			return err
		}
		return s.importShell(ctx, tx, on, k)
	})
}

// importShell gives a service the keys of a backup, and the shell where its plan has one.
func (s *Service) importShell(ctx context.Context, tx *db.Tx, on site.Site, k savedAccess) error {
	for _, key := range k.Keys {
		row, err := parseKey(key.Name, key.PublicKey)
		if err != nil {
			return err
		}
		if _, err := keys.Insert(ctx, tx, on.AccountID, on.ServiceID, row.values()); err != nil && !errors.Is(err, fault.AlreadyExists) {
			return err
		}
	}
	var enable *bool // nil leaves it as it is
	if k.Shell && on.Limits.Of(shellLimit) != 0 {
		enable = &k.Shell
	}
	return s.changeShell(ctx, tx, on.AccountID, on.ServiceID, enable)
}

func (s *Service) importFTP(ctx context.Context, tx *db.Tx, on site.Site, rows []ftpAccount, wanted []savedFTP) error {
	for _, k := range wanted {
		row, err := ftpWish{k.Name, k.Home, k.QuotaMB, k.ReadOnly}.parse(on)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(rows, func(f ftpAccount) bool { return f.username == row.username }) {
			continue
		}
		if _, err := s.insertFTP(ctx, tx, on, row); err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return nil
}
