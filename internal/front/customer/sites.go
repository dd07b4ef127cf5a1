package customer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"stead.dev/stead/internal/platform/domainname"
	stead "stead.dev/stead/sdk/go"
)

// Site is a hosting service, and which of its sites a name stands for.
type Site struct {
	stead.Service
	// Name is the domain of the site that is meant, or the service's label when it has no domain.
	Name string
	// Directory is where the site's files are, from the account's home; empty for the one of the primary domain.
	Directory string
}

// URL is where visitors see the site; empty when it has no domain.
func (s Site) URL() string {
	if s.Domain == nil {
		return ""
	}
	return "https://" + s.Name
}

// mostSearched bounds the services whose further domains are compared with a name.
const mostSearched = 50

// Site finds a service by its id, else by one of its domains, else by its label. The id comes first because it always names one
// service alone; a name that several have is refused with a list of their ids.
func (s *Session) Site(ctx context.Context, name string) (*Site, error) {
	name = strings.TrimSpace(name)
	ascii, _ := domainname.Host(name) // what is no name of a host may be a label
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		service, err := s.Services.Get(ctx, id)
		if err == nil {
			return siteOf(*service), nil
		}
		var refused *stead.Error
		if !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
			return nil, err
		}
	}
	var found []stead.Service
	queries := []string{name}
	if ascii != "" && ascii != name {
		queries = append(queries, ascii)
	}
	for _, q := range queries {
		for service, err := range s.Services.All(ctx, stead.ServicesQuery{Q: q, PerPage: 50}) {
			if err != nil {
				return nil, err
			}
			found = append(found, service)
		}
	}
	site, err := choose(found, name, ascii)
	if site != nil || err != nil {
		return site, err
	}
	if ascii != "" && strings.Contains(ascii, ".") {
		if site, err := s.byFurtherDomain(ctx, ascii); site != nil || err != nil {
			return site, err
		}
	}
	return nil, notFound("no service of yours has the id, the domain or the label %q (stead sites lists them)", name)
}

// byFurtherDomain finds a domain that is not the primary one of its service.
func (s *Session) byFurtherDomain(ctx context.Context, name string) (*Site, error) {
	searched := 0
	for service, err := range s.Services.All(ctx, stead.ServicesQuery{Status: stead.ServiceStatusActive, Type: "hosting", PerPage: 50}) {
		if err != nil {
			return nil, err
		}
		if searched++; searched > mostSearched {
			return nil, nil
		}
		for d, err := range s.Hosting.Domains.All(ctx, service.ID, stead.HostingDomainsQuery{PerPage: 50}) {
			if err != nil {
				return nil, err
			}
			if d.Name == name {
				site := siteOf(service)
				site.Name = d.Name
				if d.DocumentRoot != nil {
					site.Directory = *d.DocumentRoot
				}
				return site, nil
			}
		}
	}
	return nil, nil
}

// choose finds the service that a name stands for among those that a search found. A domain counts before a label, and a service
// that lives before one that has ended.
func choose(found []stead.Service, name, ascii string) (*Site, error) {
	matches := []func(s stead.Service) bool{
		func(s stead.Service) bool { return s.Domain != nil && ascii != "" && *s.Domain == ascii },
		func(s stead.Service) bool { return strings.EqualFold(s.Label, name) },
	}
	for _, ended := range []bool{false, true} {
		for _, match := range matches {
			var fits []stead.Service
			for _, s := range found {
				gone := s.Status == stead.ServiceStatusTerminated || s.Status == stead.ServiceStatusTerminating || s.Status == stead.ServiceStatusCancelled
				known := false
				for _, f := range fits {
					known = known || f.ID == s.ID
				}
				if gone == ended && match(s) && !known {
					fits = append(fits, s)
				}
			}
			switch {
			case len(fits) == 1:
				return siteOf(fits[0]), nil
			case len(fits) > 1:
				var list []string
				for _, f := range fits {
					list = append(list, fmt.Sprintf("%d (%s, %s)", f.ID, siteOf(f).Name, f.Status))
				}
				return nil, &stead.Error{
					Status: http.StatusConflict, Key: "ambiguous", Message: fmt.Sprintf("several services are %q: say which by its id: %s", name, strings.Join(list, ", ")),
				}
			}
		}
	}
	return nil, nil
}

func siteOf(s stead.Service) *Site {
	site := &Site{Service: s, Name: s.Label}
	if s.Domain != nil {
		site.Name = *s.Domain
	}
	return site
}

func notFound(format string, args ...any) error {
	return &stead.Error{Status: http.StatusNotFound, Key: stead.KeyNotFound, Message: fmt.Sprintf(format, args...)}
}

// AllSites returns all services of the customer, the newest first.
func (s *Session) AllSites(ctx context.Context, query stead.ServicesQuery) ([]stead.Service, error) {
	query.PerPage = 50
	return collect(s.Services.All(ctx, query))
}
