package hestia

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
)

// Panel is a HestiaCP server.
type Panel struct {
	cfg Config
	api *client

	mu    sync.Mutex
	users map[string]string // names of users by ref, as last seen; verified at each use
	// requested are the requested properties of databases, by name, that the server cannot store: the version of the
	// password, the bound, the name of the engine. A new process has none and reports so, and the caller sets them once
	// more.
	requested map[string]panel.Database
}

var (
	_ panel.Panel    = (*Panel)(nil)
	_ panel.Accounts = (*Panel)(nil)
	_ panel.Usages   = (*Panel)(nil)
	_ panel.Sites    = (*Panel)(nil)

	_ panel.Databases = (*Panel)(nil)
	_ panel.Cron      = (*Panel)(nil)
)

// nobody is a contact at a domain that never exists (RFC 2606).
const nobody = "hosting@stead.invalid"

// New is the server at cfg.URL. It connects when it is first called.
func New(cfg Config) (*Panel, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("hestia: the address must be https://host:port, because the key goes there")
	}
	access, key, ok := strings.Cut(cfg.AccessKey, ":")
	if !ok || len(access) != 20 || len(key) != 40 {
		return nil, errors.New("hestia: the access key must be ACCESS_KEY:SECRET_KEY as v-add-access-key prints them, of 20 and 40 characters")
	}
	if cfg.Contact == "" {
		cfg.Contact = nobody
	}
	if cfg.Timezone == "" {
		cfg.Timezone = "UTC"
	}
	return &Panel{cfg: cfg, api: newClient(cfg), users: map[string]string{}, requested: map[string]panel.Database{}}, nil
}

// Name implements panel.Panel.
func (*Panel) Name() string { return "hestia" }

// user is an entry of v-list-user and v-list-users. All values are strings there.
type user struct {
	Name         string `json:"NAME"`
	Package      string `json:"PACKAGE"`
	Suspended    string `json:"SUSPENDED"`
	NS           string `json:"NS"`
	DiskMB       string `json:"U_DISK"`
	BandwidthMB  string `json:"U_BANDWIDTH"`
	WebDomains   string `json:"U_WEB_DOMAINS"`
	Time         string `json:"TIME"`
	Date         string `json:"DATE"`
	login        string
	ref, primary string
}

const tag = "stead"

// tagOf is the full name of an account's user.
func tagOf(ref, primary string) string { return tag + " " + ref + " " + primary }

// own parses the tag; false for a user that Stead did not create.
func (u *user) own() bool {
	parts := strings.Fields(u.Name)
	if len(parts) != 3 || parts[0] != tag {
		return false
	}
	u.ref, u.primary = parts[1], parts[2]
	return true
}

func (u *user) created() time.Time {
	at, err := time.Parse("2006-01-02 15:04:05", u.Date+" "+u.Time)
	if err != nil {
		return time.Time{}
	}
	return at
}

// find looks for the user of an account; ErrNotFound when there is none.
func (p *Panel) find(ctx context.Context, ref string) (user, error) {
	p.mu.Lock()
	login := p.users[ref]
	p.mu.Unlock()
	if login != "" {
		found, err := list[map[string]user](ctx, p.api, "v-list-user", login)
		if u, ok := found[login]; err == nil && ok && u.own() && u.ref == ref {
			u.login = login
			return u, nil
		}
		if err != nil && !errors.Is(err, panel.ErrNotFound) {
			return user{}, err
		}
	}
	all, err := list[map[string]user](ctx, p.api, "v-list-users")
	if err != nil {
		return user{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.users, ref)
	var match user
	for login, u := range all {
		if !u.own() {
			continue
		}
		p.users[u.ref] = login
		if u.ref == ref {
			match = u
			match.login = login
		}
	}
	if match.login == "" {
		return user{}, fmt.Errorf("%w: no user is of account %s", panel.ErrNotFound, ref)
	}
	return match, nil
}

// domain is an entry of v-list-web-domain.
type domain struct {
	IP           string `json:"IP"`
	IP6          string `json:"IP6"`
	DocumentRoot string `json:"DOCUMENT_ROOT"`
	Custom       string `json:"CUSTOM_DOCROOT"`
	SSL          string `json:"SSL"`
	SSLForce     string `json:"SSL_FORCE"`
	Redirect     string `json:"REDIRECT"`
}

var (
	refForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	userForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,28}[a-z0-9]$`)
)

// CreateAccount implements panel.Accounts.
func (p *Panel) CreateAccount(ctx context.Context, spec panel.AccountSpec) (panel.Account, error) {
	acc, err := p.create(ctx, spec)
	return acc, panel.Wrap("accounts.create", spec.Ref, err)
}

func (p *Panel) create(ctx context.Context, spec panel.AccountSpec) (panel.Account, error) {
	if !refForm.MatchString(spec.Ref) {
		return panel.Account{}, fmt.Errorf("%w: ref %q", panel.ErrInvalid, spec.Ref)
	}
	if spec.Username == "" {
		spec.Username = "s" + strings.Trim(regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(strings.ToLower(spec.Ref), ""), "-")
		if len(spec.Username) < 2 {
			spec.Username += "0"
		}
	}
	if !userForm.MatchString(spec.Username) {
		return panel.Account{}, fmt.Errorf("%w: user name %q", panel.ErrInvalid, spec.Username)
	}
	primary, err := panel.CanonicalDomain(spec.PrimaryDomain)
	if err != nil {
		return panel.Account{}, err
	}
	pkg, err := p.ensurePackage(ctx, spec.Limits)
	if err != nil {
		return panel.Account{}, err
	}
	u, err := p.find(ctx, spec.Ref)
	if errors.Is(err, panel.ErrNotFound) {
		err = p.api.run(ctx, "v-add-user", spec.Username, secret.Token("", 24)+"aA1!", p.cfg.Contact, pkg, tagOf(spec.Ref, primary))
		if err == nil || errors.Is(err, panel.ErrExists) {
			// Of several concurrent creators one succeeds, and all find the result.
			taken := err
			if u, err = p.find(ctx, spec.Ref); errors.Is(err, panel.ErrNotFound) && taken != nil {
				err = taken
			}
		}
	}
	if err != nil {
		return panel.Account{}, err
	}
	if u.primary != primary {
		return panel.Account{}, fmt.Errorf("%w: account %s is of %s", panel.ErrExists, spec.Ref, u.primary)
	}
	err = p.api.run(ctx, "v-add-web-domain", u.login, primary)
	if errors.Is(err, panel.ErrExists) {
		_, mineErr := p.domain(ctx, u.login, primary)
		switch {
		case mineErr == nil:
			err = nil // an earlier call added it
		case errors.Is(mineErr, panel.ErrNotFound):
			// Another user has the name. Remove what was just created, so that a second call starts again; a user with
			// other domains is a complete account, and stays.
			others, _, listErr := p.domains(ctx, u)
			if listErr == nil && len(others) == 0 {
				listErr = p.api.run(ctx, "v-delete-user", u.login)
			}
			err = errors.Join(err, listErr)
		default:
			err = mineErr
		}
	}
	if err != nil && !errors.Is(err, panel.ErrSuspended) {
		return panel.Account{}, err
	}
	return p.account(ctx, spec.Ref)
}

// Account implements panel.Accounts.
func (p *Panel) Account(ctx context.Context, ref string) (panel.Account, error) {
	acc, err := p.account(ctx, ref)
	return acc, panel.Wrap("accounts.get", ref, err)
}

func (p *Panel) account(ctx context.Context, ref string) (panel.Account, error) {
	u, err := p.find(ctx, ref)
	if err != nil {
		return panel.Account{}, err
	}
	domains, first, err := p.domains(ctx, u)
	if err != nil {
		return panel.Account{}, err
	}
	if len(domains) == 0 || !domains[0].Primary {
		return panel.Account{}, fmt.Errorf("%w: account %s is not complete", panel.ErrNotFound, ref)
	}
	acc := panel.Account{
		Ref: ref, Username: u.login, PrimaryDomain: u.primary, Domains: domains, Limits: limitsOf(u.Package),
		Status: panel.AccountActive, CreatedAt: u.created(), OriginURL: "http://" + first.IP, IPv4: first.IP, IPv6: first.IP6,
		Location: p.cfg.Location,
	}
	if u.NS != "" {
		acc.Nameservers = strings.Split(u.NS, ",")
	}
	if u.Suspended == "yes" {
		acc.Status = panel.AccountSuspended
	}
	return acc, nil
}

// SuspendAccount implements panel.Accounts.
func (p *Panel) SuspendAccount(ctx context.Context, ref string) error {
	return panel.Wrap("accounts.suspend", ref, p.switchUser(ctx, ref, "v-suspend-user", codeSuspended))
}

// UnsuspendAccount implements panel.Accounts.
func (p *Panel) UnsuspendAccount(ctx context.Context, ref string) error {
	return panel.Wrap("accounts.unsuspend", ref, p.switchUser(ctx, ref, "v-unsuspend-user", codeUnsuspended))
}

// switchUser runs a command that may answer that the user is in that state already.
func (p *Panel) switchUser(ctx context.Context, ref, cmd string, already int) error {
	u, err := p.find(ctx, ref)
	if err != nil {
		return err
	}
	if err := p.api.run(ctx, cmd, u.login); codeOf(err) != already {
		return err
	}
	return nil
}

// UpdateAccount implements panel.Accounts.
func (p *Panel) UpdateAccount(ctx context.Context, ref string, limits panel.Limits) (panel.Account, error) {
	acc, err := p.update(ctx, ref, limits)
	return acc, panel.Wrap("accounts.update", ref, err)
}

func (p *Panel) update(ctx context.Context, ref string, limits panel.Limits) (panel.Account, error) {
	u, err := p.find(ctx, ref)
	if err != nil {
		return panel.Account{}, err
	}
	pkg, err := p.ensurePackage(ctx, limits)
	if err != nil {
		return panel.Account{}, err
	}
	if u.Package != pkg {
		// Forced: limits below the usage stop growth and delete nothing.
		if err := p.api.run(ctx, "v-change-user-package", u.login, pkg, "yes"); err != nil {
			return panel.Account{}, err
		}
	}
	return p.account(ctx, ref)
}

// DeleteAccount implements panel.Accounts.
func (p *Panel) DeleteAccount(ctx context.Context, ref string) error {
	u, err := p.find(ctx, ref)
	if err == nil {
		err = p.api.run(ctx, "v-delete-user", u.login)
	}
	if err == nil {
		p.mu.Lock()
		delete(p.users, ref)
		p.mu.Unlock()
	}
	return panel.Wrap("accounts.delete", ref, err)
}

// A package is named after its limits: stead-<disk>-<inodes>-<domains>-<cpu>-<memory>-<processes>. The server enforces
// the disk, the domains, and CPU and memory where its resource limits are on.
func packageOf(l panel.Limits) string {
	return fmt.Sprintf("%s-%d-%d-%d-%d-%d-%d", tag, l.DiskMB, l.Inodes, l.Domains, l.CPUPercent, l.MemoryMB, l.Processes)
}

func limitsOf(pkg string) (l panel.Limits) {
	_, err := fmt.Sscanf(pkg, tag+"-%d-%d-%d-%d-%d-%d", &l.DiskMB, &l.Inodes, &l.Domains, &l.CPUPercent, &l.MemoryMB, &l.Processes)
	if err != nil {
		return panel.Limits{} // an operator gave the user another package
	}
	return l
}

// ensurePackage creates a package for the limits if needed, and returns its name.
func (p *Panel) ensurePackage(ctx context.Context, l panel.Limits) (string, error) {
	if l.DiskMB < 0 || min(l.Inodes, int64(l.Domains), int64(l.CPUPercent), int64(l.MemoryMB), int64(l.Processes)) < 0 {
		return "", fmt.Errorf("%w: a limit is negative", panel.ErrInvalid)
	}
	name := packageOf(l)
	if _, err := list[map[string]any](ctx, p.api, "v-list-user-package", name); !errors.Is(err, panel.ErrNotFound) {
		return name, err
	}
	bound := func(n int64, unit string) string {
		if n == 0 {
			return "unlimited"
		}
		return strconv.FormatInt(n, 10) + unit
	}
	content := strings.Join([]string{
		"WEB_TEMPLATE='default'", "BACKEND_TEMPLATE='default'", "PROXY_TEMPLATE='default'", "DNS_TEMPLATE='default'",
		"WEB_DOMAINS='" + bound(int64(l.Domains), "") + "'", "WEB_ALIASES='unlimited'", "DNS_DOMAINS='unlimited'", "DNS_RECORDS='unlimited'",
		"MAIL_DOMAINS='unlimited'", "MAIL_ACCOUNTS='unlimited'", "RATE_LIMIT='200'", "DATABASES='unlimited'", "CRON_JOBS='unlimited'",
		"DISK_QUOTA='" + bound(l.DiskMB, "") + "'", "CPU_QUOTA='" + bound(int64(l.CPUPercent), "%") + "'", "CPU_QUOTA_PERIOD='unlimited'",
		"MEMORY_LIMIT='" + bound(int64(l.MemoryMB), "M") + "'", "SWAP_LIMIT='unlimited'", "BANDWIDTH='unlimited'",
		"NS=''", "SHELL='nologin'", "BACKUPS='1'", "BACKUPS_INCREMENTAL='no'",
	}, "\n")
	file := name + "." + strings.ToLower(secret.Token("", 8))
	if err := p.api.run(ctx, "v-make-tmp-file", content, file); err != nil {
		return "", err
	}
	if err := p.api.run(ctx, "v-add-user-package", "/tmp/"+file, name); err != nil && !errors.Is(err, panel.ErrExists) {
		return "", err
	}
	return name, nil
}

// Usage implements panel.Usages.
func (p *Panel) Usage(ctx context.Context, ref string) (panel.Usage, error) {
	u, err := p.find(ctx, ref)
	if err != nil {
		return panel.Usage{}, panel.Wrap("usage", ref, err)
	}
	traffic := number(u.BandwidthMB) << 20
	return panel.Usage{
		DiskBytes: number(u.DiskMB) << 20, Domains: int(number(u.WebDomains)), TrafficBytes: &traffic, Limits: limitsOf(u.Package),
	}, nil
}

// number parses a number of the server's; anything else is zero.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Domains implements panel.Sites.
func (p *Panel) Domains(ctx context.Context, ref string) ([]panel.Domain, error) {
	u, err := p.find(ctx, ref)
	var all []panel.Domain
	if err == nil {
		all, _, err = p.domains(ctx, u)
	}
	return all, panel.Wrap("sites.list", ref, err)
}

// domains returns a user's domains, the primary one first, and the server's entry of that.
func (p *Panel) domains(ctx context.Context, u user) ([]panel.Domain, domain, error) {
	names, err := list[map[string]domain](ctx, p.api, "v-list-web-domains", u.login)
	if err != nil {
		return nil, domain{}, err
	}
	var (
		all   []panel.Domain
		first domain
	)
	for name := range names {
		// Only the entry of a single domain has its redirect.
		d, err := p.domain(ctx, u.login, name)
		if errors.Is(err, panel.ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, domain{}, err
		}
		if name == u.primary {
			first = d
		}
		all = append(all, shown(u, name, d))
	}
	slices.SortFunc(all, func(a, b panel.Domain) int {
		if a.Primary != b.Primary {
			if a.Primary {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, first, nil
}

func (p *Panel) domain(ctx context.Context, login, name string) (domain, error) {
	found, err := list[map[string]domain](ctx, p.api, "v-list-web-domain", login, name)
	if err != nil {
		return domain{}, err
	}
	d, ok := found[name]
	if !ok {
		return domain{}, fmt.Errorf("%w: domain %s", panel.ErrNotFound, name)
	}
	return d, nil
}

// The server serves a domain from a directory below web/<a domain>/public_html of the user's home. The port's
// /public_html is the primary domain's, with everything below it, and /<domain> is another domain's own.
const publicHTML = "/public_html"

func shown(u user, name string, d domain) panel.Domain {
	root := d.Custom
	if root == "" {
		root = d.DocumentRoot
	}
	_, below, _ := strings.Cut(path.Clean(root), "/web/")
	owner, dir, _ := strings.Cut(below, publicHTML)
	at := "/" + owner + dir
	if owner == u.primary {
		at = publicHTML + dir
	}
	out := panel.Domain{
		Name: name, DocumentRoot: at, Primary: name == u.primary, RedirectTo: d.Redirect, ForceHTTPS: d.SSLForce == "yes", TLS: panel.TLSNone,
	}
	if d.SSL == "yes" {
		out.TLS = panel.TLSActive
	}
	return out
}

// target returns the domain of a document root, and its directory below that domain's public_html.
func target(u user, name, root string) (owner, dir string, err error) {
	root = path.Clean("/" + strings.TrimPrefix(root, "/"))
	if root == "/" {
		return u.primary, "", nil
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(root, "/"), "/")
	switch first {
	case strings.TrimPrefix(publicHTML, "/"):
		return u.primary, rest, nil
	case name:
		return name, rest, nil
	default:
		return "", "", fmt.Errorf("%w: the server serves from %s, or from /%s", panel.ErrUnsupported, publicHTML, name)
	}
}

// SetDomain implements panel.Sites.
func (p *Panel) SetDomain(ctx context.Context, ref string, d panel.Domain) (panel.Domain, error) {
	d, err := p.setDomain(ctx, ref, d)
	return d, panel.Wrap("sites.set", ref, err)
}

func (p *Panel) setDomain(ctx context.Context, ref string, want panel.Domain) (panel.Domain, error) {
	u, err := p.find(ctx, ref)
	if err != nil {
		return panel.Domain{}, err
	}
	name, err := panel.CanonicalDomain(want.Name)
	if err != nil {
		return panel.Domain{}, err
	}
	if strings.Contains(want.DocumentRoot, "..") || strings.ContainsRune(want.DocumentRoot, 0) {
		return panel.Domain{}, fmt.Errorf("%w: %q", panel.ErrPathNotAllowed, want.DocumentRoot)
	}
	owner, dir, err := target(u, name, want.DocumentRoot)
	if err != nil {
		return panel.Domain{}, err
	}
	if want.RedirectTo != "" {
		if want.RedirectTo, err = panel.RedirectURL(want.RedirectTo); err != nil {
			return panel.Domain{}, err
		}
	}
	if u.Suspended == "yes" {
		return panel.Domain{}, panel.ErrSuspended
	}
	now, err := p.domain(ctx, u.login, name)
	if errors.Is(err, panel.ErrNotFound) {
		if err = p.api.run(ctx, "v-add-web-domain", u.login, name); err == nil {
			now, err = p.domain(ctx, u.login, name)
		}
	}
	if err != nil {
		return panel.Domain{}, err
	}
	if want.ForceHTTPS && now.SSL != "yes" {
		return panel.Domain{}, fmt.Errorf("%w: %s has no certificate", panel.ErrUnsupported, name)
	}
	have := shown(u, name, now)
	// An existing domain without a given root keeps its own.
	if want.DocumentRoot != "" || !have.Primary {
		if err := p.setRoot(ctx, u, have, owner, dir); err != nil {
			return panel.Domain{}, err
		}
	}
	if err := p.setForwarding(ctx, u.login, have, want); err != nil {
		return panel.Domain{}, err
	}
	if want.Primary && u.primary != name {
		if err := p.api.run(ctx, "v-change-user-name", u.login, tagOf(ref, name)); err != nil {
			return panel.Domain{}, err
		}
		u.primary = name
	}
	if now, err = p.domain(ctx, u.login, name); err != nil {
		return panel.Domain{}, err
	}
	return shown(u, name, now), nil
}

func (p *Panel) setRoot(ctx context.Context, u user, have panel.Domain, owner, dir string) error {
	wish := "/" + path.Join(owner, dir)
	if owner == u.primary {
		wish = path.Join(publicHTML, dir)
	}
	if have.DocumentRoot == wish {
		return nil
	}
	if dir == "" && owner == have.Name {
		return p.api.run(ctx, "v-change-web-domain-docroot", u.login, have.Name, "default")
	}
	if dir != "" { // the server only serves from existing directories
		full := "/home/" + u.login + "/web/" + owner + publicHTML + "/" + dir
		if err := p.api.run(ctx, "v-add-fs-directory", u.login, full); err != nil && !errors.Is(err, panel.ErrExists) {
			return err
		}
	}
	return p.api.run(ctx, "v-change-web-domain-docroot", u.login, have.Name, owner, dir)
}

// setForwarding sets a domain's redirect and HTTPS forcing.
func (p *Panel) setForwarding(ctx context.Context, login string, have, want panel.Domain) error {
	if have.RedirectTo != want.RedirectTo {
		if have.RedirectTo != "" {
			if err := p.api.run(ctx, "v-delete-web-domain-redirect", login, have.Name, "yes"); err != nil && !errors.Is(err, panel.ErrNotFound) {
				return err
			}
		}
		if want.RedirectTo != "" {
			if err := p.api.run(ctx, "v-add-web-domain-redirect", login, have.Name, want.RedirectTo, "301", "yes"); err != nil {
				return err
			}
		}
	}
	switch {
	case want.ForceHTTPS && !have.ForceHTTPS:
		return p.api.run(ctx, "v-add-web-domain-ssl-force", login, have.Name, "yes")
	case !want.ForceHTTPS && have.ForceHTTPS:
		return p.api.run(ctx, "v-delete-web-domain-ssl-force", login, have.Name, "yes")
	default:
		return nil
	}
}

// RemoveDomain implements panel.Sites.
func (p *Panel) RemoveDomain(ctx context.Context, ref, name string) error {
	return panel.Wrap("sites.remove", ref, p.removeDomain(ctx, ref, name))
}

func (p *Panel) removeDomain(ctx context.Context, ref, name string) error {
	u, err := p.find(ctx, ref)
	if err != nil {
		return err
	}
	if name, err = panel.CanonicalDomain(name); err != nil {
		return err
	}
	if name == u.primary {
		return fmt.Errorf("%w: %s is the primary domain", panel.ErrInUse, name)
	}
	return p.api.run(ctx, "v-delete-web-domain", u.login, name, "yes")
}
