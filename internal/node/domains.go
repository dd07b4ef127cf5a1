package node

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/node/certificates"
	"stead.dev/stead/internal/node/files"
	"stead.dev/stead/internal/port/panel"
)

// Domains implements panel.Sites.
func (n *Node) Domains(_ context.Context, ref string) ([]panel.Domain, error) {
	rec, err := n.here(ref)
	if err != nil {
		return nil, panel.Wrap("sites.list", ref, err)
	}
	return n.domains(rec), nil
}

func (n *Node) domains(rec accounts.Record) []panel.Domain {
	all := make([]panel.Domain, 0, len(rec.Domains))
	for i := range rec.Domains {
		all = append(all, n.domain(rec, i))
	}
	return all
}

// domain converts the account's domain to the port's form.
func (n *Node) domain(rec accounts.Record, i int) panel.Domain {
	d := rec.Domains[i]
	tls, _ := n.tls(rec.Name, d.Name)
	return panel.Domain{
		Name: d.Name, DocumentRoot: "/" + d.DocumentRoot, Primary: i == 0,
		RedirectTo: d.RedirectTo, ForceHTTPS: d.ForceHTTPS, NoMail: d.NoMail, TLS: tls,
	}
}

// tls is the state of a domain's HTTPS.
func (n *Node) tls(account, domain string) (panel.TLS, certificates.Site) {
	if n.certificates != nil {
		if s, ok := n.certificates.Site(account, domain); ok {
			return s.TLS, s
		}
	} else if n.cfg.HTTPS {
		return panel.TLSActive, certificates.Site{}
	}
	return panel.TLSNone, certificates.Site{}
}

// claimable returns why an account cannot add a domain, or nil. Names below PreviewDomain belong to the accounts of
// these names: a site there would replace another's. The machine's own names point here, so their owner could get a
// certificate for the machine, and its mail.
func (n *Node) claimable(ref, domain string) error {
	name := strings.ToLower(domain) // the user of the name refuses an invalid domain
	if rec, err := n.accounts.Get(ref); err == nil && rec.Find(name) >= 0 {
		return nil
	}
	for _, own := range append([]string{n.cfg.PreviewDomain}, n.cfg.Names...) {
		if own != "" && strings.HasSuffix("."+name, "."+strings.ToLower(own)) {
			return fmt.Errorf("%w: domain %s is the machine's", panel.ErrExists, name)
		}
	}
	return nil
}

// SetDomain implements panel.Sites.
func (n *Node) SetDomain(ctx context.Context, ref string, d panel.Domain) (panel.Domain, error) {
	d, err := n.setDomain(ctx, ref, d)
	return d, panel.Wrap("sites.set", ref, err)
}

func (n *Node) setDomain(ctx context.Context, ref string, d panel.Domain) (_ panel.Domain, err error) {
	set := accounts.Domain{ForceHTTPS: d.ForceHTTPS, NoMail: d.NoMail}
	if set.Name, err = panel.CanonicalDomain(d.Name); err != nil {
		return panel.Domain{}, err
	}
	if err := n.claimable(ref, set.Name); err != nil {
		return panel.Domain{}, err
	}
	if d.ForceHTTPS {
		if err := n.canForceHTTPS(ref, set.Name); err != nil {
			return panel.Domain{}, err
		}
	}
	if d.RedirectTo != "" {
		if set.RedirectTo, err = panel.RedirectURL(d.RedirectTo); err != nil {
			return panel.Domain{}, err
		}
	}
	if d.DocumentRoot != "" {
		if set.DocumentRoot, err = n.makeDocumentRoot(ctx, ref, d.DocumentRoot); err != nil {
			return panel.Domain{}, err
		}
	}
	rec, err := n.update(ctx, ref, func(rec *accounts.Record) error { return place(rec, set, d.Primary) })
	if err != nil {
		return panel.Domain{}, err
	}
	return n.domain(rec, max(rec.Find(set.Name), 0)), nil
}

// canForceHTTPS returns why visitors of the domain cannot be redirected to HTTPS, or nil. An existing redirect stays.
func (n *Node) canForceHTTPS(ref, domain string) error {
	rec, err := n.accounts.Get(ref)
	if err != nil {
		return err
	}
	if i := rec.Find(domain); i >= 0 && rec.Domains[i].ForceHTTPS {
		return nil
	}
	if state, _ := n.tls(rec.Name, domain); state != panel.TLSActive {
		return fmt.Errorf("%w: HTTPS of %s is %s", panel.ErrUnsupported, domain, state)
	}
	return nil
}

// makeDocumentRoot creates a site's document root and returns its name in the home.
func (n *Node) makeDocumentRoot(ctx context.Context, ref, dir string) (string, error) {
	root, err := files.CleanPath(dir)
	if err != nil {
		return "", err
	}
	if top := topDir(root); root == "." || top == "logs" || top == "tmp" {
		return "", fmt.Errorf("%w: %s is not for visitors", panel.ErrPathNotAllowed, dir)
	}
	_, err = n.Files.Mkdir(ctx, ref, dir)
	return root, err
}

// place adds a domain to the record, or replaces the one with its name.
func place(rec *accounts.Record, d accounts.Domain, primary bool) error {
	if d.DocumentRoot == "" {
		d.DocumentRoot = rec.Domains[0].DocumentRoot
	}
	i := rec.Find(d.Name)
	if i < 0 {
		if most := rec.Limits.Domains; most > 0 && len(rec.Domains) >= most {
			return fmt.Errorf("%w: %d domains", panel.ErrLimit, most)
		}
		i = len(rec.Domains)
		rec.Domains = append(rec.Domains, d)
	}
	rec.Domains[i] = d
	if primary {
		rec.Domains[0], rec.Domains[i] = rec.Domains[i], rec.Domains[0]
	}
	return nil
}

func topDir(name string) string {
	for path.Dir(name) != "." {
		name = path.Dir(name)
	}
	return name
}

// RemoveDomain implements panel.Sites.
func (n *Node) RemoveDomain(ctx context.Context, ref, name string) error {
	return panel.Wrap("sites.remove", ref, n.removeDomain(ctx, ref, name))
}

func (n *Node) removeDomain(ctx context.Context, ref, name string) error {
	name, err := panel.CanonicalDomain(name)
	if err != nil {
		return err
	}
	_, err = n.update(ctx, ref, func(rec *accounts.Record) error {
		i := rec.Find(name)
		switch i {
		case -1:
			return fmt.Errorf("%w: domain %s", panel.ErrNotFound, name)
		case 0:
			return fmt.Errorf("%w: %s is the primary domain", panel.ErrInUse, name)
		}
		rec.Domains = slices.Delete(rec.Domains, i, i+1)
		return nil
	})
	return err
}
