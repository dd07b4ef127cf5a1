package hosting

import (
	"encoding/json"
	"fmt"

	"stead.dev/stead/internal/platform/fault"
)

// unlimited is a plan's word for no limit.
const unlimited = -1

// limits of a plan, by the names of resources, section 12. What a plan does not
// name it does not limit.
type limits map[string]int64

func parseLimits(s Site) (limits, error) {
	var l limits
	if err := json.Unmarshal(s.Limits, &l); err != nil {
		return nil, fmt.Errorf("hosting: limits of service %d: %w", s.ServiceID, err)
	}
	return l, nil
}

func (l limits) of(name string) int64 {
	if most, ok := l[name]; ok && most >= 0 {
		return most
	}
	return unlimited
}

// counts are how many of each a service has. A domain that is on its way out
// counts no more.
type counts struct{ sites, domains, subdomains int64 }

func count(all []domain) counts {
	var c counts
	for _, d := range all {
		switch {
		case d.status == Removing:
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

// refuse answers limit_reached when a change takes a count beyond its limit. A
// service that is beyond it already, because its plan became smaller, may change
// what does not grow.
func (l limits) refuse(before, after counts) error {
	for _, c := range []struct {
		name          string
		before, after int64
	}{
		{"sites", before.sites, after.sites},
		{"domains", before.domains, after.domains},
		{"subdomains", before.subdomains, after.subdomains},
	} {
		if most := l.of(c.name); most != unlimited && c.after > most && c.after > c.before {
			return fault.LimitReached.With(fault.Fields{"limit": c.name, "maximum": most})
		}
	}
	return nil
}
