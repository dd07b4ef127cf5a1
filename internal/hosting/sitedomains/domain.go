package sitedomains

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Kind is what a domain is to its service.
type Kind string

// The kinds of domains.
const (
	Primary   Kind = "primary"   // the service's own
	Addon     Kind = "addon"     // a site of its own
	Alias     Kind = "alias"     // another name of the primary domain's site
	Subdomain Kind = "subdomain" // a site below one of the service's domains
)

// firstRoot is where the site of a new service is.
const firstRoot = "/public_html"

// domain is a row of the table hosting_domains.
type domain struct {
	site.Item
	name         string
	kind         Kind
	documentRoot *string // nil: an alias, which shows the primary domain's site
	redirectTo   *string
	forceHTTPS   bool
	tls          panel.TLS
	createdAt    time.Time
	activatedAt  *time.Time // when the panel first had it
	dns          pointing
	primaryRoot  string // the primary domain's document root
	// displacedName is the name that the domain had before another account turned out to own it; nil: it has its own.
	displacedName *string
}

// PanelName implements site.Row.
func (d domain) PanelName() string { return d.name }

// wanted is the domain as the panel should have it. root is the primary domain's.
func (d domain) wanted(root string) panel.Domain {
	w := panel.Domain{Name: d.name, DocumentRoot: root, Primary: d.kind == Primary, ForceHTTPS: d.forceHTTPS}
	if d.documentRoot != nil {
		w.DocumentRoot = *d.documentRoot
	}
	if d.redirectTo != nil {
		w.RedirectTo = *d.redirectTo
	}
	return w
}

// wish is a domain that a customer wants to add.
type wish struct {
	name, documentRoot, redirectTo string
	kind                           Kind
}

// parse makes the row of a wish or says what is wrong with it.
func (w wish) parse(reserved []string) (domain, error) {
	name, err := domainname.ForSite(w.name, reserved)
	if err != nil {
		return domain{}, err
	}
	d := domain{name: name, kind: w.kind}
	if w.kind == Alias {
		if w.documentRoot != "" {
			return d, fault.Invalid("document_root", "hosting_alias_root")
		}
		return d, nil
	}
	root := "/sites/" + name
	if w.documentRoot != "" {
		if root, err = cleanRoot(w.documentRoot); err != nil {
			return d, err
		}
	}
	d.documentRoot = &root
	return d, nil
}

// change is what a customer wants of a domain; nil leaves a member as it is.
type change struct {
	documentRoot, redirectTo *string // redirectTo: empty ends the redirect
	forceHTTPS               *bool
	primary                  bool // only to primary
}

// with is the domain after the change, not yet with another kind.
func (d domain) with(c change) (domain, error) {
	if c.documentRoot != nil {
		if d.kind == Alias && !c.primary {
			return d, fault.Invalid("document_root", "hosting_alias_root")
		}
		root, err := cleanRoot(*c.documentRoot)
		if err != nil {
			return d, err
		}
		d.documentRoot = &root
	}
	if c.redirectTo != nil {
		d.redirectTo = nil
		if *c.redirectTo != "" {
			to, err := d.redirect(*c.redirectTo)
			if err != nil {
				return d, err
			}
			d.redirectTo = &to
		}
	}
	if c.forceHTTPS != nil {
		if *c.forceHTTPS && !d.forceHTTPS && d.tls != panel.TLSActive {
			return d, fault.UnsupportedOperation.Wrapf("hosting: HTTPS of %s is %s", d.name, d.tls)
		}
		d.forceHTTPS = *c.forceHTTPS
	}
	return d, nil
}

// redirect checks an address that visitors of the domain are sent to. It must not send them round in
// a circle: the domain answers for its www name too.
func (d domain) redirect(to string) (string, error) {
	to, err := panel.RedirectURL(to)
	if err != nil {
		invalid := fault.Invalid("redirect_to", "hosting_redirect")
		invalid.Cause = err
		return "", invalid
	}
	_, host, _ := strings.Cut(to, "://")
	if i := strings.IndexAny(host, ":/?"); i >= 0 {
		host = host[:i]
	}
	if host == d.name || host == "www."+d.name {
		return "", fault.Invalid("redirect_to", "hosting_redirect_loop")
	}
	return to, nil
}

// sameWish tells whether two rows ask the same of the panel.
func (d domain) sameWish(o domain) bool { return d.kind == o.kind && d.wanted("") == o.wanted("") }

const maxRoot = 512

// cleanRoot is a document root as it is stored: a path in the service's home that visitors may see. The
// panel judges it again, next to the files; here it is refused at once.
func cleanRoot(dir string) (string, error) {
	refuse := func() (string, error) {
		return "", fault.PathNotAllowed.Wrapf("hosting: document root %q", dir)
	}
	if len(dir) > maxRoot || !utf8.ValidString(dir) || strings.ContainsFunc(dir, unicode.IsControl) {
		return refuse()
	}
	for segment := range strings.SplitSeq(dir, "/") {
		if strings.HasPrefix(segment, ".") && segment != "." || len(segment) > 255 {
			return refuse() // upwards, or hidden
		}
	}
	root := path.Clean("/" + dir)
	switch top, _, _ := strings.Cut(root[1:], "/"); top {
	case "", "logs", "tmp": // they are the service's own
		return refuse()
	}
	return root, nil
}

// primaryOf is the primary domain among a service's; false while there is none.
func primaryOf(all []domain) (domain, bool) {
	i := slices.IndexFunc(all, func(d domain) bool { return d.kind == Primary })
	if i < 0 {
		return domain{}, false
	}
	return all[i], true
}

// below tells whether one of the domains, none that goes, is above the name.
func below(all []domain, name string) bool {
	return slices.ContainsFunc(all, func(d domain) bool {
		return d.Status != site.Removing && d.name != name && domainname.Within(name, d.name)
	})
}

// dependent tells whether a subdomain would be without its parent when the name went.
func dependent(all []domain, name string) bool {
	rest := slices.DeleteFunc(slices.Clone(all), func(d domain) bool { return d.name == name })
	return slices.ContainsFunc(rest, func(d domain) bool {
		return d.kind == Subdomain && d.Status != site.Removing && domainname.Within(d.name, name) && !below(rest, d.name)
	})
}
