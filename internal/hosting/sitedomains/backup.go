package sitedomains

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
)

// savedDomain is a domain in a backup.
type savedDomain struct {
	Name         string  `json:"name"`
	Kind         Kind    `json:"kind"`
	DocumentRoot *string `json:"document_root,omitempty"`
	RedirectTo   *string `json:"redirect_to,omitempty"`
}

// Export answers the domains of a service for its backup; nil when it has none.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	return s.collection().Export(ctx, q, serviceID, func(d domain) any {
		if d.displacedName != nil {
			d.name = *d.displacedName
		}
		return savedDomain{d.name, d.kind, d.documentRoot, d.redirectTo}
	})
}

// Import gives a service that came back the domains that it had. A name that another service or account has by now is left to it, and so is
// one that the operator has reserved: the document comes from a machine and is not trusted. HTTPS is not forced until the service has certificates again.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, _ []string) error {
	var wanted []savedDomain
	c := s.collection()
	return c.Import(ctx, tx, accountID, serviceID, document, &wanted, func(on site.Site, rows []domain) error {
		for _, k := range wanted {
			d := domain{Item: site.Item{Owned: site.Owned{AccountID: accountID, ServiceID: serviceID}}, name: k.Name, kind: k.Kind, documentRoot: k.DocumentRoot}
			if i := slices.IndexFunc(rows, func(r domain) bool { return r.name == k.Name }); i >= 0 {
				d = rows[i]
			} else if k.Kind == Primary {
				continue // the service has another one by now
			} else if _, err := domainname.ForSite(k.Name, s.ReservedDomains); err != nil {
				continue
			} else if d.ID, err = s.insert(ctx, tx, on.Sandbox, d); errors.Is(err, fault.DomainUnavailable) || errors.Is(err, fault.DomainVerificationRequired) {
				continue
			} else if err != nil {
				return err
			}
			if d.kind != k.Kind {
				continue
			}
			d.documentRoot, d.redirectTo = k.DocumentRoot, k.RedirectTo
			if err := c.Update(ctx, tx, d.ID, d.values()); err != nil {
				return err
			}
		}
		return nil
	})
}
