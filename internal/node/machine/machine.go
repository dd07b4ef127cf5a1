// Package machine puts a hosting machine together: the accounts' driver, the supervisor of daemons
// and all facilities, from one configuration. The agent (stead node), the node embedded in the
// control plane and the tests of the whole run the same.
//
// Everything of the machine is below one directory, which is root's:
//
//	accounts/, trash/   of the accounts: see package accounts
//	state/              what the accounts' driver remembers
//	daemons/            process ids and output of supervised daemons
//	<facility>/         records, configuration and data of a facility
package machine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/node"
	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/adminer"
	"stead.dev/stead/internal/node/backups"
	"stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/daemon"
	"stead.dev/stead/internal/node/facility"
	"stead.dev/stead/internal/node/limits"
	"stead.dev/stead/internal/node/logs"
	"stead.dev/stead/internal/node/mail"
	"stead.dev/stead/internal/node/mailguard"
	"stead.dev/stead/internal/node/php"
	"stead.dev/stead/internal/node/web"
	"stead.dev/stead/internal/node/web/nginx"
	"stead.dev/stead/internal/port/panel"
)

// Kind is how a machine is used.
type Kind string

// The kinds of machines.
const (
	// Directories is any machine: accounts are directories, this process serves the sites, and nothing needs to be
	// installed. Its only facilities beyond files and sites are backups and, with Config.HTTPS, certificates.
	Directories Kind = "directories"
	// Linux is a dedicated hosting machine: accounts are Linux users, and well-known daemons do the work. The process
	// runs as root.
	Linux Kind = "linux"
)

// Config describes a machine.
type Config struct {
	Kind Kind
	Dir  string // everything is below it
	Now  func() time.Time
	Log  *slog.Logger

	// The machine's public addresses: see node.Config.
	OriginURL   string
	IPv4, IPv6  string
	Nameservers []string
	Location    string

	// PreviewDomain and Names: see node.Config.
	PreviewDomain string
	Names         []string

	// HTTPS says that this process also serves the sites of a Directories machine by HTTPS, with the certificates of
	// Machine.Certificates.
	HTTPS bool

	// Host is the address on which daemons listen publicly; empty is all addresses. Ports are those of the services; 0
	// is the usual port.
	Host  string
	Ports Ports

	// UserPrefix begins the names of the accounts' users; UIDMin and UIDMax bound their numbers (zero: 20000 to 59999);
	// WebGroup is the group of the web server's workers (empty: www-data).
	UserPrefix     string
	UIDMin, UIDMax int
	WebGroup       string

	// Mail configures mail on a Linux machine; without a Hostname there is none.
	Mail Mail
	// Guard keeps the users of accounts from the ports of mail servers; nil is mailguard.Set. A machine where it fails
	// offers no mail.
	Guard func(context.Context, mailguard.Users) error

	// Backups configures the store of the accounts' backups.
	Backups Backups
	// Left are the accounts that have left for other machines, with their epochs: see node.Config.
	Left map[string]int64

	// Supervisor runs the daemons; nil selects the machine's.
	Supervisor daemon.Supervisor
}

// Ports are the ports of the machine's services.
type Ports struct {
	HTTP, HTTPS int
	// FTP is the port of control connections (21). SSH is the port of customers' sessions (2222): the machine's own
	// sshd, for its administration, keeps 22.
	FTP, SSH int
	// MariaDB (3306) and PostgreSQL (5432) are for the machine's own accounts, on 127.0.0.1.
	MariaDB, PostgreSQL int
}

// Mail configures mail.
type Mail struct {
	// Hostname is its mail name, such as mx1.example.com; IPv4 and that name should resolve to each other.
	Hostname string
	// Relay gets all outgoing mail; empty sends directly. Postmaster gets mail for postmaster@ of domains without such
	// a mailbox. See mail.Config.
	Relay, Postmaster string
	// ClamAV is the socket of a clamd that scans mail; empty scans nothing.
	ClamAV string
	// CertFile and KeyFile are the certificate of Hostname in PEM; they are read again when they change. Without them
	// mail programs have to trust a self-signed one.
	CertFile, KeyFile string
	// Program starts this program, for the helpers that mail servers start; empty is this process's.
	Program []string
	// Ports are the ports of the mail services; 0 is the usual port.
	Ports MailPorts
}

// MailPorts are the ports of the mail services. Submit is for the programs of the machine's accounts, and at Signin
// Dovecot asks this process.
type MailPorts struct {
	SMTP, Submission, Submissions, IMAP, IMAPS, POP3, POP3S, Sieve, Submit, Signin int
}

// Backups configures the store of the accounts' backups. A machine of the kind Directories keeps archives in a folder; a
// Linux one has a restic repository for each account.
type Backups struct {
	// Repository is a folder, or on a Linux machine an address in S3 ("s3:https://s3.example.com/bucket/prefix"); empty is
	// a folder below the machine's directory, which is lost with the machine.
	Repository string
	// CredentialsFile is an AWS credentials file for S3, of mode 0600; Region may be empty.
	CredentialsFile, Region string
}

// FirstUID and LastUID are the default bounds of the numbers of the accounts' users.
const (
	FirstUID = 20000
	LastUID  = 59999
)

func (c *Config) complete() (err error) {
	if c.Dir == "" || c.Now == nil || c.Log == nil {
		return errors.New("machine: Dir, Now and Log are needed")
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return fmt.Errorf("machine: %w", err)
	}
	for _, set := range []struct {
		value *int
		usual int
	}{{&c.UIDMin, FirstUID}, {&c.UIDMax, LastUID}, {&c.Ports.HTTP, 80}, {&c.Ports.HTTPS, 443}, {&c.Ports.FTP, 21}, {&c.Ports.SSH, 2222}, {&c.Ports.MariaDB, 3306}, {&c.Ports.PostgreSQL, 5432}} {
		if *set.value == 0 {
			*set.value = set.usual
		}
	}
	if c.Guard == nil {
		c.Guard = mailguard.Set
	}
	if c.WebGroup == "" {
		c.WebGroup = "www-data"
	}
	return nil
}

// Machine is a node with its daemons.
type Machine struct {
	*node.Node
	// Certificates are the certificates that this process uses for HTTPS; nil when it does not serve HTTPS.
	Certificates *certificates.Driver

	supervisor daemon.Supervisor // nil on a machine without daemons
	guarded    bool              // accounts reach no mail servers
	mail       *mail.Driver      // nil on a machine without mail
	closers    []func() error    // of what was opened here besides the node
}

// Open opens the machine: it starts the daemons that do not run, adopts those that do, and finishes what a crash
// interrupted.
func Open(ctx context.Context, cfg Config) (*Machine, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	m := &Machine{supervisor: cfg.Supervisor}
	nodeConfig := node.Config{
		Dir: cfg.Dir, Now: cfg.Now, Log: cfg.Log, OriginURL: cfg.OriginURL, IPv4: cfg.IPv4, IPv6: cfg.IPv6,
		Nameservers: cfg.Nameservers, Location: cfg.Location, PreviewDomain: cfg.PreviewDomain, Names: cfg.Names,
		Left: cfg.Left,
	}
	switch cfg.Kind {
	case Directories:
		nodeConfig.Facilities = func(n *node.Node) ([]facility.Facility, error) {
			archives := filepath.Join(cfg.Dir, "backups", "archives")
			if cfg.Backups.Repository != "" && !strings.HasPrefix(cfg.Backups.Repository, "s3:") {
				archives = cfg.Backups.Repository
			}
			store, err := backups.NewFolder(archives)
			if err != nil {
				return nil, err
			}
			keeper, err := openBackups(cfg, n, store, nil)
			if err != nil {
				return nil, err
			}
			if !cfg.HTTPS {
				return []facility.Facility{keeper}, nil
			}
			if m.Certificates, err = certificates.Open(cfg.Dir, n.Lookup, cfg.Now); err != nil {
				return nil, err
			}
			return []facility.Facility{m.Certificates, keeper}, nil
		}
		sites := web.NewGoServer(cfg.Now, cfg.Log)
		sites.Challenges = certificates.Challenges(cfg.Dir)
		nodeConfig.Web = sites
	case Linux:
		if err := os.MkdirAll(cfg.Dir, 0o711); err != nil {
			return nil, fmt.Errorf("machine: %w", err)
		}
		if m.supervisor == nil {
			var err error
			m.supervisor, err = daemon.New(daemon.Config{Dir: filepath.Join(cfg.Dir, "daemons"), Now: cfg.Now, Log: cfg.Log})
			if err != nil {
				return nil, err
			}
			m.closers = append(m.closers, m.supervisor.Close)
		}
		kernel, err := limits.Open(cfg.Dir)
		if err != nil {
			return nil, errors.Join(err, m.closeOwn())
		}
		m.closers = append(m.closers, kernel.Close)
		cfg.Log.Info("machine opens", "dir", cfg.Dir, "limits", kernel.String())
		m.guard(ctx, cfg)
		nodeConfig.Accounts = func() (accounts.Accounts, error) {
			return accounts.OpenUsers(accounts.UsersConfig{
				Dir: cfg.Dir, Now: cfg.Now, Log: cfg.Log, Prefix: cfg.UserPrefix, UIDMin: cfg.UIDMin, UIDMax: cfg.UIDMax,
				WebGroup: cfg.WebGroup, Shell: "/bin/bash", Limit: kernel.Set, Release: kernel.Release,
			})
		}
		written, err := logs.Open(logs.Config{Dir: filepath.Join(cfg.Dir, "logs"), Now: cfg.Now, Log: cfg.Log})
		if err != nil {
			return nil, errors.Join(err, m.closeOwn())
		}
		sites, err := openWeb(ctx, cfg, m.supervisor, written)
		if err != nil {
			return nil, errors.Join(err, m.closeOwn())
		}
		nodeConfig.Web = sites
		nodeConfig.LogSize = func(account string) int64 { return written.Size(account, panel.LogPHP) }
		nodeConfig.Facilities = func(n *node.Node) ([]facility.Facility, error) {
			if !m.guarded {
				cfg.Mail.Hostname = ""
			}
			all, err := facilities(cfg, n, m.supervisor, written, sites)
			if err != nil {
				return nil, err
			}
			for _, f := range all {
				if letters, ok := f.(*mail.Driver); ok {
					m.mail = letters
				}
			}
			if !backups.ResticInstalled() {
				cfg.Log.Warn("restic is not installed: this machine makes no backups")
				return all, nil
			}
			// The last one, because its backups contain the others.
			store, err := openRestic(cfg)
			if err != nil {
				return nil, err
			}
			keeper, err := openBackups(cfg, n, store, all)
			if err != nil {
				return nil, err
			}
			return append(all, keeper), nil
		}
	default:
		return nil, fmt.Errorf("machine: %q is no kind of machine", cfg.Kind)
	}
	var err error
	if m.Node, err = node.New(ctx, nodeConfig); err != nil {
		return nil, errors.Join(err, m.closeOwn())
	}
	return m, nil
}

// MailQueue is the number of messages that wait to be delivered, at most 100,000; nil where the machine has no mail.
func (m *Machine) MailQueue() (*int64, error) {
	if m.mail == nil {
		return nil, nil
	}
	n, err := m.mail.Queued()
	return &n, err
}

// facilities are the facilities of a Linux machine, in the order in which they are applied to an account.
func facilities(cfg Config, n *node.Node, s daemon.Supervisor, written *logs.Store, sites *nginx.Server) ([]facility.Facility, error) {
	var all []facility.Facility
	keeper, err := certificates.Open(cfg.Dir, n.Lookup, cfg.Now)
	if err != nil {
		return nil, err
	}
	all = append(all, keeper)
	reader, err := logs.New(written, filepath.Join(cfg.Dir, "state"), n.Lookup)
	if err != nil {
		return nil, err
	}
	all = append(all, reader)
	var sendmail func(accounts.Account) string
	if cfg.Mail.Hostname != "" {
		letters, err := openMail(cfg, n, s, written)
		if err != nil {
			return nil, err
		}
		all, sendmail = append(all, letters), letters.Sendmail
	}
	if php.Installed() {
		programs, err := php.Open(php.Config{
			Dir: filepath.Join(cfg.Dir, "php"), State: filepath.Join(cfg.Dir, "state"), Logs: written, Supervisor: s,
			Now: cfg.Now, Log: cfg.Log, Sendmail: sendmail,
		}, n.Lookup)
		if err != nil {
			return nil, err
		}
		all = append(all, programs)
	}
	ways, err := openAccess(cfg, n, s, keeper)
	if err != nil {
		return nil, err
	}
	all = append(all, ways...)
	stores, err := openDatabases(cfg, n, s, sites)
	if err != nil {
		return nil, err
	}
	all = append(all, stores...)
	timed, err := openCron(cfg, n, written)
	if err != nil {
		return nil, err
	}
	all = append(all, timed)
	return all, nil
}

// openWeb opens nginx for the sites.
func openWeb(ctx context.Context, cfg Config, s daemon.Supervisor, written *logs.Store) (*nginx.Server, error) {
	settings := ""
	if cfg.Mail.Hostname != "" {
		settings = mail.ConfigSocket(mailDir(cfg))
	}
	socket, own := "", ""
	if opensDatabases(cfg) {
		socket = adminer.Gate(adminerDir(cfg))
		if cfg.Mail.CertFile != "" {
			own = cfg.Mail.Hostname
		}
	}
	server, err := nginx.Open(ctx, nginx.Config{
		Adminer: socket, OwnName: own, OwnCertificate: func() (chain, key []byte, ok bool) { return cfg.Mail.certificate(own) },
		MailSettings: settings, MailNames: mail.ConfigNames,
		Dir: filepath.Join(cfg.Dir, "nginx"), ACME: certificates.Challenges(cfg.Dir), Logs: written, Supervisor: s,
		Now: cfg.Now, Log: cfg.Log, HTTP: cfg.listen(cfg.Ports.HTTP), HTTPS: cfg.listen(cfg.Ports.HTTPS),
	})
	if err != nil {
		return nil, err
	}
	written.OnRotate(server.Reopen)
	return server, nil
}

// listen are the addresses on which a daemon listens publicly.
func (c Config) listen(port int) []string {
	if c.Host != "" {
		return []string{net.JoinHostPort(c.Host, strconv.Itoa(port))}
	}
	all := []string{fmt.Sprintf("0.0.0.0:%d", port)}
	if probe, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp6", "[::1]:0"); err == nil { // the machine supports IPv6
		_ = probe.Close() // it was only a probe
		all = append(all, fmt.Sprintf("[::]:%d", port))
	}
	return all
}

// Close ends the agent's work. The daemons keep running.
func (m *Machine) Close() error { return errors.Join(m.Node.Close(), m.closeOwn()) }

func (m *Machine) closeOwn() error {
	var err error
	for _, c := range slices.Backward(m.closers) {
		err = errors.Join(err, c())
	}
	return err
}

// openBackups opens the backups, with the parts of the other facilities.
func openBackups(cfg Config, n *node.Node, store backups.Store, others []facility.Facility) (*backups.Driver, error) {
	c := backups.Config{Dir: filepath.Join(cfg.Dir, "backups"), Accounts: n.Lookup, Store: store, Now: cfg.Now, Log: cfg.Log}
	for _, f := range others {
		if b, ok := f.(facility.Backuper); ok {
			c.Parts = append(c.Parts, b)
		}
	}
	return backups.New(c)
}

// openRestic opens the restic repositories of a Linux machine's backups.
func openRestic(cfg Config) (*backups.Restic, error) {
	dir := filepath.Join(cfg.Dir, "backups")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	repository := cfg.Backups.Repository
	if repository == "" {
		repository = filepath.Join(dir, "repositories")
	}
	return backups.NewRestic(backups.ResticConfig{
		Repository: repository, CredentialsFile: cfg.Backups.CredentialsFile, Region: cfg.Backups.Region,
		KeyFile: filepath.Join(dir, "key"), Dir: filepath.Join(dir, "restic"),
	})
}
