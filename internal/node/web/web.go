// Package web makes the sites of a machine answer HTTP.
//
// What must hold: a site is served byte for byte and nothing outside its document root ever is,
// whatever the address and whatever links the customer makes; a validator is never older than the
// content; a change of sites takes effect with the next request; the number of files held open does
// not grow with the number of sites.
package web

import "context"

// Server is told which sites an account has. GoServer is the driver for a fresh machine; one that
// writes configuration for a daemon has the same methods.
type Server interface {
	// Apply makes sites all that is served of the account; none ends its service. Applying the
	// same again changes nothing.
	Apply(ctx context.Context, account string, sites []Site) error
	// Close writes out what is pending.
	Close() error
}

// Expecter is a Server whose sites are served while no process is there that applies them. One that starts tells it of
// all accounts before it applies the first: else a name beginning with "www." would be taken for nobody's, and shown as
// another's, until its own account's turn comes.
type Expecter interface {
	Expect(account string, sites []Site)
}

// Site is the names that are answered in one way: from a document root, or by a redirect. "www." of a name is answered too, unless
// another site has it.
type Site struct {
	Domain       string   // names the site and its log; canonical (panel.CanonicalDomain)
	Aliases      []string // more names; canonical
	Home         string   // the account's directory on this machine
	DocumentRoot string   // below Home, slash-separated
	RedirectTo   string   // where visitors are sent instead; see panel.RedirectURL
	ForceHTTPS   bool     // visitors who came by plain HTTP are sent to the same address by HTTPS
	Suspended    bool

	// Preview is one more name, under the machine's own domain, that shows the site before the DNS of
	// its domain points here; search engines are told to leave it alone. Empty is none.
	Preview string
	// Certificate and CertificateKey are files with the chain and the key for HTTPS in PEM; empty is the
	// machine's self-signed one. The Go server leaves HTTPS to whoever listens.
	Certificate, CertificateKey string
	HSTS                        bool // browsers are told to come by HTTPS only (RFC 6797)
	// PHP is the socket of the account's PHP, by FastCGI; empty serves no programs.
	PHP string
	// GID is the group by which the account reads the logs that the server keeps for it.
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
