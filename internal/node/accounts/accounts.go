// Package accounts keeps the hosting accounts of one machine: who is here, under which name, with
// which domains and limits.
//
// It owns the directory of every account and the record that says the account exists. The record
// is written whole or not at all. It says "making" before the first and "deleting" before the last
// step of an account's life, and an account in these states is there for nobody: a machine that
// loses power at any moment comes back with accounts that are complete or absent, and the
// interrupted call can be repeated.
//
// Two drivers keep accounts: directories (OpenDirectories) on a machine that is used as it is, and a
// Linux user each (OpenUsers) on a hosting machine.
//
// # What stands where, with a Linux user each
//
//	<dir>                   root 0711
//	<dir>/accounts          root 0711
//	<dir>/accounts/<name>   root:<user> 0751: the jail. Root's, and so is all above it, as sshd(8)
//	                        demands of a directory that it locks somebody into; the account lists it.
//	                        It is the user's directory in passwd(5), so that no other sshd of the
//	                        machine finds keys that the customer put into the home.
//	…/<name>/home           <user>:<web> 0710: the home. The web server's group passes it, to files
//	                        that are open to others; nobody else enters, whatever modes the files
//	                        inside have. The account itself may change its mode; settling puts it back.
//	…/home/public_html      <user>:<web> 0750
//	…/home/logs, tmp        <user>:<user> 0750 and 0700
//
// What root writes for an account (logs, keys, sockets) is never in the home, where a customer could
// plant a link in its place.
package accounts

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// Accounts makes accounts on the machine. Directories is the driver for a fresh machine; a driver
// with a Linux user per account has the same methods.
type Accounts interface {
	// Create creates the account, or returns the existing record with the ref.
	Create(ctx context.Context, spec panel.AccountSpec) (Record, error)
	Get(ref string) (Record, error)
	// List returns all accounts in no particular order.
	List() []Record
	// Where returns the accounts that is holds for. is must not change the record, nor call a method of Accounts.
	Where(is func(Record) bool) []Record
	// Left returns the accounts that have left for another machine. It does not look at the others.
	Left() []Record
	// Refs lists the refs of all accounts in no particular order.
	Refs() []string
	// Deleting lists the refs of accounts whose deletion has begun and not finished: only a repeated Delete finds them.
	Deleting() []string
	// Update passes the record to change and stores the result, unless change fails.
	Update(ctx context.Context, ref string, change func(*Record) error) (Record, error)
	// Delete deletes the account: from its beginning nobody else finds it. end, if any, removes what others store for
	// it; when it fails, Deleting still lists the account.
	Delete(ctx context.Context, ref string, end func(context.Context, Record) error) error
	// Finish is Delete for an account whose deletion has begun. ErrNotFound: for any other, also for one that was
	// created again since Deleting was called.
	Finish(ctx context.Context, ref string, end func(context.Context, Record) error) error
	// Settle restores the record's state on the machine: the user, the home's mode, the kernel's limits.
	Settle(ctx context.Context, ref string) error
	// Home is the directory of the account's files on this machine.
	Home(rec Record) string
	Close() error
}

// PublicHTML is the document root of the primary domain.
const PublicHTML = "public_html"

// Layout is the directories of every home and their permissions.
var Layout = []struct {
	Name string
	Mode uint32
}{
	{PublicHTML, 0o750},
	{"logs", 0o750},
	{"tmp", 0o700},
}

// Record is the machine's data of an account.
type Record struct {
	Ref       string       `json:"ref"`
	Name      string       `json:"name"`
	User      User         `json:"user,omitzero"`
	Domains   []Domain     `json:"domains"` // the primary one first; never empty
	Limits    panel.Limits `json:"limits"`
	Suspended bool         `json:"suspended,omitempty"`
	Making    bool         `json:"making,omitempty"`   // it is incomplete: the next start removes it
	Deleting  bool         `json:"deleting,omitempty"` // its deletion has begun; the next start finishes it
	CreatedAt time.Time    `json:"created_at"`
	// Epoch is that in which the account was made. Left is the one in which it left for another machine; 0: it has not. An
	// account that has left is suspended, and its domains are free.
	Epoch int64 `json:"epoch,omitempty"`
	Left  int64 `json:"left,omitempty"`
	// Forward is where the machine answers that has an account which has left.
	Forward panel.Forward `json:"forward,omitzero"`
	// Held keeps an account as it is; it is suspended meanwhile. See panel.Moving.
	Held *Held `json:"held,omitempty"`
	// Arriving says that the content of the account is still to come.
	Arriving bool `json:"arriving,omitempty"`
}

// Held is a hold of an account, the last one also after its end.
type Held struct {
	Move      int64     `json:"move"`
	Try       int64     `json:"try"`
	Until     time.Time `json:"until,omitzero"` // when it ends by itself; zero: it does not
	Suspended bool      `json:"suspended"`      // whether the account is suspended beside
	Applied   bool      `json:"applied"`        // whether everything has stopped
	Ended     bool      `json:"ended"`
}

// OnHold tells that a hold lasts.
func (r Record) OnHold() bool { return r.Held != nil && !r.Held.Ended }

// Idle tells that nothing may happen in the account: no program of it runs, and it gets no mail.
func (r Record) Idle() bool { return r.Suspended || r.Arriving }

// User is the Linux user as whom everything of an account runs. The zero value is none: the machine keeps accounts as
// directories, and the process's own user does everything.
type User struct {
	Name string `json:"name"` // on the machine
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

// Account is an account as facilities see it.
type Account struct {
	Record
	Home string // absolute path of the account's files
	// Jail is the directory around the home, owned by root; empty when accounts have no user.
	Jail string
}

// Domain is a name and the directory in the home from which it is served.
type Domain struct {
	Name         string `json:"name"`
	DocumentRoot string `json:"document_root"` // slash-separated, without a leading slash
	RedirectTo   string `json:"redirect_to,omitempty"`
	ForceHTTPS   bool   `json:"force_https,omitempty"`
	NoMail       bool   `json:"no_mail,omitempty"` // see panel.Domain
}

// there reports whether the account is whole: it is made, and its deletion has not begun.
func (r Record) there() bool { return !r.Making && !r.Deleting }

// clone keeps callers from changing the driver's copy.
func (r Record) clone() Record {
	r.Domains = slices.Clone(r.Domains)
	if r.Held != nil {
		held := *r.Held
		r.Held = &held
	}
	return r
}

// Find is the index of a domain in Domains, -1 when the account does not have it.
func (r Record) Find(name string) int {
	return slices.IndexFunc(r.Domains, func(d Domain) bool { return d.Name == name })
}

var (
	refPattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	namePattern = regexp.MustCompile(`^[a-z][a-z0-9]{0,30}[a-z0-9]$`)
)

// check returns the specification in canonical form, or what is wrong with it.
func check(spec panel.AccountSpec) (panel.AccountSpec, error) {
	if !refPattern.MatchString(spec.Ref) {
		return spec, fmt.Errorf("%w: ref %q", panel.ErrInvalid, spec.Ref)
	}
	if spec.Username != "" && !namePattern.MatchString(spec.Username) {
		return spec, fmt.Errorf("%w: user name %q", panel.ErrInvalid, spec.Username)
	}
	if err := checkLimits(spec.Limits); err != nil {
		return spec, err
	}
	domain, err := panel.CanonicalDomain(spec.PrimaryDomain)
	spec.PrimaryDomain = domain
	return spec, err
}

func checkLimits(l panel.Limits) error {
	const most = 1 << 40 // mebibytes; keeps the product with 1 MiB within an int64
	if l.DiskMB < 0 || l.DiskMB > most || l.Inodes < 0 || l.Domains < 0 || l.CPUPercent < 0 || l.MemoryMB < 0 || l.Processes < 0 {
		return fmt.Errorf("%w: limits %+v", panel.ErrInvalid, l)
	}
	return nil
}

// checkRecord checks the invariants of a record, read or to be written.
func checkRecord(r Record) error {
	if !refPattern.MatchString(r.Ref) || !namePattern.MatchString(r.Name) || len(r.Domains) == 0 {
		return fmt.Errorf("%w: account %q named %q with %d domains", panel.ErrInvalid, r.Ref, r.Name, len(r.Domains))
	}
	seen := make(map[string]bool, len(r.Domains))
	for _, d := range r.Domains {
		if name, err := panel.CanonicalDomain(d.Name); err != nil || name != d.Name || seen[name] {
			return fmt.Errorf("%w: domain %q", panel.ErrInvalid, d.Name)
		}
		seen[d.Name] = true
		root := d.DocumentRoot
		if root == "" || path.Clean("/"+root) != "/"+root || strings.ContainsRune(root, 0) {
			return fmt.Errorf("%w: document root %q", panel.ErrInvalid, root)
		}
		if d.RedirectTo == "" {
			continue
		}
		if to, err := panel.RedirectURL(d.RedirectTo); err != nil || to != d.RedirectTo {
			return fmt.Errorf("%w: redirect to %q", panel.ErrInvalid, d.RedirectTo)
		}
	}
	return checkLimits(r.Limits)
}

// nameStem derives a user name from a domain: its letters and digits, a letter first.
func nameStem(domain string) string {
	var b strings.Builder
	for _, c := range strings.TrimPrefix(domain, "xn--") {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' && b.Len() > 0 {
			b.WriteRune(c)
		}
		if c == '.' || b.Len() == 12 {
			break
		}
	}
	if b.Len() < 2 {
		return "site"
	}
	return b.String()
}
