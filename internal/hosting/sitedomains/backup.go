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

// kept is a domain in a backup.
type kept struct {
	Name         string  `json:"name"`
	Kind         Kind    `json:"kind"`
	DocumentRoot *string `json:"document_root,omitempty"`
	RedirectTo   *string `json:"redirect_to,omitempty"`
}

// Export answers the domains of a service for its backup; nil when it has none.
func (s *Service) Export(ctx context.Context, q db.Querier, _, serviceID int64) (json.RawMessage, error) {
	return s.collection().Export(ctx, q, serviceID, func(d domain) any {
		return kept{d.name, d.kind, d.documentRoot, d.redirectTo}
	})
}

// Import gives a service that came back the domains that it had. A name that somebody else has by now
// stays theirs, and one that is the operator's by now the operator's: the document was kept by a machine, and is what
// that machine says. HTTPS is not forced until the service has certificates again.
func (s *Service) Import(ctx context.Context, tx *db.Tx, accountID, serviceID int64, document json.RawMessage, _ []string) error {
	var wanted []kept
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
			} else if d.ID, err = s.insert(ctx, tx, on.Sandbox, d); errors.Is(err, fault.DomainUnavailable) {
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
