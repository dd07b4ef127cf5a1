package certificates

import (
	"crypto/tls"
	"fmt"
	"strings"
	"sync"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// index maps domains to accounts, and caches certificates.
type index struct {
	mu      sync.Mutex
	account map[string]string           // of a domain
	domains map[string][]string         // of an account
	read    map[string]*tls.Certificate // by the file of the chain
}

func (x *index) set(account string, domains []accounts.Domain) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.account == nil {
		x.account, x.domains, x.read = map[string]string{}, map[string][]string{}, map[string]*tls.Certificate{}
	}
	for _, domain := range x.domains[account] {
		if x.account[domain] == account {
			delete(x.account, domain)
		}
	}
	delete(x.domains, account)
	for _, d := range domains {
		x.account[d.Name] = account
		x.domains[account] = append(x.domains[account], d.Name)
	}
}

// of returns the account and the domain that serve a server name.
func (x *index) of(name string) (account, domain string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if account, ok = x.account[name]; ok {
		return account, name, true
	}
	domain, _ = strings.CutPrefix(name, "www.")
	account, ok = x.account[domain]
	return account, domain, ok
}

// maxRead bounds the cached certificates.
const maxRead = 4096

// ForHandshake returns the certificate for the name that a client requests; it is for tls.Config.GetCertificate.
func (d *Driver) ForHandshake(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name, err := panel.CanonicalHost(hello.ServerName)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	account, domain, ok := d.index.of(name)
	if !ok {
		return nil, fmt.Errorf("certificates: nobody has %s", name)
	}
	site, ok := d.Site(account, domain)
	if !ok {
		return nil, fmt.Errorf("certificates: none for %s", name)
	}
	d.index.mu.Lock()
	defer d.index.mu.Unlock()
	if c := d.index.read[site.Chain]; c != nil {
		return c, nil
	}
	c, err := tls.LoadX509KeyPair(site.Chain, site.Key)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	if len(d.index.read) >= maxRead {
		clear(d.index.read)
	}
	d.index.read[site.Chain] = &c
	return &c, nil
}
