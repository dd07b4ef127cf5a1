package app

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/intx"
	"stead.dev/stead/internal/platform/probe"
	"stead.dev/stead/internal/port/registrar/rdap"
	"stead.dev/stead/internal/port/registrar/whois"
)

// registrations knows when the registration of a domain ends: by our own registrations, by the RDAP server of the price book
// or of IANA's list, and by the WHOIS server of the price book.
func (c *core) registrations() probe.Expiry {
	client := &http.Client{Transport: intx.Transport{Next: http.DefaultTransport}}
	list := rdap.NewBootstrap(client, c.cfg.RDAPServers, c.clock)
	return probe.NewRegistries(c.clock, ownRegistrations{c},
		rdap.New(client, func(ctx context.Context, name string) string {
			address, _, _ := c.domains.Servers(ctx, name)
			if address == "" && c.cfg.RDAPServers != config.Off {
				address = list.Server(ctx, name)
			}
			return address
		}),
		whois.New(func(ctx context.Context, name string) whois.Server {
			_, address, free := c.domains.Servers(ctx, name)
			return whois.Server{Address: address, Free: free}
		}),
	)
}

// ownRegistrations are the domains that are registered here.
type ownRegistrations struct{ c *core }

// Expires implements probe.Expiry.
func (o ownRegistrations) Expires(ctx context.Context, domain string) (time.Time, bool, error) {
	at, registered, err := o.c.domains.Expires(ctx, domain)
	if err == nil && !registered {
		err = probe.ErrUnknownExpiry // somebody else may have registered it
	}
	return at, registered, err
}
