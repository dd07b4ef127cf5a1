package panel

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Panel is the minimum of every adapter. Optional interfaces are found by type assertion:
//
//	files, ok := p.(panel.Files)
type Panel interface {
	// Name is the adapter's name in settings and logs: "node", "sandbox".
	Name() string
}

// Capability names one of the interfaces of this package.
type Capability string

// The capabilities that a panel may have.
const (
	CapAccounts Capability = "accounts"
	CapUsage    Capability = "usage"
	CapSites    Capability = "sites"
	CapFiles    Capability = "files"
	CapArchives Capability = "archives"
	CapDeploys  Capability = "deploys"
)

// Selective is a panel whose type has more capabilities than the value: a machine of this project without a database
// server has the methods of Databases and reports false for CapDatabases.
type Selective interface {
	Can(c Capability) bool
}

// Of is the part of p that is the capability c, whose interface is C; ErrUnsupported when p does not
// have it. Calls of it within a transaction of the database are refused (package intx). It is how callers come to a
// capability:
//
//	files, err := panel.Of[panel.Files](p, panel.CapFiles)
func Of[C any](p Panel, c Capability) (C, error) {
	part, ok := p.(C)
	if s, selective := p.(Selective); ok && selective {
		ok = s.Can(c)
	}
	if !ok {
		var none C
		return none, &Error{Kind: ErrUnsupported, Op: string(c), Err: fmt.Errorf("panel %q does not have it", p.Name())}
	}
	if check := checked[c]; check != nil {
		if safe, ok := check(part).(C); ok {
			return safe, nil
		}
	}
	return part, nil
}

// capabilities reports for each capability whether a panel has it, in the order in which they are listed.
var capabilities = []struct {
	Capability
	of func(Panel) bool
}{
	{CapAccounts, has[Accounts](CapAccounts)},
	{CapUsage, has[Usages](CapUsage)},
	{CapSites, has[Sites](CapSites)},
	{CapFiles, has[Files](CapFiles)},
	{CapArchives, has[Archives](CapArchives)},
	{CapDeploys, has[Deploys](CapDeploys)},
	{CapCertificates, has[Certificates](CapCertificates)},
	{CapIssuing, has[Issuing](CapIssuing)},
	{CapBackups, has[Backups](CapBackups)},
	{CapHandover, has[Handover](CapHandover)},
	{CapMoving, has[Moving](CapMoving)},
	{CapInventory, has[Inventory](CapInventory)},
	{CapDatabases, has[Databases](CapDatabases)},
	{CapAdminer, has[Adminer](CapAdminer)},
	{CapCron, has[Cron](CapCron)},
	{CapMail, has[Mail](CapMail)},
	{CapFTP, has[FTP](CapFTP)},
	{CapShell, has[Shell](CapShell)},
	{CapTerminal, has[Terminal](CapTerminal)},
	{CapPHP, has[PHP](CapPHP)},
	{CapLogs, has[Logs](CapLogs)},
}

func has[C any](c Capability) func(Panel) bool {
	return func(p Panel) bool {
		_, err := Of[C](p, c)
		return err == nil
	}
}

// PHPVersion is the capability of running programs by a version of PHP, such as php/8.4. Panels with CapPHP list those of
// their versions; it has no interface of its own.
func PHPVersion(version string) Capability { return CapPHP + "/" + Capability(version) }

// Interpreters is a panel that tells which versions of PHP it has, the oldest first.
type Interpreters interface{ PHPVersions() []string }

// PHPVersionsOf are the versions that a part of a panel tells, for adapters that are made of parts.
func PHPVersionsOf(part PHP) []string {
	if has, ok := part.(Interpreters); ok {
		return has.PHPVersions()
	}
	return nil
}

// Capabilities lists the capabilities of p, in a fixed order. It uses Of, so it cannot disagree with what callers get.
func Capabilities(p Panel) []Capability {
	var caps []Capability
	for _, c := range capabilities {
		if c.of(p) {
			caps = append(caps, c.Capability)
		}
	}
	if s, ok := p.(Selective); ok && s.Can(CapMovedLogs) {
		caps = append(caps, CapMovedLogs)
	}
	if has, ok := p.(Interpreters); ok && slices.Contains(caps, CapPHP) {
		for _, version := range has.PHPVersions() {
			caps = append(caps, PHPVersion(version))
		}
	}
	return caps
}

// Limits bounds one account. Zero means no limit.
type Limits struct {
	DiskMB  int64 `json:"disk_mb"` // mebibytes
	Inodes  int64 `json:"inodes"`  // files and directories
	Domains int   `json:"domains"` // domains, the primary one included

	CPUPercent int `json:"cpu_percent"` // of one core: 150 is one and a half
	MemoryMB   int `json:"memory_mb"`   // mebibytes, of all processes of the account together
	Processes  int `json:"processes"`   // at once
}

// DiskBytes is the disk limit in bytes, zero for none.
func (l Limits) DiskBytes() int64 { return l.DiskMB << 20 }

// AccountSpec describes an account to create.
type AccountSpec struct {
	Ref           string // the platform's id of the service; at most 64 of [A-Za-z0-9._-]
	Username      string // wanted name on the machine; empty lets the panel derive one from the domain
	PrimaryDomain string
	NoMail        bool // of the primary domain: see Domain
	Limits        Limits
	Epoch         int64 // how often the service has moved from one machine to another; see Moving
	// Arriving says that the account is made for a service that moves here: until ReleaseAccount its sites answer 503, mail for
	// it is refused for now, and its cron jobs do not run.
	Arriving bool
}

// AccountStatus is the state of an account that exists.
type AccountStatus string

// The states of an account.
const (
	AccountActive    AccountStatus = "active"
	AccountSuspended AccountStatus = "suspended"
)

// Account is an account as the panel reports it, and where it is served.
type Account struct {
	Ref           string
	Username      string
	PrimaryDomain string
	Domains       []Domain // the primary one first
	Limits        Limits
	Status        AccountStatus
	CreatedAt     time.Time

	// OriginURL answers HTTP for the account's domains when they are sent as the Host.
	OriginURL   string
	IPv4, IPv6  string
	Nameservers []string
	Location    string
}

// Accounts makes and ends accounts.
type Accounts interface {
	// CreateAccount creates the account, or returns the existing one with the ref. ErrExists: the user name or the
	// domain belongs to another account, or the ref to another domain. ErrInvalid: ref, name, domain or limits are
	// invalid. ErrBusy: what is left of the account here since it moved away has to be dropped first, or the account moved
	// away in a later epoch. After a failure nothing is left that would make a second call fail.
	CreateAccount(ctx context.Context, spec AccountSpec) (Account, error)
	// Account returns an account that CreateAccount created.
	Account(ctx context.Context, ref string) (Account, error)
	// SuspendAccount stops serving the account and refuses changes to it; its files stay.
	SuspendAccount(ctx context.Context, ref string) error
	// UnsuspendAccount undoes SuspendAccount.
	UnsuspendAccount(ctx context.Context, ref string) error
	// UpdateAccount sets the limits. Limits below the present usage are accepted: nothing is deleted, further growth is
	// refused.
	UpdateAccount(ctx context.Context, ref string, limits Limits) (Account, error)
	// DeleteAccount deletes the account, its domains and its files at once and for good. ErrNotFound when there is
	// none; a caller that repeats a deletion treats that as success.
	DeleteAccount(ctx context.Context, ref string) error
}

// Usage is the space and traffic of an account.
type Usage struct {
	DiskBytes int64 // files, databases and mail together
	// DatabaseBytes and MailBytes are parts of DiskBytes.
	DatabaseBytes, MailBytes int64
	Inodes                   int64
	Domains                  int
	TrafficBytes             *int64 // sent to visitors in the present calendar month (UTC); nil when nobody counts it
	Limits                   Limits
	Ignored                  *IgnoredRules `json:",omitempty"` // nil when nobody has looked
}

// Usages measures accounts.
type Usages interface {
	Usage(ctx context.Context, ref string) (Usage, error)
}

// Domain is a name that an account answers to, and how.
type Domain struct {
	Name         string
	DocumentRoot string // path in the account's home: "/public_html"
	Primary      bool
	// RedirectTo is where visitors are sent instead of being served: see RedirectURL.
	RedirectTo string
	// ForceHTTPS sends visitors who came by plain HTTP to the same address by HTTPS.
	ForceHTTPS bool
	// NoMail keeps programs and mailboxes of the account from sending as the domain: it is not known to be the account's.
	NoMail bool
	// TLS is the state of HTTPS of the name; it is reported, never set.
	TLS TLS
}

// TLS is the state of HTTPS of a domain.
type TLS string

// The states of HTTPS.
const (
	TLSNone       TLS = "none"        // nothing answers
	TLSSelfSigned TLS = "self_signed" // with a certificate that browsers reject
	TLSActive     TLS = "active"      // with a certificate that was set and is valid
	TLSExpired    TLS = "expired"     // with one that was set and is no longer valid
)

// Sites attaches domains to accounts. "www." of a domain is answered like the domain itself unless it was added as a
// domain of its own.
type Sites interface {
	// Domains lists the account's, the primary one first.
	Domains(ctx context.Context, ref string) ([]Domain, error)
	// SetDomain has the account answer to d.Name as d says from then on, whether it did before or
	// not. The document root is made when missing; empty means the primary domain's. Primary makes
	// it the account's primary domain in the place of the present one, which stays as a domain;
	// without it the primary domain stays what it is. ErrExists: another account has the name.
	// ErrLimit: the account has its number of domains. ErrUnsupported: ForceHTTPS where nothing
	// answers HTTPS, or not with a certificate that browsers take; one that has expired meanwhile
	// does not end ForceHTTPS.
	SetDomain(ctx context.Context, ref string, d Domain) (Domain, error)
	// RemoveDomain stops serving name; files stay. ErrInUse: it is the primary domain.
	RemoveDomain(ctx context.Context, ref, name string) error
}
