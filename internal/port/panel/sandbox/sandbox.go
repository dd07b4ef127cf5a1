// Package sandbox is the panel adapter for sandbox customers: a simulated machine with the states,
// limits and errors of a real one, whose sites nobody can reach.
//
// It is a node in a directory of its own that is told not to serve. On top of that it fails on
// request, so that integrators can see how their programs take it: the first label of the primary
// domain names the failure (see Failures), for instance disk-full.example.com.
package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/backups"
	"stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/cron"
	"stead.dev/stead/internal/node/databases"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/node/ftp"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/node/mail"
	"stead.dev/stead/internal/node/php"
	"stead.dev/stead/internal/node/ssh"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/port/panel"
)

// Failures maps the first label of a primary domain to the failure of CreateAccount.
var Failures = map[string]panel.Kind{
	"unreachable": panel.ErrUnreachable,
	"busy":        panel.ErrBusy,
	"disk-full":   panel.ErrDiskFull,
	"exists":      panel.ErrExists,
	"limit":       panel.ErrLimit,
	"unsupported": panel.ErrUnsupported,
}

// Panel is the simulated machine.
type Panel struct {
	*node.Node
	*files.Driver
	panel.Certificates
	panel.Backups
	panel.PHP
	panel.Logs
	panel.Databases
	panel.Cron
	panel.FTP
	panel.Shell
	panel.Mail
	panel.Issuing // by an authority in memory: see certificates.Refusals
}

// PHPVersions implements panel.Interpreters.
func (p Panel) PHPVersions() []string { return panel.PHPVersionsOf(p.PHP) }

var (
	_ panel.Panel    = Panel{}
	_ panel.Accounts = Panel{}
	_ panel.Usages   = Panel{}
	_ panel.Sites    = Panel{}
	_ panel.Files    = Panel{}
	_ panel.Archives = Panel{}

	_ panel.Backups      = Panel{}
	_ panel.PHP          = Panel{}
	_ panel.Logs         = Panel{}
	_ panel.Databases    = Panel{}
	_ panel.Cron         = Panel{}
	_ panel.Certificates = Panel{}
	_ panel.Issuing      = Panel{}
	_ panel.FTP          = Panel{}
	_ panel.Shell        = Panel{}
	_ panel.Mail         = Panel{}
)

// Open opens the simulated machine in dir, with all that was made there before.
func Open(ctx context.Context, dir string, now func() time.Time, log *slog.Logger) (Panel, error) {
	p := Panel{}
	n, err := node.New(ctx, node.Config{
		Dir: dir, Now: now, Log: log, Web: dark{}, Location: "sandbox",
		Facilities: func(n *node.Node) ([]facility.Facility, error) { return p.facilities(dir, n.Lookup, now, log) },
		// Addresses and names reserved for documentation (RFC 5737, 3849 and 2606), which lead nowhere.
		OriginURL: "http://sandbox.invalid", IPv4: "192.0.2.1", IPv6: "2001:db8::1",
		Nameservers: []string{"ns1.sandbox.invalid", "ns2.sandbox.invalid"},
	})
	if err != nil {
		return Panel{}, fmt.Errorf("sandbox: %w", err)
	}
	p.Node, p.Driver = n, n.Files
	return p, nil
}

// facilities are the simulated facilities besides files and sites.
func (p *Panel) facilities(dir string, lookup facility.Lookup, now func() time.Time, log *slog.Logger) ([]facility.Facility, error) {
	keeper, err := certificates.Open(dir, lookup, now)
	if err != nil {
		return nil, err
	}
	p.Certificates = keeper
	if p.Issuing, err = certificates.NewSimulated(now); err != nil {
		return nil, err
	}
	archives, err := backups.NewFolder(filepath.Join(dir, "backups", "archives"))
	if err != nil {
		return nil, err
	}
	kept, err := backups.New(backups.Config{Dir: filepath.Join(dir, "backups"), Accounts: lookup, Store: archives, Now: now, Log: log})
	if err != nil {
		return nil, err
	}
	p.Backups = kept
	programs, err := php.NewSimulated(filepath.Join(dir, "php"), lookup)
	if err != nil {
		return nil, err
	}
	p.PHP = programs
	written, err := logs.Open(logs.Config{Dir: filepath.Join(dir, "logs"), Now: now, Log: log})
	if err != nil {
		return nil, err
	}
	reader, err := logs.New(written, filepath.Join(dir, "logs-state"), lookup)
	if err != nil {
		return nil, err
	}
	p.Logs = reader
	stores, err := databases.New(databases.Config{Dir: filepath.Join(dir, "databases"), Lookup: lookup, Now: now, Log: log, Simulated: true})
	if err != nil {
		return nil, err
	}
	p.Databases = stores
	jobs, err := cron.New(cron.Config{Dir: filepath.Join(dir, "cron"), Lookup: lookup, Now: now, Log: log, Simulated: true})
	if err != nil {
		return nil, err
	}
	p.Cron = jobs
	transfers, err := ftp.NewSimulated(dir, "ftp.sandbox.invalid", lookup)
	if err != nil {
		return nil, err
	}
	shells, err := ssh.NewSimulated(dir, "ssh.sandbox.invalid", lookup)
	if err != nil {
		return nil, err
	}
	p.FTP, p.Shell = transfers, shells
	letters, err := mail.OpenSimulated(filepath.Join(dir, "mail"), lookup)
	if err != nil {
		return nil, err
	}
	p.Mail = letters
	return []facility.Facility{keeper, kept, programs, reader, stores, jobs, transfers, shells, letters}, nil
}

// Name implements panel.Panel.
func (Panel) Name() string { return "sandbox" }

// CreateAccount implements panel.Accounts, and fails when the domain asks for it.
func (p Panel) CreateAccount(ctx context.Context, spec panel.AccountSpec) (panel.Account, error) {
	label, _, _ := strings.Cut(strings.ToLower(spec.PrimaryDomain), ".")
	if kind, ok := Failures[label]; ok {
		return panel.Account{}, panel.Wrap("accounts.create", spec.Ref, kind)
	}
	return p.Node.CreateAccount(ctx, spec)
}

// dark is a web server that serves nothing.
type dark struct{}

func (dark) Apply(context.Context, string, []web.Site) error { return nil }
func (dark) Close() error                                    { return nil }
