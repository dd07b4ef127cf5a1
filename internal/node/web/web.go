// Package web makes the sites of a machine answer HTTP.
//
// What must hold: a site is served byte for byte and nothing outside its document root ever is,
// whatever the address and whatever links the customer makes; a validator is never older than the
// content; a change of sites takes effect with the next request; the number of files held open does
// not grow with the number of sites.
package web

import (
	"context"

	"stead.dev/stead/internal/port/panel"
)

// Server gets the sites of each account. GoServer is the driver for a fresh machine; one that writes configuration for
// a daemon has the same methods.
type Server interface {
	// Apply sets all sites of the account; none ends its service. Applying the same again changes nothing.
	Apply(ctx context.Context, account string, sites []Site) error
	// Close writes what is pending.
	Close() error
}

// Expecter is a Server whose sites are served while no process is there that applies them. One that starts tells it of
// all accounts before it applies the first: else a name beginning with "www." would be taken for nobody's, and shown as
// another's, until its own account's turn comes.
type Expecter interface {
	Expect(account string, sites []Site)
}

// Prover is a Server of HTTPS with a certificate of the machine's own, for ProofName.
type Prover interface {
	// Proof is that certificate in PEM; empty without HTTPS.
	Proof() (string, error)
}

// Site is a group of names that are answered in the same way: from a document root, or by a redirect. "www." of a name
// is answered too, unless another site has it.
type Site struct {
	Domain       string   // names the site and its log; canonical (panel.CanonicalDomain)
	Aliases      []string // more names; canonical
	Home         string   // the account's directory on this machine
	DocumentRoot string   // below Home, slash-separated
	RedirectTo   string   // where visitors are redirected; see panel.RedirectURL
	ForceHTTPS   bool     // redirects visitors of plain HTTP to the same address by HTTPS
	Suspended    bool
	// Moving answers that the site will be back in a moment. ReadOnly answers so for programs, which could write, and serves files.
	Moving, ReadOnly bool
	// Forward has another machine answer, unless it is nil.
	Forward *panel.Forward

	// Preview is a further name, under the machine's own domain, that shows the site before the DNS of its domain
	// points here; search engines are told to ignore it. Empty is none.
	Preview string
	// Certificate and CertificateKey are files with the chain and the key for HTTPS in PEM; empty uses the machine's
	// self-signed one. The Go server leaves HTTPS to the listener.
	Certificate, CertificateKey string
	HSTS                        bool // tells browsers to use HTTPS only (RFC 6797)
	// PHP is the FastCGI socket of the account's PHP; empty runs no programs.
	PHP string
	// Closed are the directories of the document root that visitors may not have.
	Closed []Closed
	// Mail are those of the names that have mailboxes: at them, and at names below them, mail programs ask for their settings.
	Mail []string
	// GID is the group that may read the account's logs.
	GID int
}

// hosts are all names of the site.
func (s Site) hosts() []string {
	hosts := append([]string{s.Domain}, s.Aliases...)
	if s.Preview != "" {
		hosts = append(hosts, s.Preview)
	}
	return hosts
}

// accessLog is the site's log below Home.
func (s Site) accessLog() string { return "logs/" + s.Domain + ".access.log" }
