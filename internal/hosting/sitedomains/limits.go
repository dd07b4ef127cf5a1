package sitedomains

import "stead.dev/stead/internal/hosting/site"

// counts are how many of each a service has. A domain that is on its way out
// counts no more.
type counts struct{ sites, domains, subdomains int64 }

func count(all []domain) counts {
	var c counts
	for _, d := range all {
		switch {
		case d.Status == site.Removing:
		case d.kind == Subdomain:
			c.subdomains++
		default:
			c.domains++
			if d.kind != Alias {
				c.sites++
			}
		}
	}
	return c
}

// refuse answers limit_reached when a change takes a count beyond its limit.
func refuse(l site.Limits, before, after counts) error {
	if err := l.Refuse("sites", before.sites, after.sites); err != nil {
		return err
	}
	if err := l.Refuse("domains", before.domains, after.domains); err != nil {
		return err
	}
	return l.Refuse("subdomains", before.subdomains, after.subdomains)
}
